"""The stand-in for CuPy: its arrays go into kernels, compute as NumPy's, and stay on the device."""

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt import cupy as cp
from numba_simt.errors import Missing, UsageError

pytest.importorskip("numba")


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_kernels_write_into_arrays():
    host = np.arange(5, dtype=np.float32)
    x = cp.asarray(host)
    add_one[1, 32](x)
    add_one[1, 32](x[1:3])
    assert cp.asnumpy(x).tolist() == [1, 3, 4, 4, 5] and host.tolist() == [0, 1, 2, 3, 4]
    assert cp.asarray(x).memory is x.memory and cp.array(x).memory is not x.memory
    assert cuda.to_device(x) is x and cuda.as_cuda_array(x).memory is x.memory
    assert (x.shape, x.dtype, x.ndim, x.nbytes, len(x)) == ((5,), np.float32, 1, 20, 5)


def test_arrays_are_made():
    assert cp.zeros((2, 3), cp.int32).get().tolist() == [[0] * 3] * 2
    assert cp.ones(2).dtype == cp.float64 and cp.full(2, 7).get().tolist() == [7, 7]
    assert cp.arange(0, 1, 0.25).get().tolist() == [0, 0.25, 0.5, 0.75]
    assert np.isnan(cp.empty(3).get()).all() and cp.empty(2, cp.uint8).get().tolist() == [255] * 2
    assert isinstance(cp.zeros_like(cp.ones(3)), cp.ndarray)
    x = cp.random.rand(4, 2)
    assert isinstance(x, cp.ndarray) and x.shape == (4, 2)


def test_they_compute_as_numpys():
    a = np.arange(6.0).reshape(2, 3)
    x = cp.asarray(a)
    for found, expected in (
        (x + 1, a + 1),
        (2 / (x + 1), 2 / (a + 1)),
        (x @ x.T, a @ a.T),
        (-x > -3, -a > -3),
        (x.sum(axis=0), a.sum(axis=0)),
        (cp.sqrt(x), np.sqrt(a)),
        (np.sqrt(x), np.sqrt(a)),
        (cp.concatenate([x, x]), np.concatenate([a, a])),
        (cp.where(x > 2, x, 0), np.where(a > 2, a, 0)),
        (x[x > 2], a[a > 2]),
        (x[:, ::-1].astype(cp.float32), a[:, ::-1].astype(np.float32)),
        (x.reshape(-1), a.reshape(-1)),
        (cp.linalg.norm(x), np.linalg.norm(a)),
        (cp.fft.fft(x), np.fft.fft(a)),
        (next(iter(x)), a[0]),
    ):
        assert isinstance(found, cp.ndarray)
        np.testing.assert_array_equal(cp.asnumpy(found), expected)
    total = x.sum()
    assert total.shape == () and float(total) == 15 and int(total) == 15 and total == 15
    assert f"{total:.1f}" == "15.0" and str(x) == str(a) and repr(total) == "array(15.)"
    x += 1
    x[0] = x[1]
    x[1, 0] = 9
    assert x.get().tolist() == [[4, 5, 6], [9, 5, 6]]
    assert cp.add(x, 1, out=x) is x and x.get()[1, 0] == 10


def test_streams_devices_and_pools():
    cp.cuda.Stream.null.synchronize()
    with cp.cuda.Device(0) as device, cp.cuda.Stream():
        device.synchronize()
    assert cp.ones(3).device.id == 0
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    end.record()
    assert cp.cuda.get_elapsed_time(start, end) >= 0
    assert cp.cuda.runtime.getDeviceCount() == 1 and cp.cuda.is_available()
    assert cp.is_available() and int(cp.__version__.split(".")[0]) >= 13
    assert cp.get_default_memory_pool().free_all_blocks() is None
    assert cp.get_array_module(cp.ones(1)) is cp and cp.get_array_module(np.ones(1)) is np


def test_what_is_refused_is_named():
    x = cp.ones(3)
    for use, why in (
        (lambda: cp.RawKernel("", "f"), r"no cupy\.RawKernel"),
        (lambda: x.tofile("f"), "no 'tofile'"),
        (lambda: x.unknown, "no 'unknown'"),
    ):
        with pytest.raises(Missing, match=why):
            use()
    for use, why in (
        (lambda: np.asarray(x), "use asnumpy"),
        (lambda: x + np.ones(3), "not of NumPy"),
        (lambda: cp.sum(np.ones(3)), "not of NumPy"),
        (lambda: cp.cuda.Device(1), "there is no device 1"),
    ):
        with pytest.raises(UsageError, match=why):
            use()
    assert not hasattr(cp, "ElementwiseKernel") and not hasattr(x, "__cuda_array_interface__")
