"""The golden model's layers: against Python's own integers, and PyTorch in float64 (exact here)."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional

from labkit.fpga.integers.integer_layers import conv2d, linear, maxpool2d, relu
from tests.fpga.random_layers import random_int8, random_layer

SHAPES = {  # x, w, padding
    "all sizes 1": ((1, 1, 1, 1), (1, 1, 1, 1), 0),
    "prime": ((2, 5, 13, 7), (3, 5, 3, 3), 0),
    "framed": ((2, 3, 5, 8), (4, 3, 3, 3), 1),
    "non-square kernel": ((1, 2, 6, 9), (3, 2, 2, 3), 0),
    "wide frame": ((1, 2, 4, 7), (3, 2, 2, 3), 3),
}


def in_python(x, w, b, padding):
    """The formula in Python's integers, one product at a time."""
    N, C, H, W = x.shape
    K, _, R, S = w.shape
    P, Q = H + 2 * padding - R + 1, W + 2 * padding - S + 1
    acc = np.zeros((N, K, P, Q), dtype=object)
    for n, k, p, q in np.ndindex(N, K, P, Q):
        total = int(b[k])
        for c, r, s in np.ndindex(C, R, S):
            i, j = p + r - padding, q + s - padding
            if 0 <= i < H and 0 <= j < W:
                total += int(w[k, c, r, s]) * int(x[n, c, i, j])
        acc[n, k, p, q] = total
    return acc


def biases(seed, K):
    return np.random.default_rng(seed).integers(-(2**20), 2**20, K).astype(np.int32)


@pytest.mark.parametrize("case", SHAPES)
def test_conv2d_is_the_formula_in_pythons_integers(case):
    x_shape, w_shape, padding = SHAPES[case]
    x, w, b = random_int8(1, *x_shape), random_int8(2, *w_shape), biases(3, w_shape[0])
    got = conv2d(x, w, b, padding)
    assert got.dtype == np.int32 and got.flags.c_contiguous
    assert got.tolist() == in_python(x, w, b, padding).tolist()


@pytest.mark.parametrize("name, seed", list(itertools.product(["conv1", "conv2"], range(3))))
def test_random_layers_of_the_networks_shapes_are_torchs(name, seed):
    layer = random_layer(name, seed)
    size = {"conv1": (2, 3, 32, 32), "conv2": (2, 32, 16, 16)}[name]
    x = random_int8(seed + 9, *size)
    as_double = [torch.tensor(a).double() for a in (x, layer.weights, layer.bias)]
    expected = functional.conv2d(*as_double, padding=1).numpy()
    np.testing.assert_array_equal(layer.accumulate(x), expected)
    scaled = expected * layer.multiplier.reshape(-1, 1, 1) / 2.0**layer.shift  # exact: < 2^53
    np.testing.assert_array_equal(layer(x), np.clip(np.floor(scaled + 0.5), 0, 127))
    assert layer(x).dtype == np.int8


@pytest.mark.parametrize("name", ["fc1", "fc2"])
def test_fully_connected_layers_are_torchs(name):
    layer = random_layer(name, 5)
    x = random_int8(6, 3, layer.weights.shape[1])
    x[0] = -128
    as_double = [torch.tensor(a).double() for a in (x, layer.weights, layer.bias)]
    np.testing.assert_array_equal(layer.accumulate(x), functional.linear(*as_double).numpy())


def test_the_largest_products_of_all_do_not_overflow():
    """4,096 times -128 * -128: 2^26, and the int8 operands themselves would overflow at once."""
    x = np.full((1, 4096), -128, np.int8)
    w = np.full((1, 4096), -128, np.int8)
    assert linear(x, w, np.zeros(1, np.int32)).tolist() == [[2**26]]


def test_relu_and_maxpool_keep_the_type_and_take_the_largest():
    x = random_int8(7, 2, 3, 4, 6)
    assert relu(x).dtype == maxpool2d(x).dtype == np.int8
    np.testing.assert_array_equal(relu(x), np.where(x > 0, x, 0))
    expected = functional.max_pool2d(torch.tensor(x).double(), 2).numpy()
    np.testing.assert_array_equal(maxpool2d(x), expected)


X, W, B = random_int8(1, 1, 2, 4, 4), random_int8(2, 3, 2, 3, 3), np.zeros(3, np.int32)
REFUSED = {
    "float images": (
        (X.astype(float), W, B),
        "conv2d: x holds float64; it must be an array of int8",
    ),
    "float weights": ((X, W.astype(np.float32), B), "w holds float32"),
    "int64 biases": ((X, W, B.astype(np.int64)), "b holds int64; it must be an array of int32"),
    "a list": (([[1]], W, B), "x holds list"),
    "another C": ((X[:, :1], W, B), r"C is 1 in x\[N,C,H,W\] but 2"),
    "too few axes": ((X[0], W, B), "has 3 axes"),
    "too few biases": ((X, W, B[:2]), "K is 3 in"),
    "no image": ((X[:0], W, B), r"x\[0,2,4,4\] is empty"),
    "a large kernel": ((X[:, :, :2], W, B), "does not fit into"),
    "a sum beyond int32": (
        (X, W, B + np.int32(2**31 - 1)),
        "a sum could reach 2147.*int32 does not hold",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_integer_convolution_is_refused_in_a_sentence(case):
    arguments, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        conv2d(*arguments)


def test_linear_and_maxpool_refuse_too():
    with pytest.raises(ValueError, match=r"linear: .* do not fit: D is 4 in"):
        linear(np.zeros((1, 4), np.int8), np.zeros((2, 5), np.int8), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match=r"x\[1,1,3,4\] must have even sides"):
        maxpool2d(np.zeros((1, 1, 3, 4), np.int8))
