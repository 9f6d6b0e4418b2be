"""Faulty kernels are found out in 20 of 20 runs; correct ones are never accused, and are right.

A report must name the kind, both source lines and the threads, and say what to do.  What counts as
a fault is what the CUDA programming guide and the PTX memory model call one.
"""

import inspect
import re
from copy import deepcopy

import numpy as np
import pytest
from kernels import cuda
from kernels.correct import CORRECT
from kernels.faulty import FAULTY

from numba_simt import profile
from numba_simt.errors import KernelError

RUNS = 20
REMEDY = {  # kind -> what the sentence must speak of
    "race": r"syncthreads|syncwarp|atomic|threadfence|launch|kernel",
    "out_of_bounds": r"if |guard|index|shape|size|length",
    "uninitialised": r"write|store|clear|fill|initiali[sz]e|set",
    "misaligned": r"16",
    "divergent_barrier": r"every thread|all threads|out of|outside",
    "barrier_after_return": r"return",
    "deadlock": r"atomic|lane|warp|lock|wait",
    "endless_loop": r"loop|condition|end",
    "inactive_lane": r"mask|lane",
    "division_by_zero": r"zero",
}


@pytest.fixture(autouse=True)
def steps(monkeypatch):
    """A loop that never ends is given up after this many instructions, not after 50 million."""
    monkeypatch.setenv("NUMBA_SIMT_STEPS", "300000")


@pytest.fixture(autouse=True)
def target(monkeypatch, request):
    """Where the fault is one on some GPUs only, all of them are asked about."""
    spec = getattr(request.node, "callspec", None)
    given = spec.params if spec else {}
    case = given.get("case") or FAULTY.get(given.get("name"))
    if case and {"barrier_after_return", "deadlock"} & set(case.kinds):
        monkeypatch.setenv("NUMBA_SIMT_STRICT", "1")


def run(case, seed):
    """The profile of a run, the arguments before it and after it."""
    arguments = case.fresh(seed)
    before = deepcopy(arguments)
    seen = profile(case.kernel, case.grid, case.block, *arguments, shared=case.shared)
    return seen, before, arguments


def lines(hazard) -> frozenset[int]:
    return frozenset({hazard.line, hazard.other_line or hazard.line})


def test_corpus():
    assert len(FAULTY) >= 36 and len({case.family for case in FAULTY.values()}) >= 12
    assert len(CORRECT) >= 36
    for case in [*FAULTY.values(), *CORRECT.values()]:
        assert case.kernel.py_func.__doc__.endswith("."), case.name


@pytest.mark.parametrize("case", FAULTY.values(), ids=FAULTY)
def test_fault_is_found(case):
    for seed in range(RUNS):
        seen, before, after = run(case, seed)
        errors = [hazard for hazard in seen.hazards if hazard.severity == "error"]
        found = {lines(hazard) for hazard in errors if hazard.kind in case.kinds}
        marked = frozenset().union(*case.line_pairs())
        if case.kinds == ("race",):
            assert case.line_pairs() <= found, (seed, seen.hazards)
        else:
            assert any(pair & marked for pair in found), (seed, seen.hazards)
        for hazard in errors:
            assert lines(hazard) <= marked, (seed, hazard)
            assert hazard.kind in case.kinds or hazard.kind == "uninitialised", (seed, hazard)
        if not seen.completed:
            for was, now in zip(before, after, strict=True):
                np.testing.assert_array_equal(now, was)


@pytest.mark.parametrize("case", FAULTY.values(), ids=FAULTY)
def test_report_says_who_and_what_to_do(case):
    seen, *_ = run(case, 0)
    hazard = next(h for h in seen.hazards if h.severity == "error" and h.kind in case.kinds)
    sentence = str(hazard)
    assert str(hazard.line) in sentence
    assert not hazard.other_line or str(hazard.other_line) in sentence
    assert re.search(r"(thread|lane)s? \(?\d", sentence), sentence
    assert re.search(REMEDY[hazard.kind], sentence), sentence
    assert sentence.endswith("."), sentence


@pytest.mark.parametrize("case", CORRECT.values(), ids=CORRECT)
def test_correct_kernel_is_clean_and_right(case):
    for seed in range(3):
        seen, before, after = run(case, seed)
        assert seen.completed
        allowed = {"note"} if case.notes else set()
        assert {hazard.severity for hazard in seen.hazards} <= allowed, seen.hazards
        compare(after, case.expected(before))


@pytest.mark.parametrize("case", CORRECT.values(), ids=CORRECT)
def test_plain_launch_gives_the_same(case):
    arguments = case.fresh(7)
    expected = case.expected(deepcopy(arguments))
    case.launch(arguments)
    compare(arguments, expected)


def compare(arguments, expected):
    for got, wanted in zip(arguments, expected, strict=True):
        dtype = np.asarray(got).dtype
        if dtype.kind in "fc":
            tolerance = {2: 2e-3, 4: 2e-5, 8: 2e-5}.get(dtype.itemsize, 1e-12)
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(got, wanted)


RETURNS = [case for case in FAULTY.values() if case.kinds == ("barrier_after_return",)]


