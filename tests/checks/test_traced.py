"""Traced arrays: operators compute what NumPy computes, everything else is refused."""

import copy
import operator

import numpy as np
import pytest

from labkit.checks.exercise import Refused
from labkit.checks.traced import Traced, traced

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)


@pytest.mark.parametrize("operate", OPERATORS)
def test_operators_give_plain_arrays(operate):
    x, y = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    for a, b in ((traced(x), traced(y)), (traced(x), y), (x, traced(y))):
        got = operate(a, b)
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, operate(x, y))
    np.testing.assert_array_equal(operate(traced(x), 2), operate(x, 2))
    np.testing.assert_array_equal(operate(2, traced(x)), operate(2, x))
    assert (-traced(x)).tolist() == [-2, -3]


REFUSED = {
    "a ufunc": lambda x: np.multiply(x, 2),
    "a ufunc of a plain array": lambda x: np.divide(np.ones(2), x),
    "a sum": np.sum,
    "its method": lambda x: x.sum(),
    "in place": lambda x: operator.imul(x.copy(), 2),
    "another type": lambda x: x.astype(int),
    "one element": lambda x: x[0],
    "an assignment": lambda x: operator.setitem(x, 0, 1),
    "a loop": list,
}


@pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED)
def test_the_rest_is_refused_with_a_sentence(use):
    with pytest.raises(Refused, match="operators"):
        use(traced([2.0, 3.0]))


def test_a_number_becomes_an_array_and_copies_stay_traced():
    x = traced(8.0)
    assert x.shape == (1,) and type(copy.deepcopy(x)) is Traced
    assert f"{x}" == str(x) == repr(x) == "a tensor without values yet"
