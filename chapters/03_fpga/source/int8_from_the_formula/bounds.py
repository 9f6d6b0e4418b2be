"""Interval bounds: how large can an accumulator get, whatever the image? Its width follows.

A sum acc = b + sum_i w_i x_i of fixed weights, whose inputs lie in intervals [low_i, high_i], is
largest when each input makes its own product largest:

    largest   acc = b + sum_i max(w_i low_i, w_i high_i)
    smallest  acc = b + sum_i min(w_i low_i, w_i high_i)

The inputs are independent of each other in this argument, so one input attains the bound: it is
the least one that holds for all inputs. Where every interval contains 0, as here, the products so
far lie in the same interval in whatever order they are added, once b is there. (If b comes last,
a register of that width may wrap on the way; in two's complement the result is right again.)

Bounds go through a layer: requantisation and ReLU never turn two numbers round, so the ends of an
interval give the ends of the next. Lesson int8_from_the_formula derives this.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from labkit.fpga.integers.requantize import INT8, requantize
from labkit.fpga.quantize import QuantizedConvNet


@dataclass(frozen=True)
class Bounds:
    """What the accumulator of each channel can reach: low[K] and high[K], int64."""

    low: np.ndarray
    high: np.ndarray

    @property
    def bits(self) -> int:
        """The width that serves every channel of the layer."""
        return signed_bits(int(self.low.min()), int(self.high.max()))


@dataclass(frozen=True)
class LayerBounds:
    """The bounds of one layer of a network, with the interval of each of its inputs."""

    name: str
    products: int  # summed for one output
    input_low: np.ndarray  # [C], or [D] of a fully connected layer
    input_high: np.ndarray
    acc: Bounds

    @property
    def bits_of_any_weights(self) -> int:
        """The width that would serve every choice of int8 weights, without their biases."""
        largest = self.products * 128 * 128
        return signed_bits(-largest, largest)


def signed_bits(low: int, high: int) -> int:
    """The width in two's complement that holds every integer from low to high.

    n bits hold -2^(n-1) to 2^(n-1) - 1.
    """
    bits = 1
    while low < -(2 ** (bits - 1)) or high > 2 ** (bits - 1) - 1:
        bits += 1
    return bits


def accumulator_bounds(
    weights: np.ndarray,
    bias: np.ndarray,
    low: np.ndarray | int = INT8[0],
    high: np.ndarray | int = INT8[1],
) -> Bounds:
    """What the sums of weights[K,C,...] and bias[K] can reach, for inputs from low[C] to high[C].

    One number for low or high stands for all channels. Raises ValueError where 0 is not in the
    interval: a frame of padding is 0.
    """
    low = np.broadcast_to(np.asarray(low, dtype=np.int64), weights.shape[1:2])
    high = np.broadcast_to(np.asarray(high, dtype=np.int64), weights.shape[1:2])
    if (low > 0).any() or (high < 0).any():
        raise ValueError("accumulator_bounds: each input's interval must contain 0, as padding is.")
    taps = weights.reshape(*weights.shape[:2], -1).astype(np.int64)  # [K,C,R S]
    one_end = taps * low[:, None]
    other_end = taps * high[:, None]
    bias = np.asarray(bias, dtype=np.int64)
    smallest = bias + np.minimum(one_end, other_end).sum(axis=(1, 2))
    largest = bias + np.maximum(one_end, other_end).sum(axis=(1, 2))
    return Bounds(smallest, largest)


def network_bounds(quantized: QuantizedConvNet) -> list[LayerBounds]:
    """The bounds of conv1, conv2, fc1 and fc2, for every image whatever.

    An image may hold any int8. Max-pooling keeps each channel's interval, and flattening
    repeats it for every pixel.
    """
    low, high = (np.full(3, end) for end in INT8)
    found = []
    for layer in quantized.layers:
        channels = layer.weights.shape[1]
        low = np.repeat(low, channels // len(low))  # flattened: channels, then rows, then columns
        high = np.repeat(high, channels // len(high))
        acc = accumulator_bounds(layer.weights, layer.bias, low, high)
        found.append(LayerBounds(layer.name, prod(layer.weights.shape[1:]), low, high, acc))
        if layer.multiplier is not None:
            ends = np.stack([acc.low, acc.high])  # [2,K]
            low, high = requantize(ends, layer.multiplier, layer.shift, low=0)
    return found
