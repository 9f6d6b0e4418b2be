"""Types and values that follow from what stands beside: the SIMT machine against numba-cuda.

Small random kernels (tools/functions_by_dtype/compositions.py) are compiled by numba-cuda, and its
code runs on this computer; the machine must give the same type, and the same bits.
"""

import ast
import math

import numpy as np
import pytest
from functions_by_dtype import machine
from functions_by_dtype.cases import Case
from functions_by_dtype.compositions import compositions
from numba_functions import ALLOWED, differences

from numba_simt import cuda
from numba_simt.errors import CompileError
from numba_simt.reading import pruning, source

NIGHT = pytest.mark.night(
    instead="simt/tests/beside_numba/test_compositions.py::test_random_kernels_give_numbas_types_and_bits"
)
FLAG, THREE = True, 3


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 40), *(pytest.param(n, 150, marks=NIGHT) for n in range(2, 14))]
)
def test_random_kernels_give_numbas_types_and_bits(seed, count):
    pytest.importorskip("numba_cuda", reason="numba-cuda's compiler is not installed here")
    asked = compositions(seed, count)
    # Not optimised: where a signed sum overflows, or a float is too large for an integer, LLVM
    # promises nothing, and an optimiser may take any side of an `if`.
    _, values, found = differences(asked, ("lanes", "arguments"), opt=0, fma=0)
    wrong = [f"{one.kind} {one.case}: {one.what}" for one in found if one.kind != ALLOWED]
    assert not wrong, "\n".join(wrong)
    assert len(values) > count * 0.8  # most of them compile


@pytest.mark.parametrize(
    ("text", "dtypes", "kind"),  # the type is numba-cuda's
    [
        ("2**-32 + x", ("i4",), "float64"),
        ("2**-1 * x", ("f4",), "float64"),
        ("(2**64-1) + x", ("u1",), "uint64"),
        ("-7//2 + x", ("i8",), "int64"),
        ("WHOLE ** -1 + x", ("i4",), "int64"),  # not of literals alone
        ("2**70 + x", ("i4",), "int64"),  # Python leaves so large a power to Numba
        ("2**70 + x", ("i4",), "int64"),  # so long a number Python leaves to be computed
        ("v = x; s = v // 2; if x > 5: v = 0.5; s", ("i8",), "int64"),
        ("v = x; if x > 5: v = 0.5; v", ("i8",), "float64"),
        ("v = x; if 2**63 == 5: v = 0.5; v", ("i4",), "int32"),
        ("v = 0.5; if WHOLE == 3: v = x; v", ("i4",), "int32"),
        ("s = 3; v = 0.5; if s == 3: v = x; v", ("i4",), "int32"),
        ("v = x; if WHOLE + 1 == 5: v = 0.5; v", ("i4",), "float64"),
        ("v = x; if not TRUTH: v = 0.5; v", ("i4",), "float64"),
        ("v = 7; for s in range(x): v = s; v", ("f8",), "int64"),
        ("v = y; for s in range(x, y): v = s; v", ("f4", "i4"), "int32"),
        ("x if TRUTH else 0.5", ("i4",), "int32"),
        ("x if WHOLE + 1 == 4 else 0.5", ("i4",), "float64"),
    ],
)
def test_the_type_is_numbas(text, dtypes, kind):
    (answer,) = machine.ask([Case(text, dtypes)]).values()
    assert answer == ("accepted", kind)


def test_literals_are_computed_by_python():
    @cuda.jit
    def kernel(o):
        o[0] = 2**-32
        o[1] = 2**-1
        o[2] = -7 // 2 / 2**-3
        o[3] = 2**64 - 1
        o[4] = 2**64 / 2**63

    o = np.zeros(5)
    kernel[1, 1](o)
    assert o.tolist() == [2**-32, 0.5, -32.0, 2.0**64, 2.0]


def test_a_whole_number_that_no_type_holds_is_refused():
    huge = 2**64

    @cuda.jit
    def literal(o):
        o[0] = 1 if o[1] else -(2**64)

    @cuda.jit
    def from_outside(o):
        o[0] = o[1] + huge

    for kernel in (literal, from_outside):
        with pytest.raises(CompileError, match="18446744073709551616 is larger than"):
            kernel[1, 1](np.zeros(2))


def test_a_power_of_a_whole_number_that_is_no_literal_stays_whole():
    @cuda.jit
    def kernel(o, n):
        o[0] = THREE**-1
        o[1] = n**-1
        o[2] = float(n) ** -1

    o = np.zeros(3)
    kernel[1, 1](o, 2)
    assert o.tolist() == [0, 0, 0.5]


def test_a_version_of_a_variable_keeps_all_its_digits():
    """`big` is an int64 up to the branch; beyond it, it may be a float64, which has 53 digits."""

    @cuda.jit
    def kernel(o, big):
        first = big % 10
        if big < 0:
            big = 0.5
        o[0] = first
        o[1] = big

    o = np.zeros(2)
    kernel[1, 1](o, 2**62 + 1)
    assert o.tolist() == [(2**62 + 1) % 10, 2.0**62]


def test_a_side_that_is_ruled_out_changes_no_memory():
    @cuda.jit
    def kernel(o):
        if THREE + 1 == 5:
            o[0] = 7
            for i in range(4):
                if i == 2:
                    break
                o[1] += 1
        if not FLAG:
            o[2] = 7
            return
        o[3] = 1

    o = np.zeros(4)
    kernel[1, 1](o)
    assert o.tolist() == [0, 0, 0, 1]


def test_an_atomic_takes_a_float_in_a_tuple_of_indices_as_numba_does():
    """A uint64 or an int64 is a float64, and so Numba's own tests index with one."""

    @cuda.jit
    def kernel(o, negative):
        place = (cuda.threadIdx.x, np.uint64(1))
        if negative:
            place = (place[0] % o.shape[0], place[1] % o.shape[1])
        cuda.atomic.add(o, place, 2.5)

    o = np.zeros((3, 2))
    kernel[1, 3](o, False)
    assert o.tolist() == [[0, 2.5]] * 3


def test_range_cuts_a_float_as_numba_does():
    @cuda.jit
    def kernel(o, n):
        for i in range(math.ceil(n / 4)):
            o[i] += 1
        for i in range(n, -1.5, -2.0):
            o[3] += i

    o = np.zeros(4)
    kernel[1, 1](o, 5.75)
    assert o.tolist() == [1, 1, 0, 5 + 3 + 1]


@pytest.mark.parametrize(
    ("test", "side"),
    [
        ("FLAG", True),
        ("THREE == 4", False),
        ("3 < THREE", False),
        ("THREE", True),
        ("THREE + 1 == 4", None),
        ("not FLAG", None),
        ("x == 3", None),
        ("x is None", None),
        ("0 < THREE < 5", None),
        ("missing", None),
        ("np.FLAG", None),
    ],
)
def test_only_tests_of_constants_are_known(test, side):
    def f(x):
        pass

    assert pruning.known_side(ast.parse(test, mode="eval").body, source.parse(f), f) is side
