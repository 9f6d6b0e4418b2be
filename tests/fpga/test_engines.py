"""Both engines give identical traces on every module: our own small ones, and labkit's."""

from pathlib import Path

import numpy as np
import pytest

from labkit.fpga.models import ENGINES, compiled
from labkit.fpga.ports import RESET, Ports
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import RTL, modules, read_sources
from labkit.fpga.stalls import Stalls

OURS = sorted((Path(__file__).parent / "modules").glob("*.sv"))
LABKIT = sorted(RTL.glob("*.sv"))
TOPS = [(OURS, path.stem) for path in OURS]
TOPS += [(LABKIT, top) for path in LABKIT for top in modules(path.read_text("utf-8"))]
CYCLES = 400


def stimuli(ports: Ports, seed: int) -> dict[str, list[int]]:
    """Random words for each stream and random values for each input, of every width and sign."""
    rng = np.random.default_rng(seed)
    inputs = {}
    for port in ports.inputs:
        name = port.name
        if name.endswith(("_valid", "_ready", "_last")) or name == RESET:
            continue
        low = -(1 << port.width - 1) if port.signed else 0
        values = [
            low + int.from_bytes(rng.bytes(port.width // 8 + 1), "little") % (1 << port.width)
            for _ in range(CYCLES)
        ]
        stream = name.removesuffix("_data")
        inputs[stream if stream in ports.streams_in else name] = values
    for stream in ports.streams_in:
        if f"{stream}_last" in ports:
            inputs[f"{stream}_last"] = rng.integers(0, 2, CYCLES)
    return inputs


@pytest.mark.parametrize("sources, top", TOPS, ids=[top for _, top in TOPS])
def test_identical_traces(sources, top):
    ports = compiled(read_sources(sources, top), "cxxrtl").ports
    inputs = stimuli(ports, seed=1)
    for stalls in (None, Stalls(seed=2, share=0.4)):
        runs = [
            simulate(sources, top, inputs, engine, cycles=CYCLES, stalls=stalls)
            for engine in ENGINES
        ]
        assert runs[0].trace.first_difference(runs[1].trace) is None
        assert runs[0].trace == runs[1].trace
        assert runs[0].trace.cycles == CYCLES
        for name, words in runs[0].outputs.items():
            assert np.array_equal(words, runs[1].outputs[name])
