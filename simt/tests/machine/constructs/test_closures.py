"""Functions that a kernel defines: the oracle is Python, which runs the same text."""

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError

n = 1000  # a name of the module that a parameter below hides


@cuda.jit(device=True)
def apply(function, *arguments):
    return function(*arguments)


def reads_what_is_there_when_it_is_called(x, out):
    k = x[0]

    def plus(u, v=2.0):
        if u > 1:
            return u + k
        return v

    twice = lambda u: 2 * plus(u)  # noqa: E731
    out[0] = plus(x[1])
    k = x[2]
    out[1] = plus(x[1], v=5.0) + twice(x[3]) + plus(0.5)
    out[2] = (lambda q, r=3: q * k + r)(x[1])


def defined_in_a_loop(x, out):
    for i in range(3):

        def squared(z):
            return (z + i) ** 2  # noqa: B023

        out[i] = squared(x[i])


def within_another(x, out):
    scale = x[3]

    def outer(u):
        offset = u + 1

        def inner(v):
            return v * scale + offset

        return inner(u) + inner(1)

    for i in range(3):
        out[i] = outer(x[i])
        scale = scale + 1


def hides_a_name_of_the_module(x, out):
    def half(n):
        if n == 1000:
            return 0.0
        return n / 2

    out[0] = half(x[1]) + n


def fills_arrays(x, out):
    def put(at, value):
        out[at] = value

    put(0, x[1])
    put(2, x[3])


@pytest.mark.parametrize("function", [
    reads_what_is_there_when_it_is_called, defined_in_a_loop, within_another,
    hides_a_name_of_the_module, fills_arrays,
])  # fmt: skip
def test_a_function_in_a_kernel_does_what_python_does(function):
    x = np.array([1.5, 2.5, 4.0, 0.25])
    found, wanted = np.zeros(3), np.zeros(3)
    cuda.jit(function)[1, 1](x, found)
    function(x, wanted)
    assert wanted.any()
    np.testing.assert_array_equal(found, wanted)


@cuda.jit
def by_lanes(x, out):
    i = cuda.grid(1)

    def first_large(limit):
        for j in range(x.shape[0]):
            if x[(i + j) % x.shape[0]] > limit:
                return j
        return -1

    out[i] = first_large(2.0 + i % 2)


def test_lanes_return_from_it_at_different_times():
    x, out = np.array([1.0, 2.5, 0.5, 3.5]), np.zeros(8)
    by_lanes[1, 8](x, out)
    for i in range(8):
        rounds = [j for j in range(4) if x[(i + j) % 4] > 2.0 + i % 2]
        assert out[i] == rounds[0]


@cuda.jit
def given_away(out):
    k = 3

    def plus(x, y=4):
        return x + k + y

    out[0] = apply(plus, 1)
    out[1] = apply(plus, 1, 2)
    out[2] = apply(lambda: k)


def test_a_function_with_constants_alone_is_given_to_another():
    out = np.zeros(3)
    given_away[1, 1](out)
    assert out.tolist() == [8, 6, 3]


def with_a_variable(out):
    k = out[0]

    def plus(x):
        return x + k

    out[0] = apply(plus, 1)


def under_another_name(out):
    k = out[0]

    def plus(x):
        return x + k

    other = plus
    k = 7
    out[0] = other(1)


def calls_itself(out):
    def down(x):
        if x < 1:
            return 0
        return down(x - 1)

    out[0] = down(3)


def two_of_one_name(out):
    if out[0] > 1:

        def f(x):
            return x

    else:

        def f(x):
            return x + 1

    out[0] = f(1)


def variable_default(out):
    def f(x=out[0]):
        return x

    out[0] = f()


def too_few(out):
    def f(x):
        return x

    out[0] = f()


@pytest.mark.parametrize(("function", "said"), [
    (with_a_variable, "cannot capture the non-constant value of `k`"),
    (under_another_name, "cannot capture the non-constant value of `k`"),
    (calls_itself, "calls itself"),
    (two_of_one_name, "always holds the same kind of thing"),
    (variable_default, "defaults of a function within a kernel are constants"),
    (too_few, "missing a required argument: 'x'"),
])  # fmt: skip
def test_what_numba_refuses_of_functions_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros(1))
    assert error.value.line > function.__code__.co_firstlineno
