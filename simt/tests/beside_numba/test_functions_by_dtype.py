"""Every function x dtype: the SIMT machine against what numba-cuda's compiler was seen to do.

The compiler's answers are committed (numba_functions.toml), so that this runs without it;
`make numba-tests` asks it again, for all of them, and runs the code that it makes.
"""

import cmath
import re

import numpy as np
import pytest
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
    Case("cuda.atomic.add(A, 0, x)", ("f4[]", "f8")),  # NaN, from here on
    Case("A[0] += x; A[0]", ("f2[]", "i4")),
    Case("A[0] += x; A[0]", ("f2[]", "f2")),
    Case("A[0] += x; A[0]", ("c8[]", "f2")),
    Case("cuda.libdevice.float2half_rn(x)", ("f4",)),
]


NIGHT = pytest.mark.night(
    instead="simt/tests/beside_numba/test_functions_by_dtype.py::test_values_are_those_of_the_compiled_code"
)


@pytest.fixture(scope="module", params=["one in 29", pytest.param("all", marks=NIGHT)])
def step(request):
    """By day every 29th case, a prime number, so that each function and each dtype comes along."""
    return 1 if request.param == "all" else 29


@pytest.fixture(scope="module")
def computed(step):
    """The results of what numba-cuda accepts, or the machine's refusals."""
    return machine.compute(list(ACCEPTED)[::step], ACCEPTED, "lanes")


@pytest.fixture(scope="module")
def refusals(step):
    """The answers to what numba-cuda refuses."""
    return machine.ask(REFUSED[::step])


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


def test_most_of_what_numba_accepts_runs(computed, step):
    run = [case for case, found in computed.items() if not isinstance(found, machine.Answer)]
    assert len(run) >= AT_LEAST // step * (1 if step == 1 else 0.9)


def test_values_are_those_of_the_compiled_code(computed):
    wrong, compared = [], 0
    for case, digest in COMMITTED.digests.items():
        found = computed.get(case)
        compared += isinstance(found, list)
        if isinstance(found, list) and compare.digest(found) != digest:
            wrong.append(case)
    assert compared and not wrong, listed(wrong)


def python(case, row, kind):
    """What Python computes from a row's inputs; None where it raises, or where it is not finite."""
    scope = dict(SCOPE)
    for name, column in zip(names(case.text), inputs.columns(case), strict=True):
        scope[name] = column[row].item()
    try:
        value = complex(eval(case.text, scope))
    except (ArithmeticError, NameError, TypeError, ValueError):
        return None
    return value if cmath.isfinite(value) and (kind.kind == "c" or not value.imag) else None


@np.errstate(all="ignore")
def test_approximations_are_pythons(computed, step):
    """Where Python's own functions have a finite value from finite arguments."""
    wrong, compared = [], 0
    for case, found in computed.items():
        kind = inputs.result_dtype(ACCEPTED[case])
        plain = not re.search(";|round", case.text) and len(set(case.dtypes)) == 1
        plain = plain and kind.kind in "fc" and case.dtypes[0][0] in "fc"  # NumPy takes halves else
        # A complex power is 0 where both real parts are; exp and sqrt of complex64 end earlier.
        ends = kind.kind == "c" and re.search(r"\*\*|pow|cmath.(exp|sqrt)", case.text)
        plain = plain and not ends
        if isinstance(found, machine.Answer) or not plain or compare.exact(case, kind):
            continue
        rows = machine.few_rows(case, 24)
        known = {row: value for row in rows if (value := python(case, row, kind)) is not None}
        want = np.array(list(known.values()), np.complex128)
        want = want.astype(kind) if kind.kind == "c" else want.real.astype(kind)
        compared += bool(known)
        if compare.differ(case, kind, machine.wide(want), [found[0][list(known)]]).any():
            wrong.append(case)
    assert not wrong, listed(wrong)
    assert compared > (300 if step == 1 else 3)


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
    """Arguments of one dtype, no array, and nothing that depends on the other lanes."""
    one = len(set(case.dtypes)) == 1 and case.dtypes[0] in "b1 i4 u8 f2 f4 c16".split()
    return one and "sync" not in case.text


def test_the_real_compiler_still_says_so():
    pytest.importorskip("numba_cuda", reason="numba-cuda's compiler is not installed here")
    from functions_by_dtype import compiler, oracle

    answers, modules = compiler.ask(SAMPLE)
    assert {c: a.type for c, a in answers.items()} == {c: COMMITTED.type(c) for c in SAMPLE}
    values = oracle.values(modules, answers)
    exact = {c: v for c, v in values.items() if c in COMMITTED.digests}
    assert len(exact) >= 4
    for case, found in exact.items():
        assert compare.digest(oracle.expected(case, found)) == COMMITTED.digests[case], case


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_every_nan_has_the_same_digest(kind):
    """The bits of a NaN are the computer's; whatever is beside it in a row counts."""
    rows = np.array([[np.nan, 1, 2, 3], [0, np.inf, 2, 3], [1, np.nan, 2, 3]], kind)
    other = rows.copy()
    bits = other.view(f"u{other.itemsize}")
    bits[np.isnan(rows)] = np.iinfo(bits.dtype).max  # NaN: negative, and all its bits are set
    beside = rows.copy()
    beside[2, 0] = 5
    assert compare.digest([other]) == compare.digest([rows]) != compare.digest([beside])


def test_every_complex_nan_has_the_same_digest():
    rows = np.array([[complex(1, np.nan), complex(np.nan, 2)]], np.complex64)
    other = rows.copy()
    other.view(np.float32)[np.isnan(rows.view(np.float32))] = -np.nan
    beside = np.array([[complex(3, np.nan), complex(np.nan, 2)]], np.complex64)
    assert other.tobytes() != rows.tobytes()
    assert compare.digest([other]) == compare.digest([rows]) != compare.digest([beside])


def test_a_case_that_ends_the_process_is_named(monkeypatch):
    monkeypatch.setattr(machine, "CHILD", "import os; os._exit(3)")
    assert machine.ask(SAMPLE[:2]) == dict.fromkeys(SAMPLE[:2], machine.Answer("crash", "exit 3: "))


def test_a_value_in_another_precision_is_another_value():
    case, kind = Case("x / y", ("f4", "f4")), np.dtype(np.float32)
    third = [np.array([1 / 3])]
    rounded = machine.wide(np.array([1 / 3], np.float32))
    assert compare.differ(case, kind, rounded, third).all()
    assert not compare.differ(case, kind, rounded, rounded).any()
    zeros = [np.array([0.0])], [np.array([-0.0])]
    assert compare.differ(case, kind, *zeros).all()
