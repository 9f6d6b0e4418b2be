"""Interval bounds: attained exactly by the worst input, never passed by any other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga.integers.integer_layers import conv2d, linear
from labkit.fpga.quantize import quantize
from labkit_lessons.fpga.int8_from_the_formula.bounds import (
    accumulator_bounds,
    network_bounds,
    signed_bits,
)
from tests.fpga.random_layers import random_int8, random_layer


@pytest.fixture(scope="module")
def quantized():
    return quantize(convnet.load_weights(), cifar10("sample").train.images[:60])


def worst(weights, low, high):
    """The inputs, in Python, that make each product of one channel's weights largest."""
    return [h if w > 0 else l for w, l, h in zip(weights, low, high, strict=True)]


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 9))
def test_the_worst_input_attains_the_bound_and_no_other_passes_it(seed, K, D):
    rng = np.random.default_rng(seed)
    w = rng.integers(-128, 128, (K, D)).astype(np.int8)
    b = rng.integers(-(2**20), 2**20, K).astype(np.int32)
    low, high = rng.integers(-128, 1, D), rng.integers(0, 128, D)
    bounds = accumulator_bounds(w, b, low, high)
    for k in range(K):
        most = np.array([worst(w[k], low, high)], np.int8)
        least = np.array([worst(-w[k].astype(int), low, high)], np.int8)
        assert linear(most, w, b)[0, k] == bounds.high[k]
        assert linear(least, w, b)[0, k] == bounds.low[k]
    x = rng.integers(low, high + 1, (200, D)).astype(np.int8)
    acc = linear(x, w, b)
    assert (bounds.low <= acc).all() and (acc <= bounds.high).all()


@pytest.mark.parametrize("k", [0, 17, 63])
def test_a_convolutions_bound_is_attained_by_one_window(k):
    layer = random_layer("conv2", 4)
    bounds = accumulator_bounds(layer.weights, layer.bias)
    window = np.where(layer.weights[k] > 0, 127, -128).astype(np.int8)
    assert conv2d(window[None], layer.weights, layer.bias)[0, k, 0, 0] == bounds.high[k]


def test_on_the_way_no_order_of_the_products_passes_the_bound():
    layer = random_layer("conv1", 1)
    bounds = accumulator_bounds(layer.weights, layer.bias)
    rng = np.random.default_rng(0)
    for k in range(8):
        x = random_int8(k, 27).astype(np.int64)
        products = rng.permutation(x * layer.weights[k].ravel())
        on_the_way = layer.bias[k] + np.cumsum(products)
        assert bounds.low[k] <= on_the_way.min() and on_the_way.max() <= bounds.high[k]


@pytest.mark.parametrize(
    "low, high, bits",
    [(0, 0, 1), (-1, 0, 1), (0, 1, 2), (-128, 127, 8), (-129, 0, 9), (0, 128, 9), (5, 7, 4)],
)
def test_signed_bits_is_the_least_width(low, high, bits):
    assert signed_bits(low, high) == bits


@given(st.integers(-(2**40), 2**40), st.integers(0, 2**40))
def test_signed_bits_holds_both_ends_and_one_less_does_not(low, more):
    bits = signed_bits(low, low + more)
    holds = [-(2 ** (n - 1)) <= low and low + more < 2 ** (n - 1) for n in (bits - 1, bits)]
    assert holds == [False, True] or (bits == 1 and holds[1])


def test_no_accumulator_of_the_network_overflows_int32_and_one_dsp_takes_each(quantized):
    found = {layer.name: layer for layer in network_bounds(quantized)}
    assert list(found) == ["conv1", "conv2", "fc1", "fc2"]
    assert {name: layer.products for name, layer in found.items()} == {
        "conv1": 27,
        "conv2": 288,
        "fc1": 4096,
        "fc2": 128,
    }
    for layer in found.values():
        assert layer.acc.bits <= 25 <= 32
        assert layer.acc.bits <= layer.bits_of_any_weights
    assert found["fc1"].bits_of_any_weights == 28  # 4,096 * 2^14 = 2^26, and its negative


def test_the_networks_bounds_hold_for_noise_and_for_images_and_follow_from_the_weights(quantized):
    rng = np.random.default_rng(2)
    noise = rng.choice([-128, 127], (10, 3, 32, 32)).astype(np.int8)
    for images in (noise, cifar10("sample").test.images[:40]):
        seen = quantized.activations(images)
        for layer in network_bounds(quantized):
            acc = np.moveaxis(seen[layer.name], 1, -1).reshape(-1, len(layer.acc.low))
            assert (layer.acc.low <= acc).all() and (acc <= layer.acc.high).all()
    by_name = {layer.name: layer for layer in network_bounds(quantized)}
    for source, layer in (("pool1", "conv2"), ("flat", "fc1"), ("relu3", "fc2")):
        channels = np.moveaxis(seen[source], 1, -1)
        assert (channels >= by_name[layer].input_low).all()
        assert (channels <= by_name[layer].input_high).all()
    taps = quantized.weights["conv1.weight"].astype(int).reshape(32, -1)
    highest = quantized.weights["conv1.bias"] + np.maximum(127 * taps, -128 * taps).sum(axis=1)
    np.testing.assert_array_equal(by_name["conv1"].acc.high, highest)


def test_an_interval_without_0_is_refused():
    with pytest.raises(ValueError, match="must contain 0, as padding is"):
        accumulator_bounds(random_int8(0, 2, 3), np.zeros(2, np.int32), low=1, high=5)
