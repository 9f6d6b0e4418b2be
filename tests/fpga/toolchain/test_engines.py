"""Both engines give identical traces on every module: our own small ones, and labkit's.

The modules of a folder stand side by side in one module that a function below writes, so that each
engine compiles once.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from labkit.fpga.ports import CLOCK, RESET, Ports, read_ports
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import RTL, modules, read_sources
from labkit.fpga.toolchain.models import ENGINES, compiled
from tests.night import others_by_night

FOLDERS = {"tests": Path(__file__).parents[1] / "modules", "labkit": RTL}
# These have AXI's clock and reset: both engines clock the accelerator in test_accelerator.py, and
# the filter in test_rtl_filter.py. So is the network in the accelerator, which alone takes as long
# to compile as all others together.
ELSEWHERE = ("accelerator", "convnet", "filter_3x3")
CYCLES = 3000


def files_of(folder: str) -> list[Path]:
    """The modules of a folder that stand side by side here."""
    return [path for path in sorted(FOLDERS[folder].glob("*.sv")) if path.stem not in ELSEWHERE]


def outermost(files: list[Path]) -> list[str]:
    """The modules that no other one contains; those inside are compiled and clocked with them."""
    text = "".join(file.read_text("utf-8") for file in files)
    return [top for top in modules(text) if len(re.findall(rf"^\s*{top}\b", text, re.M)) == 0]


def side_by_side(files: list[Path]) -> str:
    """A module `all_of_them` with an instance of each module; their ports are named MODULE_PORT."""
    ports, instances = [f"input logic {CLOCK}", f"input logic {RESET}"], []
    for top in outermost(files):
        pins = []
        for port in read_ports(read_sources(files, top)).all:
            if port.name in (CLOCK, RESET):
                pins.append(f".{port.name}")
                continue
            direction = "input" if port.is_input else "output"
            signed = "signed" if port.signed else ""
            ports.append(f"{direction} logic {signed} [{port.width - 1}:0] {top}_{port.name}")
            pins.append(f".{port.name}({top}_{port.name})")
        instances.append(f"  {top} the_{top} ({', '.join(pins)});\n")
    head = ",\n".join(ports)
    return f"module all_of_them ({head});\n{''.join(instances)}endmodule\n"


def stimuli(ports: Ports, seed: int) -> dict[str, list[int]]:
    """Random words for each stream and random values for each input, of every width and sign."""
    rng = np.random.default_rng(seed)
    inputs = {}
    streams = ports.of_streams()
    for port in ports.inputs:
        if port.name == RESET or (port.name in streams and not port.name.endswith("_data")):
            continue
        low = -(1 << port.width - 1) if port.signed else 0
        values = [
            low + int.from_bytes(rng.bytes(port.width // 8 + 1), "little") % (1 << port.width)
            for _ in range(CYCLES)
        ]
        name = port.name.removesuffix("_data") if port.name in streams else port.name
        inputs[name] = values
    for stream in ports.streams_in:
        if f"{stream}_last" in ports:
            inputs[f"{stream}_last"] = rng.integers(0, 2, CYCLES)
    return inputs


TRACED = others_by_night(
    list(FOLDERS), instead="tests/fpga/toolchain/test_engines.py::test_identical_traces"
)


@pytest.mark.parametrize("folder", TRACED)
def test_identical_traces(folder):
    files = files_of(folder)
    sources = [side_by_side(files), *files]
    ports = compiled(read_sources(sources, "all_of_them"), "cxxrtl").ports
    inputs = stimuli(ports, seed=1)
    for stalls in (None, Stalls(seed=2, share=0.4)):
        one, other = (
            simulate(sources, "all_of_them", inputs, engine, cycles=CYCLES, stalls=stalls)
            for engine in ENGINES
        )
        assert one.trace.first_difference(other.trace) is None
        assert one.trace == other.trace and one.trace.cycles == CYCLES
        changes = [name for name, values in one.trace.items() if len(set(values.tolist())) > 1]
        outputs = {port.name for port in ports.outputs}
        assert len(outputs & set(changes)) > 0.7 * len(outputs)  # the stimuli reach the modules
        for name, words in one.outputs.items():
            assert np.array_equal(words, other.outputs[name])


RESETS = others_by_night(
    [7, 1, 100, 1357],
    instead="tests/fpga/toolchain/test_engines.py::test_a_second_reset_brings_every_module_back",
)

BROUGHT_BACK = others_by_night(
    list(FOLDERS),
    instead="tests/fpga/toolchain/test_engines.py::test_a_second_reset_brings_every_module_back",
)


@pytest.mark.parametrize("folder", BROUGHT_BACK)
@pytest.mark.parametrize("cycles", RESETS)
def test_a_second_reset_brings_every_module_back(folder, cycles):
    """The same words in the same cycles as after the first reset, and in both engines."""
    files = files_of(folder)
    sources = [side_by_side(files), *files]
    ports = compiled(read_sources(sources, "all_of_them"), "cxxrtl").ports
    inputs = stimuli(ports, seed=3)
    stalls = Stalls(seed=4, share=0.4)
    first = simulate(sources, "all_of_them", inputs, cycles=CYCLES, stalls=stalls)
    one, other = (
        simulate(
            sources,
            "all_of_them",
            inputs,
            engine,
            cycles=CYCLES,
            stalls=stalls,
            again_after=cycles,
        )
        for engine in ENGINES
    )
    assert one.trace.first_difference(other.trace) is None
    assert one.trace == other.trace and one.trace.cycles == CYCLES
    for name, times in first.times.items():
        assert np.array_equal(one.times[name], times), name
        assert np.array_equal(one.outputs[name], first.outputs[name]), name
