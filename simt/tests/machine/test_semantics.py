"""Small kernels on which the machine once went wrong; the expected values are Numba's or CUDA's."""

import linecache
import signal

import numpy as np
import pytest
from numba import float32, int32, uint32

from numba_simt import cuda, profile
from numba_simt.errors import CompileError, KernelError
from numba_simt.execution import machine
from numba_simt.execution.hazards import HazardError

TABLE = np.arange(4.0)


def run(kernel, *arrays, threads=4, blocks=1):
    kernel[blocks, threads](*arrays)
    return arrays[0].tolist()


def test_a_local_array_is_read_by_the_active_lanes_only():
    @cuda.jit
    def k(out):
        t = cuda.threadIdx.x
        acc = cuda.local.array(1, float32)
        acc[0] = 5
        x = float32(1)
        if t % 2:
            x = acc[0]
        out[t] = x

    assert run(k, np.zeros(4, np.float32)) == [1, 5, 1, 5]


def test_an_atomics_old_value_survives_a_statement_without_code():
    @cuda.jit
    def k(out, c):
        old = cuda.atomic.add(c, 0, 1)
        cuda.nanosleep(10)
        """A text that says nothing."""
        out[cuda.threadIdx.x] = old

    assert run(k, np.zeros(4, np.int32), np.zeros(1, np.int32)) == [0, 1, 2, 3]


def test_arrays_from_outside_are_constants():
    @cuda.jit
    def writes(out):
        TABLE[0] = 9
        out[0] = TABLE[0]

    with pytest.raises(CompileError, match="arrays are constants"):
        writes[1, 1](np.zeros(1))
    table = np.arange(3.0)

    @cuda.jit
    def reads(out):
        out[0] = table[1]

    assert run(reads, np.zeros(1), threads=1) == [1]
    table[1] = 7
    assert run(reads, np.zeros(1), threads=1) == [1], "frozen when the kernel was compiled"


def test_local_memory_has_a_limit():
    @cuda.jit
    def k(out):
        a = cuda.local.array(2**61, float32)
        a[0] = 1
        out[0] = a[0]

    with pytest.raises(CompileError, match="524,288 B of local memory"):
        k[1, 1](np.zeros(1))


@cuda.jit(device=True)
def turned(v):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = v
    cuda.syncthreads()
    return s[31 - t]


def test_a_device_functions_shared_array_is_one_for_all_its_calls():
    @cuda.jit
    def k(x):
        t = cuda.threadIdx.x
        x[t] = turned(turned(x[t]))

    p = profile(k, 1, 32, np.arange(32, dtype=np.float32))
    assert [h.kind for h in p.hazards] == ["race"]


def test_integers_of_numbas_widths():
    @cuda.jit
    def k(out, x):
        out[0] = ~uint32(5)
        out[1] = -uint32(1)
        out[2] = int32(3e9)
        out[3] = int32(x[0] * float32(3e9))
        out[4] = uint32(-x[0])
        out[5] = max(float32(np.nan), x[0])

    x = np.ones(1, np.float32)
    assert run(k, np.zeros(6), x, threads=1) == [2**32 - 6, 2**32 - 1, 2**31 - 1, 2**31 - 1, 0, 1]


def test_float_of_a_float32_stays_float32():
    @cuda.jit
    def k(out, x):
        out[0] = float(x[0]) * x[0]

    x = np.full(1, 0.1, np.float32)
    assert run(k, np.zeros(1), x, threads=1) == [float(x[0] * x[0])]


def test_an_unsigned_index_does_not_wrap():
    @cuda.jit
    def k(out, i):
        out[0] = out[i[0] - i[1]]

    with pytest.raises(HazardError, match="Out of bounds"):
        k[1, 1](np.zeros(3), np.array([0, 1], np.uint32))


def test_a_changed_source_is_refused():
    text = "@cuda.jit\ndef k(out):\n    out[0] = 1\n"
    name = "<changed>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"cuda": cuda}
    exec(compile(text, name, "exec"), space)
    changed = text.replace("= 1", "= 2")
    linecache.cache[name] = len(changed), None, changed.splitlines(keepends=True), name
    with pytest.raises(CompileError, match="not what its source says now"):
        space["k"][1, 1](np.zeros(1))


