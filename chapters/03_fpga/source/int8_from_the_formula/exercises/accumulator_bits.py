"""Exercise fpga.accumulator_bits: w [K, D], b [K], inputs from low to high -> bits."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.int8_from_the_formula.bounds import signed_bits
from labkit_lessons.fpga.int8_from_the_formula.wrong import accumulator_bits as wrong_bits

SUMS = {  # channels, products, low, high, and which end of a sum lies where at a power of two
    "prime sizes": (5, 13, -128, 127, "largest too large"),
    "one product": (1, 1, -128, 127, "smallest fits"),
    "one channel": (1, 7, -128, 127, "largest fits"),
    "one product in each sum": (6, 1, 0, 127, "largest fits"),
    "after a ReLU": (3, 64, 0, 127, "smallest too small"),
    "square": (8, 8, 0, 255, "largest fits"),
    "four bits": (2, 113, -8, 7, "smallest fits"),
    "below 0 alone": (4, 31, -100, 0, "largest too large"),
    "a small interval": (9, 11, -1, 6, "smallest too small"),
    "many": (16, 16, -8, 7, "smallest fits"),
    "many after a ReLU": (16, 16, 0, 127, "largest too large"),
    "beyond a border": (3, 7, -8, 7, "largest far too large"),
    "negative weights": (3, 9, 0, 127, "all negative"),
    "positive weights": (3, 5, 0, 100, "all positive"),
    "biases of one sign": (5, 3, -2, 5, "biases alike"),
}


def ends_of(w, b, low, high) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest sum of each channel, bias included."""
    one_end = w * low
    other_end = w * high
    smallest = b + np.minimum(one_end, other_end).sum(axis=1)
    largest = b + np.maximum(one_end, other_end).sum(axis=1)
    return smallest, largest


def sums(rng: np.random.Generator, K: int, D: int, low: int, high: int, border: str) -> tuple:
    """Different weights and biases, one of them moved until an end of its sum is at a border.

    n bits hold -2^(n-1) to 2^(n-1) - 1. An end that "fits" is one of these two; one that is "too
    large" or "too small" is its neighbour outside. In a few cases the signs are what matters.
    """
    reach = max((K * D + 1) // 2, int(rng.choice([40, 128])))
    w = rng.permutation(np.arange(-reach, reach))[: K * D].reshape(K, D)
    b = rng.permutation(np.arange(-50 * K, 50 * K))[:K]
    if border == "biases alike":
        return w, b + 10_000, low, high
    if border.startswith("all"):
        return (np.abs(w + reach) + 1) * (1 if "positive" in border else -1), b, low, high
    smallest, largest = ends_of(w, b, low, high)
    limit = 2 ** (signed_bits(smallest.min(), largest.max()) - 1)
    channel = K // 2
    if border.startswith("largest"):
        b[channel] += limit - 1 - largest[channel]
        b[channel] += {"largest too large": 1, "largest far too large": 4}.get(border, 0)
    else:
        b[channel] -= smallest[channel] + limit
        b[channel] -= border == "smallest too small"
    return w, b, low, high


def width(w, b, low, high) -> int:
    """The bits of a signed number that holds every sum of every channel."""
    smallest, largest = ends_of(w, b, low, high)
    return signed_bits(int(smallest.min()), int(largest.max()))  # raises where one is infinite


accumulator_bits = exercise(
    "fpga.accumulator_bits",
    oracle=width,
    cases=cases_of(SUMS, sums),
    wrong={
        "no_bias": wrong_bits.no_bias,
        "bias_above_alone": wrong_bits.bias_at(lambda b: 0, lambda b: b),
        "bias_below_alone": wrong_bits.bias_at(lambda b: b, lambda b: 0),
        "first_bias": wrong_bits.bias_at(lambda b: b[0], lambda b: b[0]),
        "bias_of_any_sign": wrong_bits.bias_at(lambda b: -abs(b), abs),
        **by_own_name(
            wrong_bits.symmetric_inputs,
            wrong_bits.all_one_sign,
            wrong_bits.room_for_way,
            wrong_bits.largest_plus_1,
            wrong_bits.along_inputs,
            wrong_bits.worst_of_all,
            wrong_bits.widths_added,
            wrong_bits.any_weights,
            wrong_bits.high_alone,
            wrong_bits.all_at_one_end,
            wrong_bits.largest_alone,
            wrong_bits.smallest_alone,
            wrong_bits.first_channel,
            wrong_bits.last_channel,
            wrong_bits.narrowest_channel,
            wrong_bits.ends_mixed,
            wrong_bits.by_logarithm,
            wrong_bits.way_between,
        ),
        "any_byte": lambda w, b, low, high: width(w, b, -128, 127),
        **by_own_name(
            wrong_bits.smallest_channel,
            wrong_bits.all_channels,
            wrong_bits.one_product,
            wrong_bits.no_sign,
            wrong_bits.magnitudes,
            wrong_bits.one_bit_more,
            wrong_bits.positive_weights,
        ),
    },
    outputs=("bits",),
    general_causes=False,
    forbidden=(
        *LIBRARIES,
        "labkit_lessons.fpga.int8_from_the_formula.bounds.accumulator_bounds",
        "labkit_lessons.fpga.int8_from_the_formula.bounds.network_bounds",
    ),
)
