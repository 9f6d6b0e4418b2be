"""Signatures given to cuda.jit, options, and what kernels of Numba have and ours have not."""

import operator

import numpy as np
import pytest
from kernels import far_away
from numba import njit, types

from numba_simt import cuda, profile
from numba_simt.errors import CompileError, KernelError
from numba_simt.execution.hazards import HazardError


def add(a, b):
    return a + b


def caller(device):
    """A kernel that calls the device function with its two numbers."""

    @cuda.jit
    def kernel(out, a, b):
        out[0] = device(a, b)

    return kernel


def test_a_device_functions_signature_casts_arguments_and_result():
    device = cuda.jit("int32(int32, int32)", device=True)(add)
    out = np.zeros(1)
    caller(device)[1, 1](out, 1.75, 2.75)
    assert out[0] == 3
    narrow = cuda.jit("int8(int64, int64)", device=True)(add)
    caller(narrow)[1, 1](out, 100, 100)
    assert out[0] == np.int64(200).astype(np.int8)


def test_a_device_function_without_a_result_type_infers_it():
    device = cuda.jit(["(int64, int64)", "(float64, float64)"], device=True)(add)
    out = np.zeros(1)
    caller(device)[1, 1](out, 1, 2.5)
    assert out[0] == 3.5
    with pytest.raises(CompileError, match=r"`add`: \(complex128, complex128\) does not fit"):
        caller(device)[1, 1](out, 1j, 1j)
    assert out[0] == 3.5


def test_of_several_signatures_the_best_is_taken():
    """The first that fits would round 2**-25 away."""

    @cuda.jit(["(float64[::1], float32, float32)", "(float64[::1], float64, float64)"])
    def kernel(out, a, b):
        out[0] = a + b

    out = np.zeros(1)
    kernel[1, 1](out, 1, 2**-25)
    assert out[0] == 1 + 2**-25


def test_equally_good_signatures_are_refused_at_a_launch():
    @cuda.jit(["(float64[::1], float32, float64)", "(float64[::1], float64, float32)"])
    def kernel(out, a, b):
        out[0] = a + b

    out = np.zeros(1)
    with pytest.raises(KernelError, match="equally well"):
        kernel[1, 1](out, 1.0, 2.0)
    assert out[0] == 0


def test_a_function_of_the_cpu_is_taken_unless_it_has_a_signature():
    out = np.zeros(1)
    caller(njit(add))[1, 1](out, 1, 2)
    assert out[0] == 3
    with pytest.raises(CompileError, match="compiled for the CPU with a signature"):
        caller(njit("int64(int64, int64)")(add))[1, 1](out, 1, 2)


@pytest.mark.parametrize("name", ["inspect_asm", "inspect_llvm", "stats", "specialize"])
def test_what_numbas_kernels_have_besides_is_named(name):
    kernel = caller(cuda.jit(device=True)(add))
    assert not hasattr(kernel, name)
    with pytest.raises(KernelError, match=f"{name}.*compile_ptx"):
        getattr(kernel, name)
    with pytest.raises(AttributeError, match=r"is it \.forall"):
        kernel.foral  # noqa: B018


def test_other_objects_name_what_they_lack():
    device = cuda.jit(device=True)(add)
    with pytest.raises(RuntimeError, match="only kernels are launched"):
        device[1, 1](1, 2)
    for thing, name in (
        (cuda.gpus[0], "get_ipc_handle"),
        (cuda.to_device(np.zeros(2)), "sum"),
        (caller(device)[1, 1], "pre_launch_callbacks"),
        (cuda.stream(), "priority"),
        (cuda.event(), "handle"),
        (caller(device).compile((types.float64[::1], types.int64, types.int64)), "inspect_asm"),
        (cuda.mapped_array(2), "__cuda_array_interface__"),
    ):
        assert not hasattr(thing, name)
        with pytest.raises(KernelError, match=r"[.:]"):
            getattr(thing, name)
    with pytest.raises(TypeError, match="inside a kernel only"):
        len(cuda.shared)
    with pytest.raises(NotImplementedError, match="runs backwards"):
        cuda.to_device(np.arange(4))[::-1].copy_to_host()


