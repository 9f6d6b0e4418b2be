"""Arrays that a branch chooses, for all lanes or for each: two arrays that swap their names."""

import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import CompileError

THREADS = 64


@cuda.jit
def by_a_number(even, odd, j):
    if j % 2 == 0:
        new, old = even, odd
    else:
        new, old = odd, even
    i = cuda.grid(1)
    if i < new.size:
        new[i] = old[i] + 1


@cuda.jit
def by_the_lane(even, odd):
    i = cuda.grid(1)
    new, old = (even, odd) if i % 2 == 0 else (odd, even)
    for _ in range(3):
        new[i] = old[i] + 1
        new, old = old, new


@pytest.mark.parametrize("j", [0, 1])
def test_a_number_chooses_for_all(j):
    even, odd = np.zeros(40), np.full(40, 5.0)
    by_a_number[2, 32](even, odd, j)
    assert (even[0], odd[0]) == ((6, 5), (0, 1))[j]
    assert len({*even}) == len({*odd}) == 1


def test_lanes_choose_and_swap_for_themselves():
    even, odd = np.zeros(THREADS), np.full(THREADS, 5.0)
    by_the_lane[2, 32](even, odd)
    assert even.tolist() == [8, 2] * 32
    assert odd.tolist() == [7, 3] * 32


@cuda.jit
def shared_or_global(x, out):
    tile = cuda.shared.array((4, 8), np.float64)
    i = cuda.threadIdx.x
    for row in range(4):
        tile[row, i] = 100 * row + i
    cuda.syncthreads()
    source = tile if i < 4 else x
    out[i] = source[i % 4, i] + source.shape[0] + 1000 * len(source[0, 2:])
    part = source[1:, ::2] if i % 2 else tile[2:, :4]
    out[i] += part[1, 3]
    part[0, 1] = i


def test_shared_and_global_memory_and_parts_of_them_may_be_one_variable():
    x, out = np.arange(48.0).reshape(6, 8), np.zeros(8)
    tile = np.array([[100.0 * row + i for i in range(8)] for row in range(4)])
    wanted = np.zeros(8)
    for i in range(8):
        source = tile if i < 4 else x
        wanted[i] = source[i % 4, i] + source.shape[0] + 6000
        part = source[1:, ::2] if i % 2 else tile[2:, :4]
        wanted[i] += part[1, 3]
    before = x.copy()
    shared_or_global[1, 8](x, out)
    np.testing.assert_array_equal(out, wanted)
    before[1, 2] = 7
    np.testing.assert_array_equal(x, before)


@cuda.jit
def rows_that_swap(x, out):
    i = cuda.threadIdx.x
    first, second = x[0], x[1]
    first, second = second, first
    out[i] = 10 * first[i] + second[i]


def test_rows_of_one_array_swap():
    x, out = np.arange(8.0).reshape(2, 4), np.zeros(4)
    rows_that_swap[1, 4](x, out)
    assert out.tolist() == (10 * x[1] + x[0]).tolist()


@cuda.jit(device=True)
def larger(a, b):
    return a if a[0] > b[0] else b


@cuda.jit
def counted(a, b, out):
    chosen = larger(a, b)
    cuda.atomic.add(chosen, cuda.threadIdx.x % 2, 1)
    cuda.atomic.max(out if cuda.threadIdx.x < 3 else chosen, 0, cuda.threadIdx.x)


def test_a_device_function_returns_one_of_its_arrays_and_atomics_change_it():
    a, b, out = np.array([0, 0]), np.array([5, 0]), np.zeros(1, np.int64)
    counted[1, 8](a, b, out)
    assert (a.tolist(), b.tolist(), out.tolist()) == ([0, 0], [9, 4], [2])


@cuda.jit
def both_write_one(a, b):
    target = a if cuda.threadIdx.x < 2 else b
    target[0] = cuda.threadIdx.x


def test_a_race_names_the_array_that_was_chosen():
    hazards = profile(both_write_one, 1, 4, np.zeros(1), np.zeros(1)).hazards
    assert {(h.kind, h.address) for h in hazards} == {("race", "a[0]"), ("race", "b[0]")}


@cuda.jit
def outside(a, b, j):
    target = a if j else b
    target[6] = 1


def test_bounds_are_those_of_the_array_that_was_chosen():
    outside[1, 1](np.zeros(8), np.zeros(4), 1)
    with pytest.raises(IndexError, match="index 6 on axis 0 of b, whose length there is 4"):
        outside[1, 1](np.zeros(8), np.zeros(4), 0)


def other_dtype(x, y):
    z = x if y[0] else y
    z[0] = 1


def other_dimensions(x, y):
    z = x
    if y[0]:
        z = x[0]
    z[0] = 1


def an_array_or_a_number(x, y):
    z = x
    if y[0]:
        z = 3
    y[0] = z


@pytest.mark.parametrize(("function", "said"), [
    (other_dtype, r"cannot unify array\(float64, 2d, C\) and array\(int64, 1d, C\)"),
    (other_dimensions, r"cannot unify array\(float64, 2d, C\) and array\(float64, 1d, C\)"),
    (an_array_or_a_number, "always holds the same kind of thing"),
])  # fmt: skip
def test_what_no_variable_can_hold_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros((2, 2)), np.zeros(2, np.int64))
    assert error.value.line > function.__code__.co_firstlineno
