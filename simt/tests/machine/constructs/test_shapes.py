"""Other shapes of the same memory, and arrays from outside: the oracle is NumPy."""

import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import CompileError


def reshaped(x, out, n):
    a = x.reshape(n, -1)
    b = x.reshape((3, 2, 2))
    out[0] = a[1, 2] + 10 * b[2, 1, 0] + 100 * b[1:, 0][1, 1] + 1000 * x[1].reshape(2, 2)[1, 0]
    out[1] = a.shape[1] + b.size + x[1:].reshape(-1)[3] + x.reshape(12)[-1]
    b[0, 1, 1] = -1
    a[0, :2] = 5


def flat(x, out, n):
    out[0] = x.flat[n] + x.flat[-1] + x.T.flat[4] + x[:, ::2].flat[3] + x[1].flat[2]
    total = 0.0
    for v in x[1:, 1:].flat:
        total += v
    out[1] = total


def reinterpreted(x, out, n):
    bits = x.view(np.int64)
    out[0] = bits[1, n] // 2**40
    half = x[1].view(np.float32)
    out[1] = half.shape[0] + half[3]
    bits[0, 0] = 4607182418800017408  # 1.0


def properties(x, out, n):
    out[0] = x.nbytes + 1000 * x.itemsize + x.transpose()[n, 1]
    out[1] = x[0, 1:2].item() + x.real[1, 1] + x.T.T[2, 3] + x.ndim


@pytest.mark.parametrize("function", [reshaped, flat, reinterpreted, properties])
def test_shapes_are_numpys(function):
    x, out = np.arange(12.0).reshape(3, 4), np.zeros(2)
    wanted = x.copy(), out.copy()
    cuda.jit(function)[1, 1](x, out, 2)
    function(*wanted, 2)
    np.testing.assert_array_equal(x, wanted[0])
    np.testing.assert_array_equal(out, wanted[1])


@cuda.jit
def bytes_as_numbers(x, start, stop, out):
    out[0] = x[start:stop].view(np.int32)[0]


def test_bytes_are_read_as_numbers():
    x, out = np.arange(64, dtype=np.uint8), np.zeros(1, np.int32)
    for start in range(0, 64, 4):
        bytes_as_numbers[1, 1](x, start, start + 4, out)
        assert out[0] == x[start : start + 4].view(np.int32)[0]


@cuda.jit
def in_other_memory(out):
    i = cuda.threadIdx.x
    tile = cuda.shared.array((2, 3), np.float32)
    mine = cuda.local.array((2, 3), np.float64)
    tile.fill(2)
    mine[:] = 0
    cuda.syncthreads()
    mine.reshape(6)[4] = i
    if i == 0:
        tile.reshape(6)[5] = 7
    cuda.syncthreads()
    out[i] = tile[1, 2] + 10 * mine[1, 1] + tile.view(np.int32).flat[0] // 2**30


def test_shared_and_local_arrays_have_other_shapes():
    out = np.zeros(4)
    in_other_memory[1, 4](out)
    assert out.tolist() == [8, 18, 28, 38]


@cuda.jit
def parts_of_complex(z, out):
    i = cuda.threadIdx.x
    cuda.atomic.add(z.real, 0, 1.5)
    z.imag[i] = 10 + i
    out[i] = z.real[1] + z.imag[i]


def test_the_parts_of_complex_numbers_are_arrays_of_their_own():
    z, out = np.arange(4) + 1j, np.zeros(4)
    parts_of_complex[1, 4](z, out)
    assert z.tolist() == [6 + 10j, 1 + 11j, 2 + 12j, 3 + 13j]
    assert out.tolist() == [11, 12, 13, 14]


DEVICE = cuda.to_device(np.arange(4.0))
NUMBER = cuda.to_device(np.array(42.0))


@cuda.jit(device=True)
def from_outside(i):
    return 2 * DEVICE[i]


@cuda.jit
def device_arrays(out):
    i = cuda.grid(1)
    out[i] = from_outside(i) + NUMBER[()]
    DEVICE[i] = 10 * i


def test_device_arrays_from_outside_are_read_and_written():
    out = cuda.device_array(4)
    device_arrays[1, 4](out)
    assert out.copy_to_host().tolist() == [42, 44, 46, 48]
    assert DEVICE.copy_to_host().tolist() == [0, 10, 20, 30]
    assert not profile(device_arrays, 1, 4, out).hazards


@cuda.jit
def counted(h, x):
    cuda.atomic.add(h, x[cuda.grid(1)], 1)


def test_the_index_of_an_atomic_is_cut_to_an_integer():
    h = np.zeros(3, np.int64)
    counted[1, 5](h, np.array([0.9, 1.0, 1.99, 2.5, -0.5]))
    assert h.tolist() == [2, 2, 1]
    counted[1, 2](h, np.array([True, True]))
    assert h.tolist() == [2, 4, 1]


@cuda.jit
def wrong_size(x, out):
    out[0] = 1
    out[1] = x.reshape(5, 2)[0, 0]


@cuda.jit
def outside(x, out):
    out[0] = x[7].reshape(4)[0]


def test_a_shape_of_another_size_is_an_error_and_bounds_are_checked_all_the_same():
    out = np.full(2, -1.0)
    wrong_size[1, 1](np.zeros((3, 4)), out)
    assert out.tolist() == [1, -1]
    with pytest.raises(ValueError, match="total size of new array must be unchanged"):
        cuda.jit(wrong_size.py_func, debug=True, opt=False)[1, 1](np.zeros((3, 4)), out)
    with pytest.raises(IndexError, match="index 7 on axis 0 of x, whose length there is 3"):
        outside[1, 1](np.zeros((3, 4)), out)


def not_contiguous(x):
    x[0, 0] = x.T.reshape(12)[0]


def no_dtype(x):
    x[0, 0] = x.view(3)[0, 0]


def no_attribute(x):
    x[0, 0] = x.nothing


def not_a_float(x):
    x[0, 0] = x.reshape(3.0, 4)[0, 0]


@pytest.mark.parametrize(("function", "said"), [
    (not_contiguous, "supports contiguous array only"),
    (no_dtype, "an int64 is no dtype"),
    (no_attribute, r"no \.nothing"),
    (not_a_float, "an integer is needed, not a float64"),
])  # fmt: skip
def test_what_numba_refuses_of_shapes_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](np.zeros((3, 4)))
    assert error.value.line == function.__code__.co_firstlineno + 1