@pytest.mark.parametrize("share", [150, -2, 101, 1.5, "Invalid"])
def test_a_carveout_is_a_share(share):
    with pytest.raises(ValueError, match="between -1 and 100"):
        cuda.jit(shared_memory_carveout=share)(add)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
@pytest.mark.parametrize("divide", [operator.truediv, operator.floordiv, operator.mod])
def test_a_division_by_zero_stops_a_kernel_under_debug(dtype, divide):
    def kernel(out, x):
        out[0] = divide(x[1], x[0])
        out[1] = 1

    x, out = np.array([0, 1], dtype), np.zeros(2)
    with pytest.raises(ZeroDivisionError, match="divides"):
        cuda.jit(debug=True, opt=False)(kernel)[1, 1](out, x)
    assert out.tolist() == [0, 0]
    if dtype is not np.int32:
        cuda.jit(kernel)[1, 1](out, x)
        assert out[1] == 1


def test_fastmath_divides_by_zero_even_under_debug():
    @cuda.jit(debug=True, opt=False, fastmath=True)
    def kernel(out, x):
        out[0] = np.float32(1) / x[0]

    out = np.zeros(1, np.float32)
    kernel[1, 1](out, np.zeros(1, np.float32))
    assert np.isinf(out[0])


def test_a_second_shared_array_is_named_by_index():
    @cuda.jit
    def kernel(out):
        first = cuda.shared.array((4, 8), np.float32)
        second = cuda.shared.array((4, 8), np.float32)
        t = cuda.threadIdx.x
        first[0, t % 8] = 0
        out[t] = second[2, t % 8]

    hazards = profile(kernel, 1, 1, np.zeros(8, np.float32)).hazards
    assert [h.address for h in hazards] == ["second[2, 0]"]


def test_a_barrier_in_another_file_is_told_by_the_line_that_calls_it():
    @cuda.jit
    def kernel(x):
        t = cuda.threadIdx.x
        x[t] = far_away.total(x[t], t)  # the call

    x = np.zeros(32)
    with pytest.raises(HazardError) as caught:
        kernel[1, 32](x)
    said = str(caught.value)
    assert "x[t] = far_away.total(x[t], t)" in said and "inside total" in said
    assert "cuda.syncthreads()" in said


def test_a_refusal_in_another_file_is_told_by_the_line_that_calls_it():
    @cuda.jit
    def kernel(x):
        x[0] = far_away.unknown(x[0])

    with pytest.raises(CompileError, match=r"far_away.unknown.*inside unknown.*`nowhere`"):
        kernel[1, 1](np.zeros(1))


def test_a_device_function_declared_to_return_nothing_returns_nothing():
    device = cuda.jit("void(int64, int64)", device=True)(add)
    with pytest.raises(CompileError, match="returns a number, but its signature says none"):
        caller(device)[1, 1](np.zeros(1), 1, 2)


def test_rows_of_an_array_fit_a_signature_that_columns_do_not():
    @cuda.jit("float32(float32[::1])", device=True)
    def first_two(row):
        return row[0] + row[1]

    def rows(out, x):
        out[0] = first_two(x[1])

    def columns(out, x):
        out[0] = first_two(x[:, 1])

    x, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros(1)
    cuda.jit(rows)[1, 1](out, x)
    assert out[0] == 7
    with pytest.raises(CompileError, match="does not fit its signature"):
        cuda.jit(columns)[1, 1](out, x)


def test_what_cannot_be_called_is_named():
    things = [1]

    @cuda.jit
    def kernel(out):
        out[0] = things(1)

    with pytest.raises(CompileError, match=r"`\[1\]` cannot be called"):
        kernel[1, 1](np.zeros(1))
