"""Device memory: what the host can do with it. Numba's own simulator is the oracle where it can."""

import json
import os
import subprocess
import sys
import tracemalloc
from importlib.util import find_spec

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import KernelError, UsageError
from numba_simt.launching.arrays import DeviceArray

A = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_a_device_array_is_a_copy():
    host = A.copy()
    device = cuda.to_device(host)
    host[:] = 0
    np.testing.assert_array_equal(device.copy_to_host(), A)
    out = device.copy_to_host()
    out[:] = 0
    np.testing.assert_array_equal(device.copy_to_host(), A)
    np.testing.assert_array_equal(np.asarray(device), A)


def test_what_a_device_array_says_about_itself():
    d = cuda.to_device(A)
    assert (d.shape, d.strides, d.dtype, d.ndim) == (A.shape, A.strides, A.dtype, 2)
    assert (d.size, d.nbytes, len(d)) == (24, 96, 4)
    assert d.is_c_contiguous() and not d.is_f_contiguous() and d.flags["C_CONTIGUOUS"]
    assert cuda.to_device(np.asfortranarray(A)).is_f_contiguous()
    assert repr(d) == "DeviceArray(shape=(4, 6), dtype=float32)"
    assert d != A.tolist() and bool(d)
    assert (d.alloc_size, d[1:3, 2].alloc_size, d[:0].alloc_size) == (96, 28, 0)


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
@pytest.mark.parametrize("shape", [(), 0, 1, (2, 0), (3, 5), (2, 3, 4)])
def test_there_and_back(dtype, shape):
    values = np.random.default_rng(1).integers(0, 100, shape)
    host = np.asarray(values).astype(dtype)
    for order in "CF":
        back = cuda.to_device(np.asarray(host, order=order)).copy_to_host()
        assert back.dtype == host.dtype and back.shape == host.shape
        np.testing.assert_array_equal(back, host)


def test_slices_are_views_of_the_same_memory():
    d = cuda.to_device(A)
    row, column, part = d[1], d[:, 2], d[1:3, ::2]
    assert isinstance(d[2, 3], np.float32) and d[2, 3] == A[2, 3] and d[-1, -1] == 23
    np.testing.assert_array_equal(part.copy_to_host(), A[1:3, ::2])
    d[1, 2] = 99
    assert row[2] == 99 and column[1] == 99 and part[0, 1] == 99
    part[:] = -1
    np.testing.assert_array_equal(d.copy_to_host()[1:3, ::2], -1)
    assert d[0, 0] == 0


def test_assignment_takes_numbers_host_and_device_arrays():
    d = cuda.to_device(A)
    d[0] = 7
    d[1] = np.arange(6)
    d[2] = cuda.to_device(np.full(6, 3.0))
    d[3, :2] = [1, 2]
    expected = A.copy()
    expected[0], expected[1], expected[2], expected[3, :2] = 7, np.arange(6), 3, [1, 2]
    np.testing.assert_array_equal(d.copy_to_host(), expected)
    with pytest.raises(ValueError):
        d[0] = np.zeros(5)


def test_views_alias_and_never_copy():
    d = cuda.to_device(A)
    for view in (d.ravel(), d.reshape(24), d.reshape((2, 12)), d.reshape(-1, 8), d.view(np.int32)):
        assert isinstance(view, DeviceArray)
        np.testing.assert_array_equal(view.view(np.float32).copy_to_host().ravel(), A.ravel())
    d.ravel()[5] = -5
    assert d[0, 5] == -5
    assert d.reshape(1, 24).squeeze().shape == (24,)
    assert d.reshape(6, 4, order="C").shape == (6, 4)
    for refused in (lambda: d[:, 1:3].ravel(), lambda: d[:, :4:2].reshape(8), lambda: d[[0, 2]]):
        with pytest.raises(UsageError, match="copy"):
            refused()


def test_a_transpose_is_an_array_of_its_own():
    d = cuda.to_device(A)
    t = d.T
    np.testing.assert_array_equal(t.copy_to_host(), A.T)
    assert t.is_c_contiguous()
    t[0, 0] = 100
    assert d[0, 0] == 0
    with pytest.raises(UsageError, match="2-D"):
        d.ravel().transpose()


