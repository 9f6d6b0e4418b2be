"""labkit.gpu.kernels.places beside NumPy and the float64 oracle."""

import numpy as np
import pytest

from labkit import reference
from labkit.gpu.kernels.places import place, product, seen
from numba_simt import cuda


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 1), (3, 1, 7, 2)])
def test_a_place_is_the_row_major_index(shape):
    @cuda.jit
    def places(a, found):
        i = cuda.grid(1)
        if i < a.size:
            found[i, 0], found[i, 1], found[i, 2], found[i, 3] = place(i, a)

    a = np.zeros(shape)
    found = np.zeros((a.size, 4), np.int64)
    places[4, 64](a, found)
    assert np.array_equal(found, np.argwhere(np.ones(shape)))


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 2)])
def test_what_is_seen_is_the_pixel_or_the_frame(stride, padding):
    """With a single tap of 1, the convolution is what this tap sees."""

    @cuda.jit
    def through_tap(x, r, s, y):
        i = cuda.grid(1)
        if i < y.size:
            n, c, p, q = place(i, y)
            y[n, c, p, q] = seen(x, n, c, p, q, r, s, stride, padding)

    x = np.arange(1, 61, dtype=np.float32).reshape(2, 1, 5, 6)
    for r, s in np.ndindex(3, 2):
        w = np.zeros((1, 1, 3, 2))
        w[0, 0, r, s] = 1
        expected = reference.conv2d(x, w, None, stride, padding)
        y = np.zeros(expected.shape, np.float32)
        through_tap[2, 64](x, r, s, y)
        assert np.array_equal(y, expected)


def test_the_products_add_up_to_the_weights_gradient():
    @cuda.jit
    def add_up(dy, x, dw):
        i = cuda.grid(1)
        if i < dw.size:
            k, c, r, s = place(i, dw)
            for j in range(dy.shape[0] * dy.shape[2] * dy.shape[3]):
                dw[k, c, r, s] += product(j, k, c, r, s, dy, x, 2, 1)

    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, 7, 6), dtype=np.float32)
    w = np.zeros((4, 3, 3, 2))
    dy = random.standard_normal(reference.conv2d(x, w, None, 2, 1).shape, dtype=np.float32)
    _, expected, _ = reference.conv2d_backward(dy, x, w, 2, 1)
    dw = np.zeros(w.shape, np.float32)
    add_up[2, 64](dy, x, dw)
    assert np.allclose(dw, expected, atol=1e-4)
