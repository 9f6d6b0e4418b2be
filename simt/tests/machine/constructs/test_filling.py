"""Parts of arrays as targets, and slices of all kinds: the oracle is NumPy."""

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError


def whole(x, y, n):
    x[:] = n
    y[...] = x[0, 1]


def rows(x, y, n):
    x[1, :] = y[:4]
    x[2] = x[1]
    x[0, 1:3] = 9
    x[:, 0] = y[1:4]


def steps(x, y, n):
    x[0, ::2] = y[::4]
    x[1, ::-1] = y[2:6]
    x[2, 1 : n + 1 : n] = (5, 6)[:1]
    y[::n] = -1


def broadcast(x, y, n):
    x[:] = y[:4]
    x[1:, :] = y[None, 2:3]


def within_one_array(x, y, n):
    y[n:] = y[:-n]
    y[:3] = y[1:4]
    y[::-2] = y[::-2]


def dots(x, y, n):
    x[..., n] = x[..., 0]
    x[..., 0, 3] = 7
    x[0, ...] = y[None, :][0, :4]
    y[0] = x[None, 1, None][0, 0, 2]


def variable_steps(x, y, n):
    x[0, :3] = y[::n][:3]
    z = y[5::-n]
    y[1] = z[1] + len(z)
    x[1, 1:3] = y[2:6:n]


@pytest.mark.parametrize("function", [
    whole, rows, steps, broadcast, within_one_array, dots, variable_steps,
])  # fmt: skip
def test_slices_are_numpys(function):
    x, y = np.arange(12.0).reshape(3, 4), np.arange(20.0, 28.0)
    wanted = x.copy(), y.copy()
    cuda.jit(function)[1, 1](x, y, 2)
    function(*wanted, 2)
    np.testing.assert_array_equal(x, wanted[0])
    np.testing.assert_array_equal(y, wanted[1])


@cuda.jit
def local_arrays(x, out):
    i = cuda.grid(1)
    c = cuda.local.array((2, 3), np.float32)
    c[:] = 0.5
    c[1, : i % 3] = x[: i % 3]
    for row in c:
        for v in row:
            out[i] += v


def test_each_lane_fills_its_own_array_and_its_own_length():
    x, out = np.arange(1, 4, dtype=np.float32), np.zeros(6)
    local_arrays[1, 6](x, out)
    assert out.tolist() == [3, 3.5, 5] * 2


@cuda.jit
def another_length(x, y, out):
    out[0] = 1
    x[:3] = y
    out[1] = 1


def test_another_length_ends_the_thread_and_raises_in_debug():
    x, out = np.zeros(5), np.zeros(2)
    another_length[1, 1](x, np.ones(4), out)
    assert (out.tolist(), x.tolist()) == ([1, 0], [0] * 5)
    debug = cuda.jit(another_length.py_func, debug=True, opt=False)
    with pytest.raises(ValueError, match="cannot assign slice from input of different size"):
        debug[1, 1](x, np.ones(4), out)
    debug[1, 1](x, np.ones(3), out)
    assert x.tolist() == [1, 1, 1, 0, 0]


def numba_has_no_sum(x, y):
    x[0, :] += 1


def too_many_axes(x, y):
    y[:] = x


def overlaps(x, y):
    x[:, 1:] = x[:, :-1]


def two_ellipses(x, y):
    x[..., ...] = 1


def no_step(x, y):
    y[::0] = 1


def no_number(x, y):
    y[:] = "a"


def a_tuple_for_rows(x, y):
    x[:] = (1, 2)


@pytest.mark.parametrize(("function", "said"), [
    (numba_has_no_sum, r"x\[0, :\] \+= 1`: Numba has no \+= for arrays"),
    (too_many_axes, "the 2-d array x has more axes"),
    (overlaps, "may overlap"),
    (two_ellipses, "at most one"),
    (no_step, "step of a slice must not be 0"),
    (no_number, "numbers are needed here, not `a`"),
    (a_tuple_for_rows, "a tuple fills one axis, not 2"),
])  # fmt: skip
def test_what_cannot_be_filled_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros((2, 2)), np.zeros(2))
    assert error.value.line == function.__code__.co_firstlineno + 1
