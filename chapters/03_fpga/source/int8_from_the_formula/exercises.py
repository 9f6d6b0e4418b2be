"""The exercises of the lesson: weights in bytes, the width of a sum, and a sum back in a byte."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.int8_from_the_formula.bounds import signed_bits
from labkit_lessons.fpga.int8_from_the_formula.wrong import accumulator_bits as wrong_bits
from labkit_lessons.fpga.int8_from_the_formula.wrong import quantize_weights as wrong_weights
from labkit_lessons.fpga.int8_from_the_formula.wrong import requantize as wrong_byte

# fpga.quantize_weights: w [K, D] -> q [K, D] int8, scale [K]

WEIGHTS = {  # channels, inputs, and the sign of the largest weight in channel 0
    "prime sizes": (7, 13, 1),
    "one weight": (1, 1, -1),
    "one channel": (1, 7, 1),
    "one input": (5, 1, -1),
    "square": (8, 8, -1),
    "conv1's sizes": (32, 27, 1),
    "many": (10, 128, -1),
}


def weights(rng: np.random.Generator, K: int, D: int, sign: int) -> tuple[np.ndarray]:
    """w[K,D] whose rows have sizes of their own; the largest of each has the sign in turn."""
    w = rng.uniform(-0.9, 0.9, (K, D))
    place = rng.integers(0, D, K)
    signs = np.where(np.arange(K) % 2 == 0, sign, -sign)
    w[np.arange(K), place] = signs
    sizes = rng.uniform(0.01, 3, K)
    return (w * sizes[:, None],)


def in_bytes(w):
    """The nearest steps of each channel's scale, which makes its largest weight 127 steps."""
    scale = np.abs(w).max(axis=1) / 127
    steps = w / scale[:, None]
    return np.floor(steps + 0.5).astype(np.int8), scale


quantize_weights = exercise(
    "fpga.quantize_weights",
    oracle=in_bytes,
    cases=cases_of(WEIGHTS, weights),
    wrong={
        **by_own_name(
            wrong_weights.one_scale,
            wrong_weights.each_input,
            wrong_weights.sign_kept,
            wrong_weights.smallest,
        ),
        "cut_off": wrong_weights.rounded_by(np.trunc),
        "downwards": wrong_weights.rounded_by(np.floor),
        "upwards": wrong_weights.rounded_by(np.ceil),
        "cut_after_half": wrong_weights.rounded_by(lambda steps: np.trunc(steps + 0.5)),
        "a_whole_one": wrong_weights.rounded_by(lambda steps: np.floor(steps + 1)),
        "average": wrong_weights.average,
        "first_row": wrong_weights.first_row,
        "limited_128": wrong_weights.limited(128),
        "limited_127": wrong_weights.limited(127.5),
        "by_128": wrong_weights.steps_of(128),
        "by_255": wrong_weights.steps_of(255),
        "by_1": wrong_weights.steps_of(1),
        **by_own_name(
            wrong_weights.from_end_to_end,
            wrong_weights.no_column,
            wrong_weights.abs_outside,
            wrong_weights.root,
            wrong_weights.inverse_scale,
            wrong_weights.times_scale,
        ),
    },
    outputs=("q", "scale"),
    dtype=("int8", None),
    forbidden=(*LIBRARIES, "labkit.fpga"),
)

# fpga.accumulator_bits: w [K, D], b [K], inputs from low to high -> bits

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

# fpga.requantize: acc [N, K] int32, m [K], shift, low -> [N, K] int8

BYTES = {  # images, channels, shift, lower end of the clamp
    "prime sizes": (5, 13, 27, -128),
    "one image": (1, 7, 21, 0),
    "one channel, halved": (9, 1, 1, -128),
    "one sum": (1, 1, 20, -128),
    "prime sizes after a ReLU": (5, 13, 24, 0),
    "as many images as channels": (9, 9, 31, -128),
    "fc1's channels": (3, 128, 29, 0),
    "many": (33, 20, 30, -128),
}