@pytest.mark.parametrize(("capability", "severity"), [("7.0", "warning"), ("6.1", "error")])
@pytest.mark.parametrize("kernel", RETURNS, ids=lambda case: case.name)
def test_barrier_after_a_return_is_legal_since_volta(monkeypatch, kernel, capability, severity):
    monkeypatch.setenv("NUMBA_SIMT_CC", capability)
    seen, before, after = run(kernel, 0)
    found = [hazard for hazard in seen.hazards if hazard.kind == "barrier_after_return"]
    assert {hazard.severity for hazard in found} == {severity}
    assert {hazard.undefined_on for hazard in found} == {"compute capability below 7.0"}
    assert seen.completed and not np.array_equal(before[-1], after[-1])


def test_note_for_equal_writes():
    seen, *_ = run(CORRECT["found_flag"], 0)
    note = next(hazard for hazard in seen.hazards if hazard.kind == "same_value")
    assert note.severity == "note" and "`out[0] = 1`" in str(note)


def test_prefix_sum_in_two_launches():
    """The kernels of two launches are ordered; nothing is left over from the first one."""
    first, second = CORRECT["scan_of_blocks"], CORRECT["add_sums_of_blocks"]
    x, out, sums = first.fresh(3)
    assert not profile(first.kernel, 4, 32, x, out, sums).hazards
    assert not profile(second.kernel, 4, 32, sums, out).hazards
    np.testing.assert_array_equal(out, np.cumsum(x))


def test_number_of_the_run_does_not_matter():
    """Reports are deterministic: the same launch gives the same sentences."""
    case = FAULTY["matmul_without_second_barrier"]
    sentences = [[str(hazard) for hazard in run(case, 5)[0].hazards] for _ in range(3)]
    assert sentences[0] == sentences[1] == sentences[2]


# A barrier after a return is passed, as on a GPU, where threads that have ended count as arrived.
STOPPED = {"out_of_bounds", "misaligned", "divergent_barrier", "division_by_zero"}
STOPPED |= {"deadlock", "endless_loop"}


@pytest.mark.parametrize("name", [n for n, case in FAULTY.items() if set(case.kinds) <= STOPPED])
def test_plain_launch_stops_and_keeps_the_arrays(name):
    """Without a profile too: an exception with the same sentence, and nothing was written."""
    case = FAULTY[name]
    arguments = case.fresh(1)
    before = deepcopy(arguments)
    with pytest.raises(KernelError) as error:
        case.launch(arguments)
    marks = {case.line(mark) for pair in case.pairs for mark in pair}
    assert any(f"line {line}" in str(error.value) for line in marks), str(error.value)
    for was, now in zip(before, arguments, strict=True):
        np.testing.assert_array_equal(now, was)


def test_default_limit_of_steps(monkeypatch):
    monkeypatch.delenv("NUMBA_SIMT_STEPS")
    seen, *_ = run(FAULTY["flag_that_nobody_sets"], 0)
    assert not seen.completed and seen.hazards[0].kind in ("deadlock", "endless_loop")


@cuda.jit
def shift(x, out):
    """Moves every element by one place, if the two arrays are two."""
    i = cuda.grid(1)
    out[i] = x[i]


def test_two_views_of_one_allocation():
    """Device arrays that overlap are one memory, whatever the arguments are called."""
    memory = cuda.to_device(np.arange(65, dtype=np.float32))
    for x, out in ((memory[:-1], memory[1:]), (memory[1:], memory[:-1])):
        found = {(h.kind, *lines(h)) for h in profile(shift, 2, 32, x, out).hazards}
        assert found == {("race", last_line(shift))}
    memory, other = cuda.to_device(np.arange(65)), cuda.to_device(np.zeros(64, np.int64))
    assert not profile(shift, 2, 32, memory[1:], other).hazards
    assert not profile(shift, 1, 32, memory[:32], memory[32:64]).hazards
    np.testing.assert_array_equal(memory.copy_to_host()[32:64], np.arange(32))


def last_line(kernel) -> int:
    source, first = inspect.getsourcelines(kernel.py_func)
    return first + len(source) - 1


@cuda.jit
def unlooked(writer, data, count, out):
    if cuda.blockIdx.x == writer:
        data[0] = 42
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
    else:
        cuda.atomic.add(count, 0, 1)
        cuda.threadfence()
        out[0] = data[0]


@cuda.jit
def looked(writer, data, count, out):
    if cuda.blockIdx.x == writer:
        data[0] = 42
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
    elif cuda.atomic.add(count, 0, 1) == 1:
        cuda.threadfence()
        out[0] = data[0]


@pytest.mark.parametrize("writer", [0, 1])
def test_an_atomic_whose_result_is_thrown_away_orders_nothing_behind_it(writer):
    arrays = [np.zeros(1, np.int32) for _ in range(3)]
    found = profile(unlooked, 2, 1, writer, *arrays).hazards
    assert [one.kind for one in found] == ["race"]


@pytest.mark.parametrize("writer", [0, 1])
def test_an_atomic_that_looks_who_came_first_does(writer):
    arrays = [np.zeros(1, np.int32) for _ in range(3)]
    assert not profile(looked, 2, 1, writer, *arrays).hazards
