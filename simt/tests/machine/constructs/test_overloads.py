"""Functions, methods and attributes that a program overloads for kernels."""

import numpy as np
import pytest
from numba import extending, types

from numba_simt import cuda
from numba_simt.errors import CompileError, LimitError
from numba_simt.extending import (
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
)


def biggest(x, start=0):
    """Of the host: never called."""


@overload(biggest)
def _biggest(x, start=0):
    if isinstance(x, types.Integer):
        return lambda x, start=0: x if x > start else start
    if isinstance(x, types.Array) and x.ndim == 1:

        def of_an_array(x, start=0):
            most = x[start]
            for k in range(start, x.size):
                most = max(most, x[k])
            return most

        return of_an_array
    return None


def doubled(x):
    """Of the host."""


@extending.overload(doubled)
def _doubled(x):
    def of_a_number(x):
        return biggest(x + x)

    return of_a_number


def targeted(x):
    """Of the host."""


@extending.overload(targeted)
def _for_all(x):
    return lambda x: x + 1


@overload(targeted)
def _for_gpus(x):
    return lambda x: x + 2


@extending.overload(targeted, target="cpu")
def _for_cpus(x):
    return lambda x: x + 3


def sized(n):
    """Of the host."""


@overload(sized, prefer_literal=True)
def _sized(n):
    if isinstance(n, types.Literal):
        known = n.literal_value
        return lambda n: known * 100
    return lambda n: n


@register_jitable
def shared_with_the_host(x):
    return x * 3


@overload_method(types.Array, "range_of")
def _range_of(x, first=0):
    def of_an_array(x, first=0):
        low = high = x[first]
        for k in range(first, x.size):
            low, high = min(low, x[k]), max(high, x[k])
        return high - low

    return of_an_array


@overload_attribute(types.Array, "twice_its_size")
def _twice_its_size(x):
    return lambda x: 2 * x.size


@cuda.jit
def uses(x, out):
    i = cuda.grid(1)
    out[0, i] = biggest(x, start=i)
    out[1, i] = biggest(i, 2)
    out[2, i] = doubled(i)
    out[3, i] = targeted(i)
    out[4, i] = sized(i) + sized(3)
    out[5, i] = shared_with_the_host(i)
    out[6, i] = x.range_of() + x.range_of(first=3)
    out[7, i] = x.twice_its_size


def test_overloads_are_inlined_by_their_types():
    x = np.array([3.0, 9.0, 4.0, 5.0])
    out = np.zeros((8, 4))
    uses[1, 4](x, out)
    assert out[0].tolist() == [9, 9, 5, 5]
    assert out[1].tolist() == [2, 2, 2, 3]
    assert out[2].tolist() == [0, 2, 4, 6]
    assert out[3].tolist() == [2, 3, 4, 5]
    assert out[4].tolist() == [300, 301, 302, 303]
    assert out[5].tolist() == [0, 3, 6, 9]
    assert out[6].tolist() == [6] * 4
    assert out[7].tolist() == [8] * 4
    assert shared_with_the_host(2) == 6


@cuda.jit
def widened(x, out):
    y = 1
    for _ in range(3):
        y = biggest(y, 2) + 0
    out[0] = y


def test_an_overload_sees_the_type_that_a_variable_ends_with():
    out = np.zeros(1)
    widened[1, 1](np.zeros(1), out)
    assert out[0] == 2


def mismatched(x):
    """Of the host."""


@overload(mismatched)
def _mismatched(x):
    return lambda y: y


def failing(x):
    """Of the host."""


@overload(failing)
def _failing(x):
    raise ValueError("only for the brave")


@extending.intrinsic
def machine_code(context, x):
    return None


def of_a_float(x):
    x[0] = biggest(x[0])


def of_other_parameters(x):
    x[0] = mismatched(x[0])


def of_one_that_fails(x):
    x[0] = failing(x[0])


def too_many(x):
    x[0] = biggest(1, 2, 3)


@pytest.mark.parametrize(("kernel", "said"), [
    (of_a_float, r"no overload of `biggest` takes \(float64\)"),
    (of_other_parameters, "has the parameter `x`, and its implementation `y`"),
    (of_one_that_fails, "no overload of `failing` takes .*: only for the brave"),
    (too_many, "no overload of `biggest` takes .*3"),
])  # fmt: skip
def test_what_no_overload_takes_is_refused_with_its_line(kernel, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(kernel)[1, 1](np.zeros(3))
    assert error.value.line == kernel.__code__.co_firstlineno + 1


def of_a_function(x):
    def inner(y):
        return y

    x[0] = doubled(inner)


def of_machine_code(x):
    x[0] = machine_code(x[0])


@pytest.mark.parametrize(("kernel", "said"), [
    (of_a_function, "the function `inner` is no argument of an overload here"),
    (of_machine_code, "is an intrinsic, which makes machine code"),
])  # fmt: skip
def test_what_this_machine_cannot_take_is_said(kernel, said):
    with pytest.raises(LimitError, match=said):
        cuda.jit(kernel)[1, 1](np.zeros(3))


def test_of_numbas_extending_only_what_is_python_is_here():
    import numba_simt.extending

    with pytest.raises(AttributeError, match=r"extending\.lower_builtin is not here"):
        numba_simt.extending.lower_builtin  # noqa: B018


def of_a_signature(x):
    x[0] = machine_code(x[0])


def test_a_signature_that_is_refused_is_told_where_it_is_asked_for():
    kernel = cuda.jit("void(float64[:])")(of_a_signature)
    with pytest.raises(LimitError, match="is an intrinsic"):
        kernel.overloads[types.float64[:],]
    with pytest.raises(KeyError):
        kernel.overloads[types.int8[:],]
