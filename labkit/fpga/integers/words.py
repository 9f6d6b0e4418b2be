"""A layer's arrays as the words of the RTL's streams, in its order, and back.

Words that go in are arrays [words, lanes], lane 0 the lowest bits of a word, as `simulate` takes
them; words that come out are as `simulate` gives them. Lesson a_convolution_as_a_stream.

Dense: an order of words is a shape, and a line names all of its axes.
"""

from collections.abc import Sequence

import numpy as np

from labkit.fpga.integers.packing import unpack

BIAS_BITS = 32


def pixel_words(x: np.ndarray) -> np.ndarray:
    """x[N,C,H,W] -> words[N*H*W, C]: a pixel with all its channels in each."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(-1, x.shape[1])


def conv_weight_words(w: np.ndarray, lanes: int, channel_lanes: int) -> np.ndarray:
    """w[K,C,3,3] -> words[., channel_lanes] in the order in which `conv3x3.sv` takes them.

    From the outside in: K in groups of `lanes`, C in groups of `channel_lanes`, the channels of
    the group of K, 9 taps. A word has one tap of one output channel, for the group of C.
    """
    K, C = w.shape[:2]
    grouped = w.reshape(K // lanes, lanes, C // channel_lanes, channel_lanes, 9)
    return grouped.transpose(0, 2, 1, 4, 3).reshape(-1, channel_lanes)


def linear_weight_words(w: np.ndarray, lanes: int, products: int = 1) -> np.ndarray:
    """w[K,D] -> words[., lanes * products] in the order in which `fully_connected.sv` takes them.

    From the outside in: D in groups of `products`, K in groups of `lanes`. A word has the weights
    of the group of K for the group of D, which counts fastest.
    """
    K, D = w.shape
    grouped = w.reshape(K // lanes, lanes, D // products, products)
    return grouped.transpose(2, 0, 1, 3).reshape(-1, lanes * products)


def term_words(x: np.ndarray, w: np.ndarray, lanes: int) -> np.ndarray:
    """x[D], w[K,D] -> words[K / lanes * D, lanes + 1] as a multiply-accumulate array takes them.

    All inputs once for each group of `lanes` outputs. A word has the input, and above it the weight
    of each lane.
    """
    K, D = w.shape
    weights = w.reshape(K // lanes, lanes, D).transpose(0, 2, 1).reshape(-1, lanes)
    inputs = np.tile(x, K // lanes)
    return np.concatenate([inputs[:, None], weights], axis=1)


def ends(length: int, packets: int) -> np.ndarray:
    """The `last` of so many packets of one length: 1 at the last word of each."""
    last = np.zeros((packets, length), np.uint8)
    last[:, -1] = 1
    return last.ravel()


def sum_words(sums: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
    """sums[n] int32, multiplier[n] below 2^16 -> words[n], 48 bits, the sum in the low 32."""
    return multiplier.astype(np.int64) << BIAS_BITS | sums.astype(np.int64) & (1 << BIAS_BITS) - 1


def parameter_words(bias: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
    """bias[K] int32, multiplier[K] below 2^16 -> words[K], 48 bits, as `requantize.sv` takes them.

    The bias is in the low 32 bits.
    """
    return sum_words(bias, multiplier)


def feature_maps(
    words: Sequence[int], channels: int, height: int, width: int, lanes: int, bits: int = 8
) -> np.ndarray:
    """The words of a layer's output -> y[N,C,H,W], int64; channels / lanes words make a pixel."""
    pixels = unpack(words, lanes, bits).reshape(-1, height, width, channels)
    return pixels.transpose(0, 3, 1, 2)
