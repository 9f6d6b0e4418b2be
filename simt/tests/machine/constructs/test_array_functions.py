"""Reductions and ufuncs of whole arrays in a kernel: the oracle is NumPy."""

import warnings

import numpy as np
import pytest
from numba.cuda.misc.special import literal_unroll

from numba_simt import cuda
from numba_simt.errors import CompileError

RNG = np.random.default_rng(3)


@cuda.jit
def methods(x, out):
    out[0] = x.sum()
    out[1] = x.prod()
    out[2] = x.mean()
    out[3] = x.var()
    out[4] = x.std()
    out[5] = x.min()
    out[6] = x.max()
    out[7] = x.argmin()
    out[8] = x.argmax()
    out[9] = x.any()
    out[10] = x.all()
    out[11] = np.count_nonzero(x)


@cuda.jit
def without_nan(x, out):
    out[0] = np.nansum(x)
    out[1] = np.nanprod(x)
    out[2] = np.nanmean(x)
    out[3] = np.nanvar(x)
    out[4] = np.nanstd(x)
    out[5] = np.nanmin(x)
    out[6] = np.nanmax(x)


METHODS = (np.sum, np.prod, np.mean, np.var, np.std, np.min, np.max, np.argmin, np.argmax)
METHODS += (np.any, np.all, np.count_nonzero)
WITHOUT_NAN = (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmin, np.nanmax)


@pytest.mark.parametrize("x", [
    RNG.random((3, 4)),
    np.asfortranarray(RNG.random((3, 4))),
    RNG.random((2, 3, 2)).astype(np.float32),
    RNG.integers(-9, 9, (2, 5)).astype(np.int32),
    RNG.integers(0, 9, 5).astype(np.uint8),
    np.array([1.0, np.nan, -2.0]),
    np.array([np.inf, 2.0]),
    np.array([0.0]),
])  # fmt: skip
def test_reductions_are_numpys(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel, functions in ((methods, METHODS), (without_nan, WITHOUT_NAN)):
            out = np.zeros(len(functions))
            kernel[1, 1](x, out)
            wanted = [function(x) for function in functions]
            np.testing.assert_allclose(out, wanted, rtol=1e-6)


@cuda.jit
def of_parts(x, out):
    i = cuda.grid(1)
    out[i] = x[i].sum() + x[:, i].max() + x[1:, ::2].min() + np.sum(x.T[i])


def test_of_parts_each_lane_reduces_its_own():
    x, out = RNG.random((4, 4)), np.zeros(4)
    of_parts[1, 4](x, out)
    wanted = [x[i].sum() + x[:, i].max() + x[1:, ::2].min() + x[:, i].sum() for i in range(4)]
    np.testing.assert_allclose(out, wanted)


@cuda.jit
def types_of_sums(x, out):
    out[0] = x.sum() / 2 * 2


def test_a_sum_of_narrow_integers_is_an_int64():
    out = np.zeros(1, np.int64)
    types_of_sums[1, 1](np.full(3, 2**30, np.int32), out)
    assert out[0] == 3 * 2**30


@cuda.jit
def empty(x, out):
    out[0] = 1
    out[1] = x.max()


def test_the_maximum_of_nothing_is_an_error():
    out = np.zeros(2)
    empty[1, 1](np.zeros(0), out)
    assert out.tolist() == [1, 0]
    with pytest.raises(ValueError, match="zero-size array"):
        cuda.jit(empty.py_func, debug=True, opt=False)[1, 1](np.zeros(0), out)


@cuda.jit
def fills(x, row, number, out, other):
    np.sin(x, out)
    np.maximum(out, row, other)
    np.arctan2(row, number, other[0])


def test_ufuncs_fill_arrays_and_broadcast():
    x, row = RNG.random((3, 4)), RNG.random(4)
    out, other = np.zeros((3, 4)), np.zeros((3, 4))
    fills[1, 1](x, row, np.float64(0.5), out, other)
    np.testing.assert_allclose(out, np.sin(x))
    wanted = np.maximum(out, row)
    wanted[0] = np.arctan2(row, 0.5)
    np.testing.assert_allclose(other, wanted)


@cuda.jit
def ordered(a, b, less, least, most):
    np.less(a, b, less)
    np.fmin(a, b, least)
    np.maximum(a, b, most)


def test_complex_numbers_are_ordered_as_in_numpy():
    a, b = (RNG.integers(0, 3, 40) + 1j * RNG.integers(0, 3, 40) for _ in range(2))
    a[3], b[5], a[7], b[7] = np.nan, 1 + 1j * np.nan, np.nan, np.nan
    less, least, most = np.zeros(40, bool), np.zeros(40, complex), np.zeros(40, complex)
    ordered[1, 1](a, b, less, least, most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(less, np.less(a, b))
        np.testing.assert_array_equal(least, np.fmin(a, b))
        np.testing.assert_array_equal(most, np.maximum(a, b))


CASES = (RNG.random(3), RNG.integers(0, 9, (2, 3)), np.array([True, False]))


@cuda.jit
def unrolled(out):
    i = 0
    half = 0
    for case in literal_unroll(CASES):
        if i == 1 and out[4] > 0:
            i += 1
            continue
        total = case.sum()
        out[i] = total / 2
        half = total / 2
        i += 1
    else:
        out[3] = half
    for _ in literal_unroll((1, 2.5, (3, 4))):
        if out[5] > 1:
            break
        out[5] += 1


def test_literal_unroll_types_each_round_for_itself():
    out = np.zeros(6)
    unrolled[1, 1](out)
    np.testing.assert_allclose(out[:3], [case.sum() / 2 for case in CASES])
    assert out[3:].tolist() == [0.5, 0, 2]
    out = np.array([0, 0, 0, 0, 1.0, 0])
    unrolled[1, 1](out)
    assert out[1] == 0 and out[2] == 0.5


def no_memory(x):
    x[0] = np.sin(x)[0]


def not_in_cuda(x):
    np.add(x, 1, x)


def an_axis(x):
    x[0] = np.sum(x, 0)


def of_a_number(x):
    x[0] = np.sum(3)


def no_method(x):
    x.sort()


def too_many(x):
    x.fill(1, 2)


@pytest.mark.parametrize(("function", "said"), [
    (no_memory, "would need memory for its result: give the array to fill"),
    (not_in_cuda, "Numba has no np.add for arrays"),
    (an_axis, "one array here"),
    (of_a_number, "one array here"),
    (no_method, r"no \.sort"),
    (too_many, "fill.* takes other arguments"),
])  # fmt: skip
def test_what_is_not_there_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros(3))
    assert error.value.line == function.__code__.co_firstlineno + 1
