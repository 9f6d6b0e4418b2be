"""raise and assert: without debug=True they end the thread, with it the launch raises."""

import numpy as np
import pytest
from kernels.raising import OurError, raises

from numba_simt import cuda, profile
from numba_simt.errors import CompileError, KernelError
from numba_simt.execution.hazards import HazardError

QUIET = cuda.jit(raises)
LOUD = cuda.jit(raises, debug=True, opt=False)


@cuda.jit(device=True)
def checked(x):
    if x < 0:
        raise ValueError
    return x


@cuda.jit
def by_a_device_function(x):
    i = cuda.grid(1)
    x[i] = checked(x[i]) + 1
    x[i] += 10


def test_without_debug_the_threads_end_and_no_one_hears_of_it():
    x = np.array([0, 4, 3, 1])
    QUIET[1, 4](x)
    assert x.tolist() == [-1, 4, 3, -1]
    x = np.array([0, -4, 3])
    by_a_device_function[1, 3](x)
    assert x.tolist() == [11, -4, 14]


def test_a_profile_tells_of_it():
    found = profile(QUIET, 1, 4, np.array([0, 4, 3, 1])).hazards
    assert [(h.kind, h.thread[1][0]) for h in found] == [("exception", 1), ("exception", 2)]
    assert "raises OurError: too large, 5, and ends there" in str(found[0]).replace("\n ", "")


@pytest.mark.parametrize(("values", "error", "said"), [
    ([0, 4], OurError, r"line \d+, tid=\[1, 0, 0\] ctaid=\[0, 0, 0\]: too large, 5"),
    ([3, 0], AssertionError, r"tid=\[0, 0, 0\] ctaid=\[0, 0, 0\]: three"),
])  # fmt: skip
def test_with_debug_the_launch_raises_it_and_no_array_has_changed(values, error, said):
    x = np.array(values)
    with pytest.raises(error, match=said) as found:
        LOUD[1, 2](x)
    assert isinstance(found.value, HazardError)
    assert f"In function 'raises', file {raises.__code__.co_filename}" in str(found.value)
    assert x.tolist() == values
    LOUD[1, 2](np.array([0, 1]))


def test_of_a_device_function_numba_does_not_tell_which_it_was():
    with pytest.raises(SystemError, match="unknown error in native function: ValueError"):
        cuda.jit(by_a_device_function.py_func, debug=True, opt=False)[1, 1](np.array([-1]))


def no_class(x):
    raise x


def not_constant(x):
    raise ValueError(x[0])


def no_name(x):
    raise Nothing  # noqa: F821


@pytest.mark.parametrize(("function", "said"), [
    (no_class, "the 1-d array x cannot be raised"),
    (not_constant, "constant in a kernel"),
    (no_name, "`Nothing` is not defined"),
])  # fmt: skip
def test_what_cannot_be_raised_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros(1))
    assert error.value.line == function.__code__.co_firstlineno + 1


def test_a_kernel_that_only_this_machine_refuses_can_be_defined():
    @cuda.jit("void(float64[:])")
    def with_a_match(x):
        match x.size:
            case 1:
                x[0] = 1

    with pytest.raises(KernelError, match="cannot contain `match`"):
        with_a_match[1, 1](np.zeros(1))
    with pytest.raises(CompileError, match="an index must be an integer"):

        @cuda.jit("void(float64[:])")
        def that_numba_refuses(x):
            x[1.5] = 1
