"""vectorize and guvectorize for target='cuda', compared with NumPy."""

import math

import numpy as np
import pytest

import numba_simt
from numba_simt import cuda
from numba_simt.errors import CompileError, UsageError

numba = pytest.importorskip("numba")
vectorize, guvectorize = numba_simt.vectorize, numba_simt.guvectorize
F, D = np.float32, np.float64


@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def longer(a, b):
    """The length of a vector."""
    return math.sqrt(a * a + b * b)


@cuda.jit(device=True)
def half(x):
    return x / 2


@guvectorize(["void(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)", target="cuda")
def times(matrix, x, out):
    for i in range(matrix.shape[0]):
        out[i] = 0
        for k in range(matrix.shape[1]):
            out[i] += matrix[i, k] * x[k]


def test_names_and_other_targets():
    assert longer.__name__ == "longer" and "length" in longer.__doc__
    square = vectorize(["float64(float64)"], target="cpu")(lambda x: x * x)
    assert square(3.0) == 9 and type(square).__module__.startswith("numba.np")
    assert cuda.vectorize is vectorize and cuda.guvectorize is guvectorize


@pytest.mark.parametrize(
    ("a", "b"),
    [((7,), (7,)), ((3, 1), (4,)), ((2, 3, 4), (3, 1)), ((1,), (5,)), ((0,), (0,)), ((), (3,))],
)
@pytest.mark.parametrize("dtype", [F, D])
def test_shapes_broadcast_as_numpys(a, b, dtype):
    rng = np.random.default_rng(5)
    x, y = rng.random(a).astype(dtype), rng.random(b).astype(dtype)
    found = longer(x, y)
    expected = np.sqrt(x * x + y * y)
    assert isinstance(found, np.ndarray) and found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    on_device = longer(cuda.to_device(x), y)
    assert cuda.is_cuda_array(on_device)
    np.testing.assert_array_equal(on_device.copy_to_host(), expected)


def test_orders_scalars_and_outputs():
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(longer(x, 3), np.sqrt(x * x + 9))
    np.testing.assert_array_equal(longer(x.T[::2], x.T[1::2]), np.hypot(x.T[::2], x.T[1::2]))
    out = np.zeros((3, 4))
    assert longer(x, x, out=out, stream=cuda.stream()) is out
    np.testing.assert_array_equal(out, np.sqrt(2 * x * x))
    place = cuda.to_device(np.zeros((3, 4), order="F"))
    assert longer(x, x, out=place) is place
    np.testing.assert_array_equal(place.copy_to_host(), out)


def test_device_functions_closures_and_complex_numbers():
    factor = 3

    @vectorize(["complex64(complex64)"], target="cuda")
    def scaled(z):
        return half(z) * factor

    z = np.array([1 + 2j, -3j], np.complex64)
    np.testing.assert_allclose(scaled(z), 1.5 * z, rtol=1e-6)


def test_the_results_type_may_be_left_out():
    kinds = ["(int16, int16)", "(float32, int32)", (numba.uint8, numba.uint8)]

    @vectorize(kinds, target="cuda")
    def above(x, threshold):
        return x - threshold if x > threshold else x * 0

    @numba.njit
    def oracle(x, threshold):
        return x - threshold if x > threshold else x * 0

    for one, other in ((np.int16, np.int16), (F, np.int32), (np.uint8, np.uint8)):
        x, threshold = np.arange(10).astype(one), np.full(10, 4, other)
        found = above(x, threshold)
        expected = [oracle(*pair) for pair in zip(x, threshold, strict=True)]
        assert found.tolist() == expected
        assert str(oracle.nopython_signatures[-1].return_type) == str(found.dtype)


def test_the_signature_decides():
    with pytest.raises(UsageError, match=r"No matching version of longer.*called with \(int64"):
        longer(np.arange(3), np.arange(3))
    with pytest.raises(UsageError, match="several signatures"):
        longer(1, 2)
    assert longer(F(3), F(4)).dtype == F
    with pytest.raises(UsageError, match="cannot be broadcast"):
        longer(np.ones(3), np.ones(2))
    with pytest.raises(UsageError, match="`out` has the shape"):
        longer(np.ones(3), np.ones(3), out=np.ones(2))


def test_reduce():
    add = vectorize(["int32(int32, int32)", "float64(float64, float64)"], target="cuda")(
        lambda a, b: a + b
    )
    for n in (1, 2, 3, 7, 64, 1000, 1023):
        x = np.arange(n, dtype=np.int32)
        assert add.reduce(x) == x.sum()
        there = cuda.to_device(x)
        assert add.reduce(there, stream=cuda.stream()) == x.sum()
        assert np.array_equal(there.copy_to_host(), x)
    with pytest.raises(UsageError, match="1-D array"):
        add.reduce(np.ones((2, 2)))


def test_wrong_options_and_functions():
    def add(a, b):
        return a + b

    with pytest.raises(UsageError, match="not cached"):
        vectorize(["float64(float64, float64)"], target="cuda", cache=True)(add)
    with pytest.raises(UsageError, match="not supported: 'fastmath'"):
        vectorize(["float64(float64, float64)"], target="cuda", fastmath=True)(add)
    with pytest.raises(UsageError, match="needs the result's type"):
        vectorize([(numba.float64, numba.float64)], target="cuda")(lambda a, b: half(a))
    with pytest.raises(UsageError, match="has 1 arguments, but it takes"):
        vectorize(["float64(float64)"], target="cuda")(add)
    with pytest.raises(UsageError, match=r"No matching version of add: .* for nothing"):
        vectorize(target="cuda")(add)(1.0, 2.0)
    with pytest.raises(CompileError, match=r"inside sort, line \d+ \(`return sorted\(x\)`\)"):

        @vectorize(["float64(float64)"], target="cuda")
        def sort(x):
            return sorted(x)


@pytest.mark.parametrize("outer", [(), (5,), (2, 3)])
def test_a_gufunc_of_matrices(outer):
    rng = np.random.default_rng(1)
    matrix, x = rng.random((*outer, 4, 6)), rng.random((*outer, 6))
    expected = (matrix @ x[..., None])[..., 0]
    np.testing.assert_allclose(times(matrix, x), expected)
    out = np.zeros((*outer, 4))
    assert times(matrix, x, out=out) is out or np.shares_memory(times(matrix, x, out), out)
    np.testing.assert_allclose(out, expected)
    there = times(cuda.to_device(matrix), x)
    assert cuda.is_cuda_array(there) and there.shape == (*outer, 4)
    np.testing.assert_allclose(times(matrix, rng.random(6) * 0), 0 * expected)


def test_scalars_in_and_out_of_a_gufunc():
    @guvectorize(["void(int32[:], int32, int32[:])"], "(n),()->()", target="cuda")
    def count(x, wanted, out):
        for one in range(x.shape[0]):
            if x[one] == wanted:
                out[0] += 1

    x = np.array([[1, 2, 1], [2, 2, 2]], np.int32)
    out = cuda.to_device(np.zeros(2, np.int32))
    count(x, np.int32(2), out)
    assert out.copy_to_host().tolist() == [1, 3]


def test_gufuncs_refuse_what_does_not_fit():
    x = np.ones((3, 4, 6))
    for arguments, why in (
        ((x, np.ones(5)), "5 elements along n, another one 6"),
        ((np.ones(6), np.ones(6)), "needs 2 axes"),
        ((x, np.ones((2, 6))), r"has the axes \(2,\)"),
        ((x,), "takes 2 inputs"),
        ((x, np.ones(6), np.zeros((2, 4))), "An output has the shape"),
        ((np.ones((0, 4, 6)), np.ones((0, 6))), "no elements"),
    ):
        with pytest.raises(UsageError, match=why):
            times(*arguments)
    with pytest.raises(UsageError, match=r"no matching signature for \(float32, float64\)"):
        times(np.ones((4, 6), F), np.ones(6))  # Numba converts only to what holds less

    @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def copy(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i]

    assert copy(np.full(3, 0.1)).tolist() == [F(0.1)] * 3
    with pytest.raises(UsageError, match="is not converted"):
        copy(cuda.to_device(np.ones(3)))
    with pytest.raises(UsageError, match="each axis of an output"):
        guvectorize(["void(float64[:], float64[:])"], "(n)->(m)", target="cuda")(lambda a, b: None)
    with pytest.raises(UsageError, match="returns nothing"):
        guvectorize(["int32(int32[:], int32[:])"], "(n)->(n)", target="cuda")(lambda a, b: None)