def test_split():
    parts = list(cuda.to_device(np.arange(10)).split(4))
    assert [p.copy_to_host().tolist() for p in parts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_copies_need_the_same_dtype_shape_and_order():
    d = cuda.to_device(A)
    into = np.empty_like(A)
    assert d.copy_to_host(into) is into
    np.testing.assert_array_equal(into, A)
    d.copy_to_device(2 * A)
    np.testing.assert_array_equal(d.copy_to_host(), 2 * A)
    d.copy_to_device(np.asfortranarray(3 * A))  # put into the device array's order
    np.testing.assert_array_equal(d.copy_to_host(), 3 * A)
    d.copy_to_device(cuda.to_device(A))
    np.testing.assert_array_equal(d.copy_to_host(), A)
    d.reshape(4, 6, 1).copy_to_device(A)  # axes of length 1 do not count
    for wrong in (A.astype(np.float64), A[:3], A.T, np.asfortranarray(A)):
        with pytest.raises(ValueError, match=r"same (dtype|shape|strides)"):
            d.copy_to_host(wrong)
    for wrong in (A.astype(np.float64), A[:3], A.T):
        with pytest.raises(UsageError, match=r"same (dtype|shape)"):
            d.copy_to_device(wrong)
    with pytest.raises(UsageError, match="not contiguous"):
        d[:, 1:3].copy_to_device(A[:, 1:3])
    np.testing.assert_array_equal(d.copy_to_host(), A)


def test_to_device_to_an_array_and_without_a_copy():
    d = cuda.device_array(A.shape, np.float32)
    assert cuda.to_device(A, to=d) is d
    np.testing.assert_array_equal(d.copy_to_host(), A)
    assert cuda.to_device(d) is d
    fresh = cuda.to_device(A, copy=False)
    assert fresh.shape == A.shape and np.isnan(fresh.copy_to_host()).all()
    assert cuda.to_device([1, 2, 3]).dtype == np.int64
    assert cuda.to_device(2.5).shape == ()


def test_memory_that_nobody_wrote_shows():
    assert np.isnan(cuda.device_array(3, np.float16).copy_to_host()).all()
    assert np.isnan(cuda.device_array((2, 2)).copy_to_host()).all()
    assert (cuda.device_array(3, np.int8).copy_to_host() == -1).all()
    assert (cuda.pinned_array(3, np.uint16) == 65535).all()
    assert cuda.device_array(3, bool).copy_to_host().all()


@pytest.mark.parametrize("make", [cuda.device_array, cuda.pinned_array, cuda.mapped_array])
def test_arrays_in_either_order(make):
    assert make((3, 4), np.int32, order="F").strides == (4, 12)
    assert make((3, 4), np.int32, strides=(4, 12)).strides == (4, 12)
    assert make(5).dtype == np.float64
    for shape in (4.0, (2, 3.0)):
        with pytest.raises(TypeError):
            make(shape)


def test_arrays_like_others():
    for model in (A, np.asfortranarray(A), A.T, A[:, ::2], cuda.to_device(A), cuda.to_device(A)[1]):
        d = cuda.device_array_like(model)
        assert isinstance(d, DeviceArray) and (d.shape, d.dtype) == (model.shape, model.dtype)
        assert d.flags.forc
    assert cuda.device_array_like(np.asfortranarray(A)).is_f_contiguous()
    assert type(cuda.pinned_array_like(A)) is np.ndarray
    assert cuda.mapped_array_like(A).shape == cuda.managed_array((4, 6)).shape


def test_mapped_memory_is_shared():
    a, b = A.copy(), A.copy()
    with cuda.mapped(a) as d, cuda.mapped(a, b) as (_, e), cuda.pinned(a):
        d[0, 0], e[0, 0] = 5, 6
    assert (a[0, 0], b[0, 0]) == (5, 6)
    m = cuda.mapped_array(3)
    cuda.as_cuda_array(m)[1] = 4
    assert m[1] == 4 and cuda.is_cuda_array(m) and not cuda.is_cuda_array(A)
    d = cuda.to_device(A)
    cuda.as_cuda_array(d)[0, 0] = 8
    assert d[0, 0] == 8
    with pytest.raises(TypeError, match="to_device"):
        cuda.as_cuda_array(A)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (np.zeros(2, object), "holds object"),
        (np.zeros(2, "U3"), "holds <U3"),
        (np.zeros(2, "M8[s]"), r"holds datetime64\[s\]"),
        (np.zeros(2, [("a", object)]), "holds .*'a'"),
        (np.zeros(2, ">f4"), "native byte order"),
        (np.zeros(2, np.longdouble), "holds (float128|longdouble)"),
        (A[:, ::2], r"not contiguous: .*\(24, 8\) B"),
        (A[::-1], "ascontiguousarray"),
        (np.broadcast_to(np.zeros(3), (2, 3)), "not contiguous"),
        (np.ma.zeros(3), "masked"),
        ([1, [2, 3]], "no array of numbers"),
        ("text", "holds <U4"),
        (None, "holds object"),
    ],
)
def test_what_cannot_go_to_the_device(wrong, said):
    with pytest.raises(UsageError, match=said) as error:
        cuda.to_device(wrong)
    assert isinstance(error.value, KernelError | ValueError | TypeError)


