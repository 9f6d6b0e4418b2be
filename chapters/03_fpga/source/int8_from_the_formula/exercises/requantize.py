"""Exercise fpga.requantize: acc [N, K] int32, m [K], shift, low -> [N, K] int8."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.int8_from_the_formula.wrong import requantize as wrong_byte

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
    odd = 2 * np.arange(1, 120) + 1
    halves = odd[:, None] * 2 ** (shift - 1)  # [119, 1]
    below = halves % m[1:-2]  # [119, K - 3]
    distance = np.where(below > 0, below, 2**16)
    nearest = distance.argmin()
    place, channel = np.unravel_index(nearest, below.shape)
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
