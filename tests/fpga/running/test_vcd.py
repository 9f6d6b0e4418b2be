"""The VCD file: read back by a reader of our own, and equal from both engines."""

import re
from pathlib import Path

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.simulate import simulate

MODULES = Path(__file__).parents[1] / "modules"


def read_vcd(text: str) -> dict[str, list[int]]:
    """signal -> value in each cycle of 10 ns, as the IEEE 1364 format says it; unsigned."""
    head, _, body = text.partition("$enddefinitions $end\n")
    names = {code: name for code, name in re.findall(r"\$var wire \d+ (\S+) (\S+) \$end", head)}
    now, rows = dict.fromkeys(names, 0), []
    for line in body.splitlines():
        if line.startswith("#"):
            rows.append((int(line[1:]), dict(now)))
        elif line.startswith("b"):
            bits, code = line[1:].split()
            now[code] = int(bits, 2)
        else:
            now[line[1:]] = int(line[0])
    settled = [values for time, values in rows if time % 10 == 5]  # mid cycle: after its changes
    return {name: [row[code] for row in settled] for code, name in names.items()}


@pytest.mark.parametrize("top", ["skid", "wide"])
def test_the_file_is_the_trace(top, tmp_path):
    inputs = {
        "skid": {"x": [1, -2, 3, 127, -128]},
        "wide": {"a": [1 << 519, 3], "b": [-1 << 64, 5], "c": [1, (1 << 64) - 1]},
    }[top]
    files = []
    for engine in ("cxxrtl", "verilator"):
        path = tmp_path / f"{engine}.vcd"
        done = simulate(MODULES / f"{top}.sv", top, inputs, engine, vcd=path)
        files.append(path.read_text())
        read = read_vcd(files[-1])
        assert read.keys() == {"clk", *done.trace}
        for name, values in done.trace.items():
            width = done.trace.signals[name].width
            assert read[name] == [int(value) % (1 << width) for value in values]
    assert files[0] == files[1]
    assert files[0].count("1a\n") == int(done.cycles)  # a rising edge for each cycle


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "x.vcd", tmp_path):
        with pytest.raises(RTLError, match="waveform cannot be written to"):
            simulate(MODULES / "skid.sv", "skid", {"x": [1]}, vcd=place)


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    place = tmp_path / "wavs" / "deep" / "x.vcd"
    with pytest.raises(RTLError, match=r"there is no folder .*deep. Make it first"):
        simulate(MODULES / "skid.sv", "skid", {"x": [1]}, vcd=place)
    assert not list(tmp_path.iterdir())
