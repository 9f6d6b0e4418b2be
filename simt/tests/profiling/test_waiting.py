"""Waiting: lanes for lanes, warps for warps, and nobody who comes; what goes on, and what is told.

Since compute capability 7.0 each thread has a program counter of its own, so that lanes of one
warp may wait for each other; before, and under NUMBA_SIMT_STRICT, that is a deadlock. Nothing here
depends on time: a launch stopped too late would pass the limit of steps, and is told as such.
"""

import numpy as np
import pytest
from kernels import FULL, cuda
from numba import float32, int32

from numba_simt import profile
from numba_simt.errors import KernelError


@cuda.jit
def lock_released_after_the_loop(lock, x, out):
    """Each lane takes the lock, adds, and gives it back behind the loop."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    out[0] += x[cuda.grid(1)]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def one_after_the_other(x, out):
    """Lane t waits until lane t - 1 has had its turn."""
    turn = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        turn[0] = 0
    cuda.syncthreads()
    while cuda.atomic.add(turn, 0, 0) != t:
        pass
    out[t] = x[t] * t
    cuda.atomic.add(turn, 0, 1)


@cuda.jit
def waits_for_the_other_side(x, out):
    """Lane 0 waits for what the other side of its branch writes."""
    flag = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        flag[0] = 0
    cuda.syncwarp()
    if t == 0:
        while cuda.atomic.add(flag, 0, 0) < 31:
            pass
        out[t] = 100
    else:
        cuda.atomic.add(flag, 0, 1)
        out[t] = x[t]


@cuda.jit
def in_a_device_function(lock, x, out):
    """The loop stands in a function, in a branch, in a loop."""
    t = cuda.threadIdx.x
    for k in range(3):
        if t % 2 == 0:
            take(lock)
            cuda.threadfence()
            out[0] += x[t] + k
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)


@cuda.jit(device=True)
def take(lock):
    """Waits for the lock."""
    while True:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            return


def locked(kernel, threads, expected):
    x = np.arange(threads, dtype=np.float32)
    return kernel, 1, threads, (np.zeros(1, np.int32), x, np.zeros(1, np.float32)), [expected]


X = np.arange(64, dtype=np.float32)
GO_ON = {
    "lock": locked(lock_released_after_the_loop, 64, 2016),
    "turns": (one_after_the_other, 1, 64, (X, np.zeros(64, np.float32)), X * X),
    "branch": (
        waits_for_the_other_side,
        1,
        32,
        (X[:32], np.zeros(32, np.float32)),
        [100, *range(1, 32)],
    ),
    "function": locked(in_a_device_function, 32, 3 * 240 + 16 * (0 + 1 + 2)),
}


@pytest.mark.parametrize("name", GO_ON)
def test_lanes_that_wait_for_lanes_go_on(name):
    kernel, grid, block, arguments, expected = GO_ON[name]
    arguments = tuple(a.copy() for a in arguments)
    kernel[grid, block](*arguments)
    np.testing.assert_array_equal(arguments[-1], expected)


@pytest.mark.parametrize("name", GO_ON)
def test_that_they_wait_is_a_warning_with_its_lanes(name):
    kernel, grid, block, arguments, expected = GO_ON[name]
    arguments = tuple(a.copy() for a in arguments)
    seen = profile(kernel, grid, block, *arguments)
    assert seen.completed
    np.testing.assert_array_equal(arguments[-1], expected)
    assert {(h.kind, h.severity) for h in seen.hazards} == {("waits_for_lane", "warning")}
    warning = seen.hazards[0]
    assert warning.undefined_on == "compute capability below 7.0"
    assert warning.thread and warning.other_thread and "same warp" in warning.what


@pytest.mark.parametrize("setting", [("NUMBA_SIMT_CC", "6.1"), ("NUMBA_SIMT_STRICT", "1")])
@pytest.mark.parametrize("name", GO_ON)
def test_before_volta_it_is_a_deadlock(monkeypatch, name, setting):
    monkeypatch.setenv(*setting)
    kernel, grid, block, arguments, _ = GO_ON[name]
    arguments = tuple(a.copy() for a in arguments)
    with pytest.raises(KernelError, match="same warp") as error:
        kernel[grid, block](*arguments)
    assert error.value.hazard.kind == "deadlock" and error.value.hazard.severity == "error"
    assert "7.0" in str(error.value)
    assert not np.any(arguments[-1])


@cuda.jit
def meets_again(lock, x, out):
    """Lanes that were apart exchange values: shuffles, votes and syncwarp wait for all of them."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.atomic.exch(lock, 0, 0)
    s[t] = x[t]
    cuda.syncwarp()
    value = cuda.shfl_xor_sync(FULL, s[31 - t], 1)
    odd = cuda.ballot_sync(FULL, t % 2 == 1)
    same = cuda.match_any_sync(FULL, t // 8)
    cuda.syncwarp()
    s[t] = value + cuda.popc(odd) + 1000 * cuda.popc(same)
    cuda.syncthreads()
    out[t] = s[t ^ 2]


def test_parts_of_a_warp_meet_again():
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    seen = profile(meets_again, 1, 32, np.zeros(1, np.int32), x, out)
    assert {h.kind for h in seen.hazards} == {"waits_for_lane"}, seen.hazards
    t = np.arange(32)
    value = x[31 - (t ^ 1)] + 16 + 8000
    np.testing.assert_array_equal(out, value[t ^ 2])


@cuda.jit
def meets_in_vain(lock, x, out):
    """Half of the lanes have gone to the other side when the mask still names them."""
    t = cuda.threadIdx.x
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.atomic.exch(lock, 0, 0)
    if t < 16:
        out[t] = cuda.shfl_xor_sync(FULL, x[t], 1)
    cuda.syncthreads()


def test_a_mask_that_names_lanes_elsewhere_is_still_found():
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    seen = profile(meets_in_vain, 1, 32, np.zeros(1, np.int32), x, out)
    assert seen.completed and "inactive_lane" in {h.kind for h in seen.hazards}


@cuda.jit
def race_beside_a_lock(lock, x, out):
    """What lanes write behind the lock, without a fence or an order, races as ever."""
    t = cuda.threadIdx.x
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.atomic.exch(lock, 0, 0)
    out[t // 2] = x[t]
    cuda.syncwarp()
    out[16 + t] = out[(t + 5) % 16]


def test_races_between_parts_of_a_warp_are_found():
    x, out = np.arange(32, dtype=np.float32), np.zeros(48, np.float32)
    seen = profile(race_beside_a_lock, 1, 32, np.zeros(1, np.int32), x, out)
    races = [h for h in seen.hazards if h.kind == "race"]
    assert [h.line == h.other_line for h in races] == [True]
    assert "out[t // 2]" in races[0].what


@cuda.jit
def nobody_sets_it(flag, out):
    """No thread of the grid ever raises the flag."""
    while cuda.atomic.add(flag, 0, 0) == 0:
        pass
    out[0] = 1


@cuda.jit
def barrier_on_the_way(flag, out):
    """Warp 0 waits for what warp 1 writes behind a barrier with warp 0."""
    t = cuda.threadIdx.x
    if t == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
    cuda.syncthreads()
    if t == 32:
        cuda.atomic.exch(flag, 0, 1)
    out[0] = 1


@cuda.jit
def looks_in_several_places(flag, out):
    """A round of the outer loop is several rounds of the inner one."""
    while True:
        seen = 0
        for k in range(5):
            seen += cuda.atomic.add(flag, k % flag.size, 0)
        if seen:
            break
    out[0] = 1


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "said"),
    [
        (nobody_sets_it, 1, 1, "nothing changes any more"),
        (nobody_sets_it, 5000, 64, "lanes 0 to 31"),
        (barrier_on_the_way, 1, 64, "waits in line"),
        (looks_in_several_places, 3, 96, "nothing changes any more"),
    ],
)
@pytest.mark.parametrize("watched", [False, True])
def test_a_deadlock_is_proved_and_not_waited_for(monkeypatch, kernel, grid, block, said, watched):
    """Told because every state comes again: far below the limit of steps, which is not set here."""
    monkeypatch.delenv("NUMBA_SIMT_STEPS", raising=False)
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.float32)
    if watched:
        seen = profile(kernel, grid, block, flag, out)
        assert not seen.completed
        found = next(h for h in seen.hazards if h.kind == "deadlock")
        assert max(n["instructions"] for n in seen.by_line.values()) < 20_000_000
    else:
        with pytest.raises(KernelError) as error:
            kernel[grid, block](flag, out)
        found = error.value.hazard
    assert found.kind == "deadlock" and found.severity == "error"
    assert said in found.what and not out.any()


