"""A trace as a VCD file, the format of waveform viewers (IEEE 1364-2005, clause 18).

A clock cycle is 10 ns: signals change with the rising edge of `clk` at its start.
"""

import os
import string
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path

from labkit.files import write_whole
from labkit.fpga import arguments
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import CLOCK
from labkit.fpga.running.traces import Trace

_PERIOD = 10  # ns


def place_of_vcd(path: str | os.PathLike) -> Path:
    """Where a waveform is to be written; raises RTLError where its folder is not there."""
    path = Path(arguments.path("vcd", path))
    if not path.parent.is_dir():
        raise RTLError(
            f"The waveform cannot be written to {path}: there is no folder {path.parent}. Make it "
            "first, or correct the path."
        )
    return path


def write_vcd(path: str | os.PathLike, trace: Trace, top: str) -> None:
    """Write `trace` of the module `top` to `path`; raises RTLError where that cannot be written."""
    path = place_of_vcd(path)
    text = "\n".join(vcd_lines(trace, top)) + "\n"
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise RTLError(f"The waveform cannot be written to {path}: {error.strerror}.") from error


def vcd_lines(trace: Trace, top: str) -> Iterator[str]:
    """The lines of the file: what there is, then every change."""
    codes = _codes()
    clock = next(codes)
    named = {name: next(codes) for name in trace}
    yield "$timescale 1ns $end"
    yield f"$scope module {top} $end"
    yield f"$var wire 1 {clock} {CLOCK} $end"
    for name, code in named.items():
        # A signal inside an instance keeps its path, with dots, in one scope.
        yield f"$var wire {trace.signals[name].width} {code} {name.replace(' ', '.')} $end"
    yield "$upscope $end"
    yield "$enddefinitions $end"
    values = {name: trace[name].tolist() for name in trace}
    before = {}
    for row in range(trace.cycles):
        time = (trace.first + row) * _PERIOD
        yield f"#{time}"
        yield f"1{clock}"
        for name, code in named.items():
            value = values[name][row]
            if before.get(name) != value:
                yield _change(value, trace.signals[name].width, code)
            before[name] = value
        yield f"#{time + _PERIOD // 2}"
        yield f"0{clock}"
    yield f"#{(trace.first + trace.cycles) * _PERIOD}"


def _change(value: int, width: int, code: str) -> str:
    bits = format(value & (1 << width) - 1, "b")
    return f"{bits}{code}" if width == 1 else f"b{bits} {code}"


def _codes() -> Iterator[str]:
    """Short names for signals: a, b, ..., z, aa, ab, ..."""
    for length in count(1):
        for letters in product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)
