"""What a session keeps of launches."""

import linecache

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import UsageError
from numba_simt.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
from numba_simt.watching.session import Session
from numba_simt.watching.summary import summarise


@cuda.jit
def neighbours(x, out):
    t = cuda.threadIdx.x
    x[t] = t
    out[t] = x[(t + 1) % 64]


@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 1


def arrays():
    return np.zeros(64), np.zeros(64)


def test_findings_of_several_launches_are_one_with_their_counts():
    session = Session()
    with session.looking_on():
        for _ in range(5):
            neighbours[1, 64](*arrays())
        neighbours[2, 64](*arrays())
    races = [one for one in session.findings.values() if one.severity == "error"]
    first = min(races, key=lambda one: one.line)
    assert linecache.getline(first.file, first.line).strip() == first.text
    assert all(one.kernel == "neighbours" and one.file == __file__ for one in races)
    assert {one.launches for one in races} <= {1, 4} and max(one.launches for one in races) == 4
    assert all(len(one.threads) == 2 and one.elements for one in races)
    (record,) = session.kernels.values()
    assert (record.watched, record.plain, record.shapes) == (4, 2, 2)


def test_other_types_grids_and_blocks_are_watched_anew():
    session = Session(launches=1)
    with session.looking_on():
        for x in (np.zeros(64), np.zeros(64, np.float32)):
            for grid, block in ((1, 64), (2, 32), (2, 32), (1, 64)):
                fill[grid, block](x)
    (record,) = session.kernels.values()
    assert (record.watched, record.plain) == (4, 4)


def test_results_are_those_of_a_plain_launch_and_counters_are_added_up():
    session = Session(launches=2, keep_counters=True)
    x = np.zeros(64)
    with session.looking_on():
        for _ in range(3):
            fill[2, 32](x)
    assert x.tolist() == [1] * 64
    (record,) = session.kernels.values()
    assert record.total["global_store_requests"] == 2 * 2  # two warps in two watched launches
    line = linecache.getlines(__file__).index("    x[cuda.grid(1)] = 1\n") + 1
    assert record.lines[__file__, line]["global_store_sectors"] == 2 * 64 * 8 // 32


def test_a_refused_launch_is_noted_with_its_line_once():
    session = Session()
    with session.looking_on():
        for _ in range(2):
            with pytest.raises(UsageError):
                fill[1, 32]("text")
    (refusal,) = session.refusals.values()
    assert (refusal.kernel, refusal.file, refusal.count) == ("fill", __file__, 2)
    assert refusal.line == fill.py_func.__code__.co_firstlineno + 1
    assert "str" in refusal.sentence and not refusal.sentence.startswith("line")


def test_one_session_within_another_takes_its_launches():
    outer, inner = Session(), Session()
    with outer.looking_on():
        with inner.looking_on():
            fill[1, 32](np.zeros(32))
        fill[1, 32](np.zeros(32))
    fill[1, 32](np.zeros(32))
    assert [sum(k.watched for k in one.kernels.values()) for one in (outer, inner)] == [1, 1]


def test_strict_fails_for_a_warning_and_a_note_never_does():
    session = Session()
    with session.looking_on():
        neighbours[1, 64](*arrays())
    for finding in session.findings.values():
        finding.severity = "warning"
    assert not summarise(session, "x").failed and summarise(session, "x", strict=True).failed
    for finding in session.findings.values():
        finding.severity = "note"
    assert not summarise(session, "x", strict=True).failed
    assert "note" in summarise(session, "x").verdict


@cuda.jit
def shifted(a, b):
    i = cuda.grid(1)
    b[i] = a[i] * 2


@cuda.jit
def two_orders(x):
    i = cuda.grid(1)
    x[(i + 1) % x.size] = i
    x[i] = i


def the_race(kernel, grid, block, *arguments):
    session = Session()
    with session.looking_on():
        kernel[grid, block](*arguments)
    (found,) = (one for one in session.findings.values() if one.kind == "race")
    return found


@pytest.mark.parametrize(
    ("grid", "block", "scope", "undefined_on"),
    [
        (1, 32, "warp", "compute capability 7.0 and later"),
        (1, 64, "block", "every GPU"),
        (2, 32, "grid", "every GPU"),
    ],
)
def test_of_a_lines_races_the_two_threads_farthest_apart_are_shown(
    grid, block, scope, undefined_on
):
    memory = cuda.to_device(np.zeros(65))
    found = the_race(shifted, grid, block, memory[:64], memory[1:])
    assert (found.scope, found.undefined_on) == (scope, undefined_on)
    threads = [f"thread {31 if grid == 2 else block // 2 - 1}", f"thread {0 if grid == 2 else 32}"]
    if scope != "warp":
        assert sorted(one.partition(" of ")[0] for one in found.threads) == sorted(threads)
    assert ("no barrier holds for several blocks" in found.cure) == (scope == "grid")
    assert ("put cuda.syncthreads() between" in found.cure) == (scope != "grid")


def test_a_race_that_was_seen_in_both_orders_is_one_finding():
    found = the_race(two_orders, 2, 64, np.zeros(128, np.int64))
    assert len(set(found.lines)) == 2 and found.count > 2
    assert {one.partition(" of ")[2] for one in found.threads} == {"block 0", "block 1"}


@cuda.jit
def drawn(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i % 16)


def test_a_race_in_a_function_of_the_library_is_at_the_line_that_calls_it():
    found = the_race(drawn, 2, 32, create_xoroshiro128p_states(64, seed=1), np.zeros(64, "f4"))
    assert (found.file, found.text) == (__file__, found.other_text)
    assert found.text.startswith("out[i] = xoroshiro128p_uniform_float32(")
    assert "give each thread its own" in found.cure and "cuda.grid(1)" in found.cure
