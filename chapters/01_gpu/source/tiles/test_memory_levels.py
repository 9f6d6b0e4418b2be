"""Memory_levels: bytes follow the kernel, speeds the machine's peak."""

import numpy as np
import pytest

from labkit import hardware
from labkit.gpu import profile
from labkit_lessons.gpu.tiles import memory_levels
from numba_simt import cuda


@cuda.jit
def dot_with_first(x, y, z):
    shared = cuda.shared.array(32, "float32")
    i = cuda.threadIdx.x
    shared[i] = x[i]
    cuda.syncthreads()
    z[i] = shared[0] * y[i] + x[i]


def test_passes_are_those_of_reads_for_each_multiply_add():
    x, y = np.ones((2, 32), np.float32)
    p = profile(dot_with_first, 1, 32, x, y, np.zeros_like(x))
    passes = memory_levels.passes_per_multiply_add(p)
    assert float(passes) == 1, "one warp reads shared[0] once; the store is not counted"
    assert passes.word == "counted"


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
    assert "38.7 TFLOP/s / 2 FLOP / 128 lanes = 151 G clocks per second" in note
    assert "brings an SM 32 numbers (a pass), and registers bring it 128 x 3" in note
    assert "38.7 TFLOP/s" in speeds["shared"].source
    assert float(speeds["global (DRAM)"]) == 768e9
    assert float(speeds["shared"]) == pytest.approx(84 * 1.8e9 * 128, rel=0.001)
    assert float(speeds["registers"]) == pytest.approx(12 * float(speeds["shared"]))
    assert [q.word for q in speeds.values()] == ["published", "predicted", "predicted"]
