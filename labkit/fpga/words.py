"""Arrays as the words of a stream, and back: lanes packed, in the order in which the RTL takes them.

A word has several lanes, lane 0 in its low bits, each a number in two's complement. Words are
Python ints, since some are wider than 64 bits (lesson a_convolution_as_a_stream).
"""

from collections.abc import Iterable

import numpy as np

BIAS_BITS = 32
SHIFT_BITS = 6


def pack(lanes: np.ndarray, bits: int = 8) -> list[int]:
    """lanes[..., L] of integers -> one word of L * bits bits for each row, in C order.

    Raises ValueError for a number that `bits` bits do not hold, signed or unsigned.
    """
    lanes = np.asarray(lanes)
    if lanes.size and not -(1 << (bits - 1)) <= lanes.min() <= lanes.max() < 1 << bits:
        raise ValueError(f"pack: {bits} bits do not hold {lanes.min()}..{lanes.max()}.")
    if bits not in (8, 16, 32):
        raise ValueError(f"pack: a lane has 8, 16 or 32 bits, not {bits}.")
    rows = lanes.reshape(-1, lanes.shape[-1])
    as_bytes = rows.astype(np.int64).astype(f"<u{bits // 8}")
    return [int.from_bytes(row.tobytes(), "little") for row in as_bytes]


def unpack(words: Iterable[int], lanes: int, bits: int = 8) -> np.ndarray:
    """Words of `lanes` signed lanes of `bits` bits -> int64 [words, lanes]; the inverse of pack."""
    whole = lanes * bits // 8
    mask = (1 << (lanes * bits)) - 1
    data = b"".join((int(word) & mask).to_bytes(whole, "little") for word in words)
    return np.frombuffer(data, f"<i{bits // 8}").reshape(-1, lanes).astype(np.int64)


def pixel_words(x: np.ndarray) -> list[int]:
    """x[N,C,H,W] int8 -> N * H * W words, a pixel with all its channels in each."""
    return pack(np.asarray(x).transpose(0, 2, 3, 1))


def images(words: Iterable[int], channels: int, height: int, width: int, lanes: int, bits: int = 8):
    """The words of a layer's output -> y[N,C,H,W] int64; C / lanes words make a pixel."""
    pixels = unpack(words, lanes, bits).reshape(-1, height, width, channels)
    return pixels.transpose(0, 3, 1, 2)


def conv_weight_words(w: np.ndarray, lanes: int, channel_lanes: int) -> list[int]:
    """w[K,C,3,3] int8 -> the weights in the order in which `conv3x3.sv` takes them.

    From the outside in: K in groups of `lanes`, C in groups of `channel_lanes`, the channels of
    the group of K, 9 taps; in each word the channels of the group of C.
    """
    K, C = w.shape[:2]
    grouped = w.reshape(K // lanes, lanes, C // channel_lanes, channel_lanes, 9)
    return pack(grouped.transpose(0, 2, 1, 4, 3))


def linear_weight_words(w: np.ndarray, lanes: int, products: int = 1) -> list[int]:
    """w[K,D] int8 -> the weights in the order in which `fully_connected.sv` takes them.

    For each `products` inputs all outputs, `lanes` in a word; inputs count fastest in a word.
    """
    K, D = w.shape
    grouped = w.reshape(K // lanes, lanes, D // products, products).transpose(2, 0, 1, 3)
    return pack(grouped.reshape(-1, lanes * products))


def parameter_words(
    bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, multiplier_bits: int = 16
) -> list[int]:
    """bias[K] int32, multiplier[K] >= 0, shift[K] >= 1 -> the words that `requantize.sv` takes.

    Raises ValueError for a multiplier or a shift that its field does not hold.
    """
    words = []
    for b, m, s in zip(bias, multiplier, shift, strict=True):
        if not 0 <= m < 1 << multiplier_bits:
            raise ValueError(f"The multiplier {m} does not fit {multiplier_bits} unsigned bits.")
        if not 1 <= s < 1 << SHIFT_BITS:
            raise ValueError(f"The shift {s} is not in 1..{(1 << SHIFT_BITS) - 1}.")
        upper = int(s) << multiplier_bits | int(m)
        words.append(upper << BIAS_BITS | int(b) & 0xFFFFFFFF)
    return words
