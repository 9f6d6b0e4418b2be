"""What a kernel runs over, and tuples: the oracle is Python, which runs the same function."""

from collections import namedtuple

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError, UsageError

Point = namedtuple("Point", "x y r")


def over_an_array(x, out):
    for v in x:
        out[0] += v
    else:
        out[1] = 7


def over_rows(x, out):
    for row in x:
        for v in row:
            if v > 8:
                break
            out[0] += v
        else:
            out[1] += row[0]


def over_enumerate(x, out):
    for i, v in enumerate(x):
        out[0] += i * v
    for i, v in enumerate(x, 3):
        if i == 4:
            continue
        out[1] += i * v


def over_zip(x, out):
    for v, k, w in zip(x, range(2, 20, 3), (1.5, 2.5, 4.0)):  # noqa: B905
        out[0] += v * k + w
    for i, (v, w) in enumerate(zip(x, out)):  # noqa: B905
        out[1] += i * v + w


def over_tuples(x, out):
    for v in (1.5, 2.5, 4.0):
        out[0] += v
    for n in x.shape:
        out[1] += n
    for a, b in ((1, 2), (3, 4)):
        out[2] += a * b


def over_ranges(x, out):
    r = range(1, 7, 2)
    for i in r:
        out[0] += i
    out[1] = len(r) + len(range(9, 0, -4)) + len(range(3, 3))


def over_flat(x, out):
    for i, v in enumerate(x.T.flat):
        out[0] += i * v
    out[1] = x.flat[4] + x.T.flat[-2]


def over_places(x, out):
    for i, j in np.ndindex(x.shape):
        out[0] += i * x[i, j] + j
    for (i, j), v in np.ndenumerate(x):
        out[1] += i * v - j
    for (i,) in np.ndindex(3):
        out[2] += i
    out[2] += sum((1, 2.5)) + sum(x.shape, 4)


def indexed_tuples(x, out):
    t = (10.0, 20.0, 30.0)
    for i in range(-3, 3):
        out[0] += i * t[i]
    u = t[1:] + (5.0,)  # noqa: RUF005
    out[1] = u[2] + len(u) + u[-1]
    out[2] = t[::-1][0] + max(*t, 5) + (1, *t)[3]


def compared_tuples(x, out):
    if x.shape == (3, 4):
        out[0] = 1
    if 3 in (1, 2, 3) and 4 not in (1, 2, 3):
        out[1] = 1
    if (1, 2) != (1, 3):
        out[2] = 1


def unpacked(x, out):
    a, b, c = x
    d, e, f, g = a
    out[0], out[1], out[2] = b[1] + e, c[2] + f, d + g
    p = Point(1, y=2, r=(3, 4.5))
    out[2] += p.y * p.r[1]


@pytest.mark.parametrize("function", [
    over_rows, over_tuples, over_places, over_ranges, over_flat, indexed_tuples, compared_tuples,
    unpacked,
])  # fmt: skip
def test_a_kernel_gives_what_python_gives(function):
    x = np.arange(12.0).reshape(3, 4) / 2
    found, wanted = np.zeros(3), np.zeros(3)
    cuda.jit(function)[1, 1](x, found)
    function(x, wanted)
    assert wanted.any()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("function", [over_an_array, over_enumerate, over_zip])
def test_a_kernel_runs_over_what_python_runs_over(function):
    x = np.arange(1.0, 5.0)
    found, wanted = np.zeros(3), np.zeros(3)
    cuda.jit(function)[1, 1](x, found)
    function(x, wanted)
    np.testing.assert_array_equal(found, wanted)


@cuda.jit
def each_lane_its_own_number_of_rounds(x, out):
    i = cuda.grid(1)
    for v in x[: i + 1]:
        out[i] += v


def test_lanes_run_over_arrays_of_different_lengths():
    x, out = np.arange(40.0), np.zeros(40)
    each_lane_its_own_number_of_rounds[1, 40](x, out)
    np.testing.assert_array_equal(out, np.cumsum(x))


