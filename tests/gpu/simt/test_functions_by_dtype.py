"""Every function x dtype: the SIMT machine against what numba-cuda's compiler was seen to do.

The compiler's answers are committed (tests/gpu/numba_functions.toml), so that this runs without it;
`make numba-tests` asks it again, for all of them, and runs the code that it makes.
"""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from functions_by_dtype import compare, inputs, machine, verdicts
from functions_by_dtype.cases import SCOPE, Case, known, names

COMMITTED = verdicts.load()
CASES = known(COMMITTED.accepted)
ACCEPTED = {case: kind for case in CASES if (kind := COMMITTED.type(case))}
REFUSED = [case for case in CASES if case not in ACCEPTED]
AT_LEAST = 6_500  # of the accepted ones: refusing everything would be no mistake otherwise
SAMPLE = [  # asked of the real compiler: a function of each kind, accepted and refused
    Case("x + y", ("i4", "f4")),
    Case("x // y", ("c8", "c8")),
    Case("math.sqrt(x)", ("f2",)),
    Case("math.sqrt(x)", ("c16",)),
    Case("cmath.isnan(x)", ("f4",)),
    Case("np.sqrt(x)", ("f8",)),
    Case("np.sin(x)", ("i4",)),
    Case("np.maximum(x, y)", ("f4", "f4")),
    Case("round(x, 2)", ("i2",)),
    Case("min(x, y)", ("c8", "c8")),
    Case("cuda.shfl_sync(x, 1, 1)", ("f4",)),
    Case("cuda.atomic.add(A, 0, x)", ("f4[]", "i8")),
]


@pytest.fixture(scope="module")
def computed():
    """The results of all that numba-cuda accepts, or the machine's refusals."""
    return machine.compute(list(ACCEPTED), ACCEPTED, "lanes")


@pytest.fixture(scope="module")
def refusals():
    """The answers to all that numba-cuda refuses."""
    return machine.ask(REFUSED)


def listed(cases):
    """The first of many cases, for a message that can be read."""
    return "\n".join(map(str, list(cases)[:20])) + f"\n{len(cases)} in all"


def test_what_numba_refuses_is_refused(refusals):
    lenient = [case for case, answer in refusals.items() if answer.kind == "accepted"]
    assert not lenient, listed(lenient)


def test_every_refusal_is_a_sentence(refusals, computed):
    answers = refusals | {c: a for c, a in computed.items() if isinstance(a, machine.Answer)}
    unclear = {c: a for c, a in answers.items() if a.kind in ("unclear", "crash")}
    assert not unclear, listed(unclear.items())


def test_no_refusal_says_that_numba_lacks_what_it_has(computed):
    answers = {c: a for c, a in computed.items() if isinstance(a, machine.Answer)}
    untrue = {c: a.text for c, a in answers.items() if compare.CLAIM.search(a.text)}
    assert not untrue, listed(untrue.items())


def test_most_of_what_numba_accepts_runs(computed):
    run = [case for case, found in computed.items() if not isinstance(found, machine.Answer)]
    assert len(run) >= AT_LEAST


def test_values_are_those_of_the_compiled_code(computed):
    wrong = []
    for case, digest in COMMITTED.digests.items():
        found = computed.get(case)
        if isinstance(found, list) and compare.digest(found) != digest:
            wrong.append(case)
    assert not wrong, listed(wrong)


def python(case, row):
    """What Python computes from a row's inputs; None where it raises or does not know the name."""
    scope = dict(SCOPE)
    for name, column in zip(names(case.text), inputs.columns(case), strict=True):
        scope[name] = column[row].item()
    try:
        return eval(case.text, scope)
    except (ArithmeticError, NameError, TypeError, ValueError):
        return None


@np.errstate(all="ignore")
def test_approximations_are_pythons(computed):
    """Where Python's own functions have a finite value from finite arguments."""
    wrong, compared = [], 0
    for case, found in computed.items():
        kind = inputs.result_dtype(ACCEPTED[case])
        plain = ";" not in case.text and kind.kind in "fc" and len(set(case.dtypes)) == 1
        if isinstance(found, machine.Answer) or not plain or compare.exact(case, kind):
            continue
        rows = machine.few_rows(case, 24)
        want = [python(case, row) for row in rows]
        keep = np.array([w is not None and np.isfinite(w) and math.isfinite(abs(w)) for w in want])
        if not keep.any():
            continue
        want = np.array([w for w, k in zip(want, keep, strict=True) if k]).astype(kind)
        bad = compare.differ(case, kind, machine.wide(want), [found[0][rows[keep]]])
        compared += 1
        wrong += [case] * bool(bad.any())
    assert not wrong, listed(wrong)
    assert compared > 300


@pytest.mark.parametrize("place", ["arguments", "constants"])
def test_uniform_operands_give_the_same(place, computed):
    """Operands that the front end knows, or that all lanes share, take other ways."""
    chosen = [c for c, found in computed.items() if isinstance(found, list) and is_equal(c)]
    again = machine.compute(chosen, ACCEPTED, place)
    wrong = []
    for case, found in again.items():
        if isinstance(found, machine.Answer):
            wrong.append(f"{case}: {found.text}")
            continue
        want = compare.rows(computed[case], machine.few_rows(case))
        kind = inputs.result_dtype(ACCEPTED[case])
        wrong += [str(case)] * bool(compare.differ(case, kind, want, found).any())
    assert not wrong, listed(wrong)


def is_equal(case):
    """Arguments of one dtype, and no array."""
    return len(set(case.dtypes)) == 1 and not case.dtypes[0].endswith("]")


def test_the_real_compiler_still_says_so():
    pytest.importorskip("numba_cuda", reason="numba-cuda's compiler is not installed here")
    from functions_by_dtype import compiler

    answers, _ = compiler.ask(SAMPLE)
    assert {c: a.type for c, a in answers.items()} == {c: COMMITTED.type(c) for c in SAMPLE}
