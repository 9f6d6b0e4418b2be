"""Numbers that may be None: results of device functions, variables, and what ends a thread."""

import math

import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import CompileError, LimitError


@cuda.jit(device=True)
def bin_of(x, bins, low, high):
    if x == high:
        return bins - 1
    place = math.floor(bins * (x - low) / (high - low))
    if place < 0 or place >= bins:
        return None
    return place


@cuda.jit(device=True)
def first_above(x, limit):
    for k in range(x.size):
        if x[k] > limit:
            return k


@cuda.jit(device=True)
def or_else(y, other):
    return other if y is None else y


@cuda.jit(device=True)
def pair(x):
    if x > 2:
        return None, 1
    return x * 0.5, 2


@cuda.jit
def histogram(x, bins, counts, outside):
    i = cuda.grid(1)
    if i < x.size:
        place = bin_of(x[i], bins, 0.0, 1.0)
        if place is None:
            cuda.atomic.add(outside, 0, 1)
        else:
            cuda.atomic.add(counts, place, 1)


def test_a_histogram_counts_what_is_none_apart():
    x = np.random.default_rng(3).uniform(-0.5, 1.5, 1000).astype(np.float32)
    x[7] = 1.0
    counts, outside = np.zeros(8, np.int64), np.zeros(1, np.int64)
    histogram[8, 128](x, 8, counts, outside)
    assert counts.tolist() == np.histogram(x, 8, (0, 1))[0].tolist()
    assert outside[0] == ((x < 0) | (x > 1)).sum()
    assert not [h for h in profile(histogram, 8, 128, x, 8, counts, outside).hazards]


@cuda.jit
def ends_early(x, out):
    i = cuda.grid(1)
    k = first_above(x, i)
    out[i] = -1
    out[i] = k + 100


def test_none_where_a_number_is_needed_ends_the_thread():
    x, out = np.array([0, 1, 5, 2]), np.zeros(8)
    ends_early[1, 8](x, out)
    assert out.tolist() == [101, 102, 102, 102, 102, -1, -1, -1]
    found = profile(ends_early, 1, 8, x, out).hazards
    assert {(h.kind, h.line) for h in found} == {
        ("exception", ends_early.py_func.__code__.co_firstlineno + 5)
    }
    loud = cuda.jit(ends_early.py_func, debug=True, opt=False)
    with pytest.raises(TypeError, match="expected int64, got None"):
        loud[1, 8](x, out)


@cuda.jit
def passed_on(x, out):
    i = cuda.grid(1)
    k = first_above(x, i)
    same = k
    y = same if i % 2 else None
    out[0, i] = or_else(k, -7)
    out[1, i] = or_else(same, 0.25)
    out[2, i] = 9 if y is None else y
    out[3, i] = (k is not None) + 2 * (y is None)
    if k is not None and k > 1:
        out[4, i] = math.sqrt(k) + max(k, 2) + abs(k) + int(k)
    a, b = pair(i)
    out[5, i] = or_else(a, -1) + b


def test_it_is_handed_on_through_names_conditions_tuples_and_calls():
    x, out = np.array([0, 1, 5, 2]), np.zeros((6, 8))
    passed_on[1, 8](x, out)
    for i in range(8):
        k = next((k for k in range(4) if x[k] > i), None)
        y = k if i % 2 else None
        assert out[0, i] == (-7 if k is None else k)
        assert out[1, i] == (0.25 if k is None else k)
        assert out[2, i] == (9 if y is None else y)
        assert out[3, i] == (k is not None) + 2 * (y is None)
        assert out[4, i] == (0 if k is None or k < 2 else math.sqrt(k) + max(k, 2) + 2 * k)
        assert out[5, i] == (-1 + 1 if i > 2 else i * 0.5 + 2)


@cuda.jit
def variables(x, out):
    i = cuda.grid(1)
    y = None
    if x[i] > 3:
        y = x[i]
    elif x[i] > 1:
        y = 2.5
    z = 1
    if i % 2:
        z = None
    w = 0
    for k in range(4):
        found = first_above(x, k)
        if found is not None:
            w += found
    out[0, i] = y if y is not None else -1
    out[1, i] = 0 if z is None else z
    out[2, i] = w


def test_variables_hold_a_number_or_none():
    x, out = np.array([0, 2, 5, 9]), np.zeros((3, 4))
    variables[1, 4](x, out)
    assert out[0].tolist() == [-1, 2.5, 5, 9]
    assert out[1].tolist() == [1, 0, 1, 0]
    assert out[2].tolist() == [1 + 1 + 2 + 2] * 4


@cuda.jit
def of_a_bool(x, out):
    i = cuda.grid(1)
    flag = None
    if i < 6:
        flag = x[i] > 2
    out[i] = 1
    if flag:
        out[i] = 2


def test_only_an_optional_bool_can_be_asked_whether_it_is_true():
    out = np.zeros(8)
    of_a_bool[1, 8](np.arange(8), out)
    assert out.tolist() == [1, 1, 1, 2, 2, 2, 1, 1]


def indexes(x):
    x[first_above(x, 1)] = 1


def asks_its_truth(x):
    if first_above(x, 1):
        x[0] = 1


def prints(x):
    print(first_above(x, 1))


def becomes_a_float(x):
    x[0] = float(first_above(x, 1))


def holds_a_tuple(x):
    y = None
    if x[0]:
        y = (1, 2)
    x[0] = y is None


@cuda.jit(device=True)
def falls(x):
    if x < 1:
        return None
    if x < 2:
        return 1
    return falls(x - 1)


def recurs(x):
    x[0] = or_else(falls(x[0]), 1)


@pytest.mark.parametrize(("kernel", "said"), [
    (indexes, r"an integer is needed, not an int64 or None: use int\(\)"),
    (asks_its_truth, "numbers are needed here, not an int64 or None: make it one where it is not"),
    (prints, "an int64 or None"),
    (becomes_a_float, "numbers are needed here, not an int64 or None"),
    (holds_a_tuple, "a variable always holds the same kind of thing"),
    (recurs, "calls itself and returns None on some ways, which Numba cannot type"),
])  # fmt: skip
def test_what_numba_refuses_is_refused_with_its_line(kernel, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(kernel)[1, 1](np.arange(3))
    assert error.value.line


def compares(x):
    x[0] = first_above(x, 1) == None  # noqa: E711


def assigns_in_a_loop(x):
    y = None
    for k in range(x.size):
        if x[k] > 1:
            y = k
    if y is not None:
        x[0] = y


@pytest.mark.parametrize(("kernel", "said"), [
    (compares, "compared with None by `is` and `is not` here"),
    (assigns_in_a_loop, "gets no value in a loop here: use a number that means none, such as -1"),
])  # fmt: skip
def test_what_this_machine_has_not_is_refused_with_its_line(kernel, said):
    with pytest.raises(LimitError, match=said):
        cuda.jit(kernel)[1, 1](np.arange(3))