def sums_to_round(rng: np.random.Generator, N: int, K: int, shift: int, low: int) -> tuple:
    """Sums whose bytes reach beyond both ends of the clamp; those of channel 0 are halves.

    Its multiplier is a power of two, so that odd numbers, or odd multiples of 2^(shift-16), give
    halves exactly: first -3.5. The last sum of all is the smallest that int32 holds, and its
    neighbour the largest, where there are so many; and one product lies just below a half.
    """
    m = rng.permutation(np.arange(2**14 + 1, 2**16, 2))[:K]
    m[0] = 2 ** min(shift - 1, 15)
    odd = np.setdiff1d(np.arange(-299, 300, 2), [-7])
    halves = rng.permutation(odd)[:N]
    halves[:3] = (-7, -301, 301)[:N]  # the last two lie beyond both ends of the clamp
    acc = np.zeros((N, K), np.int32)
    while len(np.unique(acc)) < acc.size or not acc.any():  # until no two sums are equal
        steps = rng.uniform(-200, 200, (N, K))
        acc = np.round(steps * 2**shift / m).astype(np.int32)
        acc[:, 0] = halves * 2 ** max(shift - 16, 0)
        if K > 2:
            acc[-1, -2:] = 2**31 - 1, -(2**31)
            _put_below_a_half(acc, m, shift)
    return acc, m.astype(np.int32), shift, low


def _put_below_a_half(acc: np.ndarray, m: np.ndarray, shift: int) -> None:
    """One of the sums, in row 0, gets the product that lies least below a half: float32 misses it.

    It is a sum of channel 1 or a later one, whose bytes are neither limited nor 0.
    """
    halves = (2 * np.arange(1, 120)[:, None] + 1) * 2 ** (shift - 1)  # [119, 1]
    below = halves % m[1:-2]  # [119, K - 3]
    place, channel = np.unravel_index(np.where(below > 0, below, 2**16).argmin(), below.shape)
    acc[0, 1 + channel] = halves[place, 0] // m[1 + channel]


def to_byte(acc, m, shift, low):
    """acc m / 2^shift, rounded to the nearest integer, a half upwards, and clamped: int8."""
    product = acc.astype(np.int64) * m
    half = 2 ** (shift - 1)
    rounded = (product + half) >> shift
    return np.clip(rounded, low, 127).astype(np.int8)


requantize = exercise(
    "fpga.requantize",
    oracle=to_byte,
    cases=cases_of(BYTES, sums_to_round),
    wrong={
        "in_32_bits": wrong_byte.in_32_bits,
        "no_half": wrong_byte.rounded_by(np.floor),
        "towards_0": wrong_byte.rounded_by(np.trunc),
        "half_to_even": wrong_byte.rounded_by(np.rint),
        "half_away": wrong_byte.rounded_by(wrong_byte.half_away),
        "half_down": wrong_byte.rounded_by(lambda x: np.ceil(x - 0.5)),
        "a_whole_one": wrong_byte.rounded_by(lambda x: np.floor(x + 1)),
        "half_before_product": wrong_byte.half_before_product,
        "shift_first": wrong_byte.shift_first,
        "not_clamped": wrong_byte.not_clamped,
        "low_ignored": wrong_byte.clamped_from(-128),
        "always_relu": wrong_byte.clamped_from(0),
        "symmetric": wrong_byte.symmetric,
        "in_float32": wrong_byte.in_float32,
        "half_then_cut": wrong_byte.half_then_cut,
        "half_taken_away": wrong_byte.rounded_by(lambda x: np.floor(x - 0.5)),
        "always_16": lambda acc, m, shift, low: to_byte(acc, m, 16, low),
        "half_of_16": wrong_byte.half_of_16,
        "up_to_126": wrong_byte.up_to(126),
        "up_to_128": wrong_byte.up_to(128),
        "up_to_255": wrong_byte.up_to(255),
        **by_own_name(
            wrong_byte.not_clamped_below,
            wrong_byte.not_clamped_above,
            wrong_byte.sums_clamped,
            wrong_byte.half_after_clamp,
            wrong_byte.first_multiplier,
            wrong_byte.wraps_first,
            wrong_byte.relu_alone,
            wrong_byte.raised_first,
            wrong_byte.half_by_sign,
            wrong_byte.m_of_rows,
            wrong_byte.twice,
            wrong_byte.plus_first,
            wrong_byte.far_away,
            wrong_byte.one_bit_too_far,
        ),
    },
    forbidden=(*LIBRARIES, "labkit.fpga"),
    dtype="int8",
)

EXERCISES = [quantize_weights, accumulator_bits, requantize]