@cuda.jit
def floats_count(x, out):
    for i in range(x):
        out[0] = i * 2_000_000_000
    for i in range(1, x):
        out[1] += i
    for i in range(1, x, 2.0):
        out[2] += i


def test_a_range_of_a_float_counts_in_int32_as_in_numba():
    out = np.zeros(3, np.int64)
    floats_count[1, 1](3.9, out)  # int32 * int64 is int64: nothing wraps
    assert out.tolist() == [4_000_000_000, 3, 1]


@cuda.jit
def of_a_tuple(arrays, point, out):
    i = cuda.grid(1)
    total = 0.0
    for one in arrays:
        total += one[i]
    out[i] = total + arrays[i % 3][0] + point.x * point.r[1]
    arrays[i % 3][i] = -1


def test_tuples_of_arrays_and_named_tuples_are_arguments():
    arrays = tuple(np.full(6, k, float) for k in (1, 2, 3))
    out = np.zeros(6)
    of_a_tuple[1, 6](arrays, Point(2, 0, (1, 5.5)), out)
    assert out.tolist() == [6 + k + 11 for k in (1, 2, 3, 1, 2, 3)]
    for k, array in enumerate(arrays):
        assert [i for i in range(6) if array[i] == -1] == [k, k + 3]


@cuda.jit
def with_a_star(out, *rest):
    i = cuda.grid(1)
    out[i] = len(rest)
    for k in range(len(rest)):
        out[i] += rest[k]


@cuda.jit
def with_nothing_in_it(out, t):
    out[0] = len(t) + len(t[1]) * 10


def test_a_kernel_takes_any_number_of_arguments():
    out = np.zeros(2)
    with_a_star[1, 2](out, 1.5, 2.0, 4.0)
    assert out.tolist() == [10.5, 10.5]
    with_nothing_in_it[1, 1](out, ((), (1, 2)))
    assert out[0] == 22


@cuda.jit
def past_the_end(t, i, out):
    out[0] = 1
    out[1] = t[i]
    out[2] = 1


def test_an_index_past_a_tuple_ends_the_thread_as_on_a_gpu():
    out = np.zeros(3)
    past_the_end[1, 1]((5.0, 6.0), -2, out)
    assert out.tolist() == [1, 5, 1]
    out = np.zeros(3)
    past_the_end[1, 1]((5.0, 6.0), 2, out)
    assert out.tolist() == [1, 0, 0]
    with pytest.raises(IndexError, match="tuple index out of range"):
        cuda.jit(past_the_end.py_func, debug=True, opt=False)[1, 1]((5.0, 6.0), 2, out)


def several_types(out):
    for v in (1, 2.5):
        out[0] += v


def variable_bounds(out):
    t = (1, 2, 3)
    out[0] = t[int(out[0]) :][0]


def several_types_indexed(out):
    t = (1, 2.5)
    out[0] = t[int(out[0])]


def too_many_names(out):
    a, b = (1, 2, 3)
    out[0] = a + b


def over_a_number(out):
    for v in enumerate(3):
        out[0] += v


def constant_past_the_end(out):
    out[0] = (1, 2)[2]


@pytest.mark.parametrize(("function", "said"), [
    (several_types, r"for v in.*several types \(int64, float64\).*literal_unroll"),
    (variable_bounds, "constant bounds"),
    (several_types_indexed, "several types"),
    (too_many_names, "2 names cannot be filled from a tuple of 3"),
    (over_a_number, "cannot run over an int64"),
    (constant_past_the_end, "tuple index out of range: 2 of a tuple of 2"),
])  # fmt: skip
def test_what_numba_refuses_of_sequences_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros(1))
    assert error.value.line > function.__code__.co_firstlineno


def test_a_tuple_with_what_no_kernel_takes_says_which_item_it_is():
    with pytest.raises(UsageError, match=r"argument `arrays\[1\]\[0\]` is a str"):
        of_a_tuple[1, 6]((np.zeros(6), ("a",)), Point(2, 0, 1), np.zeros(6))
