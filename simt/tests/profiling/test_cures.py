"""The cure that a report names is the one for the pattern; applied, it leaves no hazard."""

import inspect
import re
from urllib.parse import urlparse

import numpy as np
import pytest
from kernels import cuda
from kernels.common import PATTERNS
from kernels.correct import CORRECT
from kernels.cured import PAIRS
from kernels.faulty import FAULTY

from numba_simt import profile


def marks(pair) -> dict[str, str]:
    """Numbers of the lines with a mark, such as # A."""
    source, first = inspect.getsourcelines((pair.helper or pair.kernel).py_func)
    found = {}
    for number, text in enumerate(source, first):
        if match := re.search(r"# ([A-Z])$", text.rstrip()):
            found[match[1]] = str(number)
    return found


def pattern(pair) -> str:
    """The pattern of the cure, with the numbers of its lines."""
    return re.sub(r"\{([A-Z])\}", lambda match: marks(pair)[match[1]], pair.cure)


def test_corpus():
    assert len(PAIRS) >= 40 and len(PATTERNS) >= 20
    assert all(pair.twins for pair in PAIRS.values())


@pytest.mark.parametrize("name", PAIRS)
def test_every_race_names_the_cure(name):
    pair = PAIRS[name]
    seen = profile(pair.kernel, pair.grid, pair.block, *pair.arguments(np.random.default_rng(0)))
    found = [h for h in seen.hazards if h.kind == "race"]
    assert found and {h.severity for h in found} == {"error"}
    assert "result is right" not in str(seen)
    for hazard in found:
        assert re.search(pattern(pair), hazard.cure), (hazard.what, hazard.cure)


@pytest.mark.parametrize("name", PAIRS)
def test_the_cure_cures(name):
    pair = PAIRS[name]
    for seed in range(3):
        arguments = pair.arguments(np.random.default_rng(seed))
        expected = pair.oracle(*[np.copy(a) for a in arguments])
        for twin in pair.twins:
            seen = profile(twin, pair.grid, pair.block, *arguments)
            assert not seen.hazards, seen.hazards
        np.testing.assert_allclose(arguments[-1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", PATTERNS)
def test_common_patterns_are_not_accused(name):
    """No error and no note; a warning only where a thread returns before a barrier."""
    p = PATTERNS[name]
    for seed in range(3):
        arguments = p.arguments(np.random.default_rng(seed))
        expected = p.oracle(*[np.copy(a) for a in arguments])
        seen = profile(p.kernel, p.grid, p.block, *arguments, shared=p.shared)
        assert {(h.kind, h.severity) for h in seen.hazards} == (
            {("barrier_after_return", "warning")} if p.warnings else set()
        ), seen.hazards
        np.testing.assert_allclose(arguments[-1], expected, rtol=1e-4, atol=1e-4)


def all_hazards():
    """A hazard of every kind that the faulty and the correct kernels show."""
    for case in [*FAULTY.values(), *CORRECT.values()]:
        if "endless_loop" not in case.kinds:
            arguments = case.fresh(0)
            yield from profile(
                case.kernel, case.grid, case.block, *arguments, shared=case.shared
            ).hazards


def test_every_hazard_says_what_where_cure_target_and_section():
    kinds = set()
    for hazard in all_hazards():
        kinds.add(hazard.kind)
        assert hazard.sentence == f"{hazard.what} {hazard.cure}"
        assert hazard.file.endswith(".py") and hazard.line
        assert hazard.what.endswith(".") and hazard.cure.endswith(".")
        assert hazard.undefined_on and "{" not in hazard.sentence
        guide = urlparse(hazard.guide)
        assert guide.scheme == "https" and guide.hostname and guide.fragment
        severities = {"error", "warning", "note"}
        assert hazard.severity in severities
    assert len(kinds) >= 10


@cuda.jit
def queue(work, head, out):
    if cuda.threadIdx.x == 0:
        k = cuda.atomic.add(head, 0, 1)
        if k > 0:
            out[k] = out[k - 1] + work[k]
        else:
            out[0] = work[0]
        cuda.threadfence()
        cuda.atomic.add(head, 1, 1)


@cuda.jit
def patient_queue(work, head, out):
    if cuda.threadIdx.x == 0:
        k = cuda.atomic.add(head, 0, 1)
        if k > 0:
            while cuda.atomic.add(head, 1, 0) < k:
                pass
            cuda.threadfence()
            out[k] = out[k - 1] + work[k]
        else:
            out[0] = work[0]
        cuda.threadfence()
        cuda.atomic.add(head, 1, 1)


def test_no_barrier_is_the_cure_where_one_thread_of_each_block_writes_and_tells():
    ones, head, out = np.ones(4, np.int32), np.zeros(2, np.int32), np.zeros(4, np.int32)
    found = profile(queue, 4, 32, ones, head, out).hazards
    assert found and all("let it wait for that in a loop" in one.cure for one in found)
    assert not any("syncthreads" in one.cure for one in found)
    head[:] = out[:] = 0
    assert not profile(patient_queue, 4, 32, ones, head, out).hazards
    assert out.tolist() == [1, 2, 3, 4]