@cuda.jit
def the_last_block_sets_it(flag, out):
    """All blocks wait for the last one, which is started last."""
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        cuda.atomic.exch(flag, 0, 1)
    while cuda.atomic.add(flag, 0, 0) == 0:
        pass
    cuda.atomic.add(out, 0, 1)


@cuda.jit
def waits_with_a_counter(flag, out):
    """The state changes in every round, so that it is no deadlock: it gives up by itself."""
    rounds = 0
    while cuda.atomic.add(flag, 0, 0) == 0 and rounds < 100_000:
        rounds += 1
    out[0] = rounds


def test_what_may_go_on_goes_on(monkeypatch):
    monkeypatch.delenv("NUMBA_SIMT_STEPS", raising=False)
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.float32)
    the_last_block_sets_it[900, 32](flag, out)
    assert out[0] == 900 * 32
    waits_with_a_counter[1, 1](np.zeros(1, np.int32), out)
    assert out[0] == 100_000


@cuda.jit
def one_lane_never_ends(x, out):
    """The other lanes go on; what lane 5 does has no end, and waits for nobody."""
    t = cuda.threadIdx.x
    while t == 5:
        pass
    out[t] = x[t]


def test_a_loop_without_end_in_one_lane():
    seen = profile(one_lane_never_ends, 1, 32, X[:32], np.zeros(32, np.float32))
    assert not seen.completed
    assert [(h.kind, h.severity, h.thread[1][0]) for h in seen.hazards] == [
        ("endless_loop", "error", 5)
    ]
