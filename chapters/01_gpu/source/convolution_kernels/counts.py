"""What a convolution asks of memory, and what one division of indices becomes on a GPU."""

from __future__ import annotations

import struct
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from labkit.gpu import compile_report
from labkit.hardware import machine, roofline
from labkit.provenance import compiled, counted

if TYPE_CHECKING:
    from labkit.gpu.profiler import Profile

ARCH = "sm_75"  # of a T4
NO_OPERATION = 0x918  # the lower 12 bits of such an instruction
NINE = 9
UNSIGNED_NINE = np.uint32(9)
COUNTS = {
    "asked": "global_load_bytes",
    "no cache": "traffic_bytes",
    "perfect cache": "compulsory_bytes",
}
# As NVVM V13.0.88 and nvJitLink compile one division, for machines on which these do not run.
STORED = {
    "int64 by int64": 141,
    "uint32 by uint32": 21,
    "int64 by the constant 9": 24,
    "uint32 by the constant 9": 2,
}
BY = f"NVVM and nvJitLink for {ARCH}"
HEADS = ["kernel", "count", "bytes", "intensity", "an H200 would reach"]


def moved(profile: Profile) -> dict[str, int]:
    """Bytes by each of COUNTS: what lanes read, all sectors of all requests, each sector once.
    (Lesson convolution_kernels.)
    """
    return {name: profile.counters[counter] for name, counter in COUNTS.items()}


def traffic_rows(name: str, profile: Profile, flops: int) -> list[list]:
    """A row for each of COUNTS, with what an H200 would reach if its DRAM sent just these bytes.
    (Lesson convolution_kernels.)
    """
    rows = []
    for count, number in moved(profile).items():
        intensity = counted(flops / number, "FLOP/B", "the SIMT machine")
        size = counted(number, "B", "the SIMT machine")
        rate = roofline(machine("h200"), flops / number).attainable
        rows.append([name, count, size, intensity, rate])
    return rows


def division_rows() -> list[list]:
    """What is divided, and how many instructions of a T4 its compiler makes of one division;
    stored numbers where there is no compiler.
    (Lesson convolution_kernels.)
    """
    try:
        numbers = compiled_here()
        by = BY
    except ImportError:  # on macOS, for instance
        numbers = STORED
        by = f"{BY}, stored with the course"
    return [[name, compiled(number, "instructions", by)] for name, number in numbers.items()]


def compiled_here() -> dict[str, int]:
    """What STORED holds, by this machine's compiler; ImportError without one."""
    return {
        "int64 by int64": _more_than_a_store(_divide, "int64"),
        "uint32 by uint32": _more_than_a_store(_divide, "uint32"),
        "int64 by the constant 9": _more_than_a_store(_divide_by_9, "int64"),
        "uint32 by the constant 9": _more_than_a_store(_divide_by_unsigned_9, "uint32"),
    }


def _more_than_a_store(function: Callable, kind: str) -> int:
    """The machine instructions of a kernel beyond those of one that stores without dividing."""
    return _machine_instructions(function, kind) - _machine_instructions(_store, kind)


def _divide(a, b, out):
    out[0] = a // b


def _divide_by_9(a, b, out):
    out[0] = a // NINE


def _divide_by_unsigned_9(a, b, out):
    out[0] = a // UNSIGNED_NINE


def _store(a, b, out):
    out[0] = a


def _machine_instructions(function: Callable, kind: str) -> int:
    """How many instructions of the GPU a kernel (a, b, out) becomes, without those for nothing."""
    from numba import types

    number = getattr(types, kind)
    ptx = compile_report(function, (number, number, types.Array(number, 1, "C")), ARCH).ptx
    core = import_module("cuda.core")  # numba-cuda brings it
    code = core.ObjectCode.from_ptx(ptx.encode())
    linker = core.Linker(code, options=core.LinkerOptions(arch=ARCH))
    return _executable_instructions(bytes(linker.link("cubin").code))


def _executable_instructions(elf: bytes) -> int:
    """Of an ELF file: the instructions, 16 bytes each, in all sections that can be executed."""
    table = struct.unpack_from("<Q", elf, 40)[0]
    sections = struct.unpack_from("<H", elf, 60)[0]
    found = 0
    for section in range(sections):
        flags, _, at, size = struct.unpack_from("<QQQQ", elf, table + 64 * section + 8)
        if flags & 4:  # can be executed
            lower_halves = np.frombuffer(elf[at : at + size], np.uint64)[::2]
            found += int(np.sum(lower_halves & 0xFFF != NO_OPERATION))
    return found
