"""Device functions that call themselves: inlined to a depth, beyond which the kernel stops."""

import math

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError


@cuda.jit("int64(int64)", device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1.0
    return n * factorial(n - 1)


@cuda.jit(device=True)
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@cuda.jit(device=True)
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


@cuda.jit
def recursive(out):
    i = cuda.grid(1)
    out[0, i] = fibonacci(i)
    out[1, i] = factorial(i)
    out[2, i] = is_even(i)


def test_lanes_recur_to_different_depths():
    out = np.zeros((3, 8))
    recursive[1, 8](out)
    assert out[0].tolist() == [0, 1, 1, 2, 3, 5, 8, 13]
    assert out[1].tolist() == [math.factorial(i) for i in range(8)]
    assert out[2].tolist() == [1, 0] * 4


@cuda.jit
def deep(n, out):
    out[0] = factorial(n)


def test_a_recursion_that_is_too_deep_stops_the_kernel_and_says_where():
    out = np.zeros(1)
    deep[1, 1](24, out)
    assert out[0] == pytest.approx(math.factorial(24))
    with pytest.raises(RecursionError, match=r"line \d+ .*`factorial` calls itself more than 24"):
        deep[1, 1](26, out)
    assert out[0] == pytest.approx(math.factorial(24))


@cuda.jit(device=True)
def for_ever(x):
    return for_ever(x)


@cuda.jit(device=True)
def growing(n):
    if n == 0:
        return (n,)
    return (n, *growing(n - 1))


def never_ends(x):
    for_ever(x[0])


def grows(x):
    growing(x[0])


@pytest.mark.parametrize(("function", "said"), [
    (never_ends, "`for_ever` calls itself, and no call of it ends"),
    (grows, "always holds the same kind|cannot be|kernel cannot contain|depend on each other"),
])  # fmt: skip
def test_a_recursion_without_an_end_or_a_type_is_refused_where_it_is_defined(function, said):
    with pytest.raises(CompileError, match=said):
        cuda.jit("void(int64[:])")(function)
