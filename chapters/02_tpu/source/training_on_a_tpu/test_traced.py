"""Traced numbers: they take and refuse what TensorFlow's tensors do in a loop it traces."""

import copy
import math
import operator
from importlib.util import find_spec

import numpy as np
import pytest

from labkit.checks.items import Refused
from labkit.checks.watch.case_run import same
from labkit_lessons.tpu.training_on_a_tpu.traced import Traced, traced

OPERATORS = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
)
X = np.float32([2.0, 3.0, 5.0])
Y = np.float32([7.0, 1.0, 4.0])


def in_place(x):
    x *= 2
    return x


def in_place_of_a_result(x):
    result = x * 2
    result /= x
    return result


def for_each(x):
    return sum(v for v in x)


def one_by_one(x):
    results = np.zeros(3)
    for i in range(3):
        results[i] = x[i] * 2
    return results


TAKEN = {  # by both
    "a number on the right": lambda x: x * 2,
    "a number on the left": lambda x: 1 / x,
    "a NumPy number on the left": lambda x: np.float32(2) * x,
    "an array on the left": lambda x: Y * x,
    "an array on the right": lambda x: x / Y,
    "itself": lambda x: x * x,
    "minus": lambda x: -x,
    "abs": abs,
    "in place": in_place,
    "in place of a result": in_place_of_a_result,
    "len": lambda x: x / len(x),
    "shape": lambda x: x / x.shape[0],
    "ndim": lambda x: x * x.ndim,
    "np.shape": lambda x: x / np.shape(x)[0],
    "a slice": lambda x: x[:] * 2,
    "an ellipsis": lambda x: x[...] * 2,
    "printed": lambda x: x * len(f"{x}") / len(f"{x}"),
}
REFUSED = {  # by both
    "np.array": np.array,
    "np.asarray": np.asarray,
    "np.array of its result": lambda x: np.array(x) * 2,
    "np.array of a list": lambda x: np.array([x, x]),
    "np.float32": np.float32,
    "np.copy": np.copy,
    "a ufunc": lambda x: np.multiply(x, 2),
    "a ufunc of a plain array": lambda x: np.divide(Y, x),
    "np.sum": np.sum,
    "np.mean": np.mean,
    "np.size": np.size,
    "np.ones_like": np.ones_like,
    "np.dot": lambda x: np.dot(x, x),
    "a fill": lambda x: np.full(3, x),
    "its sum": lambda x: x.sum(),
    "its mean": lambda x: x.mean(),
    "its copy": lambda x: x.copy(),
    "another type": lambda x: x.astype(int),
    "its size": lambda x: x.size,
    "its transpose": lambda x: x.T,
    "its list": lambda x: x.tolist(),
    "its conversion": lambda x: x.__array__(),
    "an assignment": lambda x: operator.setitem(x, 0, 1),
    "a list": list,
    "sum": sum,
    "max": max,
    "a comprehension": for_each,
    "zip": lambda x: list(zip(x, x, strict=True)),
    "unpacking": lambda x: [*x],
    "in": lambda x: 2.0 in x,
    "one by one": one_by_one,
    "bool": bool,
    "complex": complex,
    "round": round,
    "plus": operator.pos,
    "divmod": lambda x: divmod(x, 2),
    "matmul": lambda x: x @ x,
    "math": math.fsum,
}
STRICTER = {  # refused here, and of no use for a right answer
    "float": float,
    "int": int,
    "one element": lambda x: x[0],
    "a mask": lambda x: x[Y > 2],
    "a comparison": lambda x: x == 2,
    "an order": lambda x: x > 2,
}


@pytest.mark.parametrize("operate", OPERATORS)
def test_operators_give_plain_arrays(operate):
    for a, b in ((traced(X), traced(Y)), (traced(X), Y), (X, traced(Y))):
        got = operate(a, b)
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, operate(X, Y))
    np.testing.assert_array_equal(operate(traced(X), 2), operate(X, 2))
    np.testing.assert_array_equal(operate(2, traced(X)), operate(2, X))


@pytest.mark.parametrize("use", TAKEN.values(), ids=TAKEN)
def test_what_a_tensor_takes_is_taken(use):
    got = use(traced(X))
    assert type(got) is np.ndarray
    np.testing.assert_allclose(got, use(X.copy()))


@pytest.mark.parametrize("use", (REFUSED | STRICTER).values(), ids=REFUSED | STRICTER)
def test_the_rest_is_refused_with_a_sentence(use):
    with pytest.raises(Refused, match="operators"):
        use(traced(X))


@pytest.mark.skipif(not find_spec("tensorflow"), reason="needs TensorFlow")
class TestTensorFlow:
    """The real thing, on which the two tables above rest."""

    @pytest.fixture(autouse=True)
    def _eight_devices(self):
        """TensorFlow takes its devices at its first start: as many as later tests will need."""
        from labkit.tpu import strategy

        strategy(replicas=8)

    def in_a_loop(self, use):
        import tensorflow as tf

        @tf.function
        def steps(x):
            return tf.convert_to_tensor(use(x))

        return steps(tf.constant(X)).numpy()

    @pytest.mark.parametrize("use", TAKEN.values(), ids=TAKEN)
    def test_takes_what_traced_numbers_take(self, use):
        np.testing.assert_allclose(self.in_a_loop(use), use(X.copy()), rtol=1e-6)

    @pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED)
    def test_refuses_what_traced_numbers_refuse(self, use):
        with pytest.raises((TypeError, ValueError, AttributeError, NotImplementedError)):
            self.in_a_loop(use)


def test_a_number_can_be_traced_and_copies_stay_traced():
    x = traced(8.0)
    assert x.shape == () and x.dtype == float and X / x == pytest.approx(X / 8)
    copied = copy.deepcopy((x, 3.0))
    assert type(copied[0]) is Traced and copied[0] is not x
    assert f"{x}" == str(x) == repr(x) == "a tensor without values yet"


def test_in_place_operators_leave_the_input_alone():
    x = traced(X)
    in_place(x)
    np.testing.assert_array_equal(x * 1, X)
    assert same(x, copy.deepcopy(x))
