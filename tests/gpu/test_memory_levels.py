"""labkit.gpu.memory_levels: bytes follow the kernel, speeds the machine's peak."""

import numpy as np
import pytest

from labkit import hardware
from labkit.gpu import memory_levels, profile
from labkit.gpu.simt import api as cuda


@cuda.jit
def dot_with_first(x, y, z):
    shared = cuda.shared.array(32, "float32")
    i = cuda.threadIdx.x
    shared[i] = x[i]
    cuda.syncthreads()
    z[i] = shared[0] * y[i] + x[i]


def test_bytes_are_those_that_lanes_read():
    x, y = np.ones((2, 32), np.float32)
    p = profile(dot_with_first, 1, 32, x, y, np.zeros_like(x))
    of_global, of_shared, of_registers = memory_levels.asked(p)
    assert float(of_global) == 3 * 32 * 4
    assert float(of_shared) == 32 * 4
    assert float(of_registers) == 32 * 12
    assert of_registers.word == "predicted", "register reads are not counted, multiply-adds are"
    assert {of_global.word, of_shared.word} == {"counted"}
    assert len(memory_levels.LEVELS) == 1 + 3


def test_reads_are_those_of_each_element():
    x, y = np.ones((2, 32), np.float32)
    p = profile(dot_with_first, 1, 32, x, y, np.zeros_like(x))
    assert float(memory_levels.reads_per_element(p, x, y)) == 1.5


def test_speeds_follow_the_machine():
    machine = hardware.machine("a6000")
    rows, note = memory_levels.speeds(machine)
    speeds = {memory: speed for memory, _, speed in rows}
    assert list(speeds) == ["global (DRAM)", "shared", "registers"]
    assert [owner for _, owner, _ in rows] == ["all threads", "a block", "a thread"]
    assert "38.7 TFLOP/s / 2 / 128 = 151 G clocks per second" in note
    assert "x 32 numbers of a pass x 4 B" in note
    assert "x 384 operands (3 for each lane) x 4 B" in note
    assert "38.7 TFLOP/s" in speeds["shared"].source
    assert float(speeds["global (DRAM)"]) == 768e9
    assert float(speeds["shared"]) == pytest.approx(84 * 1.8e9 * 128, rel=0.001)
    assert float(speeds["registers"]) == pytest.approx(12 * float(speeds["shared"]))
    assert [q.word for q in speeds.values()] == ["published", "predicted", "predicted"]