def test_atomics_of_other_lanes_race_with_a_read_after_a_partial_syncwarp():
    @cuda.jit
    def k(out):
        t = cuda.threadIdx.x
        cuda.atomic.add(out, 0, 1)
        if t == 0 or t >= 30:
            cuda.syncwarp(0xC0000001)
            if t == 0:
                out[1] = out[0]

    assert [h.kind for h in profile(k, 1, 32, np.zeros(2, np.int32)).hazards] == ["race"]


@cuda.jit(device=True)
def wait():
    cuda.syncthreads()


def test_barriers_of_two_calls_are_two_barriers():
    @cuda.jit
    def k(out):
        if cuda.threadIdx.x < 32:
            wait()
        else:
            wait()

    assert profile(k, 1, 64, np.zeros(1)).hazards[0].kind == "divergent_barrier"


def test_an_exchange_reads_nothing():
    @cuda.jit
    def k(out):
        s = cuda.shared.array(1, int32)
        if cuda.threadIdx.x == 0:
            cuda.atomic.exch(s, 0, 5)
        cuda.syncthreads()
        out[cuda.threadIdx.x] = s[0]

    assert profile(k, 1, 32, np.zeros(32, np.int32)).hazards == []


def test_warps_and_blocks_may_wait_for_each_other():
    @cuda.jit
    def relay(flag, out):
        b = cuda.blockIdx.x
        if cuda.threadIdx.x == 0:
            while cuda.atomic.add(flag, 0, 0) != cuda.gridDim.x - 1 - b:
                pass
            out[b] = flag[0]
            cuda.atomic.add(flag, 0, 1)

    assert run(relay, np.zeros(1, np.int32), np.zeros(9, np.int32), blocks=9, threads=32) == [9]


def test_waiting_in_vain_is_found_after_the_instructions_of_one_warp(monkeypatch):
    """All 2,048 warps wait, and together they get the instructions that one alone would get."""

    @cuda.jit
    def k(flag):
        rounds = 0
        while flag[0] == 0:
            rounds += 1  # so that no state comes again, which would prove it at once

    budgets, simt_run = [], machine._library().simt_run

    def counted(m, budget):
        budgets.append(budget)
        assert sum(budgets) < 2 * machine.STEPS, "each warp waits on its own"
        return simt_run(m, budget)

    monkeypatch.setattr(machine._library(), "simt_run", counted)
    with pytest.raises(HazardError, match="Deadlock"):
        k[64, 1024](np.zeros(1, np.int32))
    assert sum(budgets) >= machine.STEPS


def test_how_often_python_looks_changes_nothing(monkeypatch):
    """Warps that spin, wait at a barrier and race, beside blocks that wait for each other."""

    @cuda.jit
    def k(flag, out):
        b, t = cuda.blockIdx.x, cuda.threadIdx.x
        if t == 32:
            while cuda.atomic.add(flag, 0, 0) != cuda.gridDim.x - 1 - b:
                pass
        for i in range(t % 7):
            out[b] += i
        cuda.syncthreads()
        if t == 70:
            out[b] += flag[0]
            cuda.atomic.add(flag, 0, 1)

    seen = []
    for slices in ((1, 1, 1), (7, 7, 7), (10_000, 10_000, 10_000), (10**9, 10**9, 10**9)):
        monkeypatch.setattr(machine, "SLICES", slices)
        flag, out = np.zeros(1, np.int32), np.zeros(5, np.int32)
        found = profile(k, 5, 96, flag, out, steps=machine.STEPS)
        seen.append((flag.tolist(), out.tolist(), found.by_line, found.hazards))
    assert seen[0][0] == [5] and seen[0][3]
    assert seen[1:] == seen[:1] * 3


def test_a_profile_too_large_to_remember_says_so():
    @cuda.jit
    def k(x):
        x[0] = 1

    with pytest.raises(KernelError, match="profile smaller arrays"):
        profile(k, 1, 1, np.zeros(50_000_000, np.int8))


def test_ctrl_c_stops_a_launch_without_loops(monkeypatch):
    """The machine comes back to Python long before the last of ten million blocks."""

    @cuda.jit
    def k(x):
        x[0] = 1

    slices, simt_run = [], machine._library().simt_run

    def interrupted(*given):
        slices.append(simt_run(*given))
        signal.raise_signal(signal.SIGINT)
        return slices[-1]

    x = np.zeros(1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored outside
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(machine._library(), "simt_run", interrupted)
        k[10_000_000, 1](x)
    signal.signal(signal.SIGINT, before)
    assert slices == [machine.MORE] and x[0] == 0
    assert run(k, x, threads=1) == [1]  # the machine is as good as new