def test_refused_dtypes_are_not_allocated_either():
    for make in (cuda.device_array, cuda.pinned_array, cuda.managed_array):
        with pytest.raises(UsageError, match="holds object"):
            make(3, object)
    with pytest.raises(UsageError, match="holds >i4"):
        cuda.device_array(4, np.int32).view(">i4")


def test_what_a_device_array_does_not_do():
    d = cuda.to_device(A)
    with pytest.raises(AttributeError, match=r"no 'sum': use copy_to_host\(\)"):
        d.sum()
    with pytest.raises(TypeError):
        d + d
    with pytest.raises(ValueError, match="copy=False"):
        d.__array__(copy=False)
    with pytest.raises(IndexError):
        d[4]
    assert np.asarray(d, np.float64).dtype == np.float64


def test_tensors():
    torch = pytest.importorskip("torch")
    t = torch.arange(6, dtype=torch.float32).requires_grad_()
    np.testing.assert_array_equal(cuda.to_device(t).copy_to_host(), np.arange(6))
    with pytest.raises(UsageError, match="no array of numbers"):
        cuda.to_device(torch.zeros(2, dtype=torch.bfloat16))


PROGRAM = """
import json
import sys
import numpy as np
from {module} import cuda

said = []
def say(d):
    h = d.copy_to_host() if hasattr(d, "copy_to_host") else np.asarray(d)
    said.append([str(h.dtype), list(h.shape), list(map(float, h.ravel()))])

a = np.arange(24, dtype=np.float32).reshape(4, 6)
for source in (a, np.asfortranarray(a), a[1:3], np.arange(5), np.float64(3)):
    d = cuda.to_device(source)
    say(d), say(d.reshape(-1) if d.is_c_contiguous() else d), say(cuda.to_device(d))
d = cuda.to_device(a)
for index in (0, -1, slice(1, 3), (slice(None), 2), (slice(0, 4, 3), slice(1, 6, 2)), (2, 3)):
    say(d[index])
    d[index] = 50
    say(d)
d[1:3, 2] = np.array([7, 8], np.float32)
view = d[1:3]
view[0, 0] = -1
say(d), say(d.ravel()), say(d.reshape(3, 8)), say(d.view(np.int32)), say(d.T)
for part in d.ravel().split(7):
    say(part)
h = np.zeros_like(a)
d.copy_to_host(h), say(h)
d.copy_to_device(a * 2), say(d)
for wrong in (lambda: d.copy_to_host(np.zeros(3, np.float32)), lambda: d.copy_to_device(a[:2]),
              lambda: d.copy_to_host(a.astype(np.float64)), lambda: cuda.to_device(a[:, ::2])):
    try:
        wrong()
        said.append("accepted")
    except (ValueError, TypeError) as error:
        said.append([c.__name__ for c in (ValueError, TypeError) if isinstance(error, c)])
print(json.dumps(said))
"""


@pytest.mark.skipif(not find_spec("numba"), reason="numba is the oracle")
def test_numbas_simulator_does_the_same():
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    results = []
    for module in ("numba", "numba_simt"):
        command = [sys.executable, "-c", PROGRAM.format(module=module)]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        results.append(json.loads(run.stdout))
    numbas, ours = results
    for theirs, mine in zip(numbas, ours, strict=True):
        refused = mine and isinstance(mine[0], str) and "Error" in mine[0]
        assert set(theirs) <= set(mine) if refused else theirs == mine


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_a_host_array_is_copied_once():
    """The launch's private copy protects it; nothing else of its size is held."""
    x = np.zeros(2**21, np.float32)
    add_one[1, 32](x)  # compiles
    tracemalloc.start()
    try:
        add_one[1, 32](x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert x.nbytes <= peak < 1.5 * x.nbytes
    assert (x[:32] == 2).all() and not x[32:].any()
