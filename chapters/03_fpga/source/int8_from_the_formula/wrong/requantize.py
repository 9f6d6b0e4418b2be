"""Wrong ideas of `fpga.requantize`: acc [N, K] int32, m [K], shift, low -> [N, K] int8.

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable

import numpy as np


def product_of(acc, m):
    """The products, which need more than 32 bits."""
    return acc.astype(np.int64) * m


def clamped(q, low):
    """q from low to 127, as a byte."""
    return np.clip(q, low, 127).astype(np.int8)


def rounded(acc, m, shift):
    """The right integers, before the clamp."""
    return (product_of(acc, m) + 2 ** (shift - 1)) >> shift


def rounded_by(rounding: Callable) -> Callable:
    """The idea that the quotient becomes an integer by `rounding`; float64 holds it exactly."""

    def idea(acc, m, shift, low):
        return clamped(rounding(product_of(acc, m) / 2**shift), low)

    return idea


def in_float32(acc, m, shift, low):
    """The product has 24 bits."""
    product = acc.astype(np.float32) * m.astype(np.float32)
    return clamped(np.floor(product / np.float32(2.0**shift) + np.float32(0.5)), low)


def half_then_cut(acc, m, shift, low):
    """The half is added, and the quotient cut off towards 0."""
    return clamped(np.trunc((product_of(acc, m) + 2 ** (shift - 1)) / 2**shift), low)


def half_of_16(acc, m, shift, low):
    """2^15 is added, whatever the shift is."""
    return clamped((product_of(acc, m) + 2**15) >> shift, low)


def up_to(largest: int) -> Callable:
    """The clamp ends at another number."""

    def idea(acc, m, shift, low):
        return np.clip(rounded(acc, m, shift), low, largest).astype(np.int8)

    return idea


def not_clamped_below(acc, m, shift, low):
    """The lower end is missing."""
    return np.minimum(rounded(acc, m, shift), 127).astype(np.int8)


def not_clamped_above(acc, m, shift, low):
    """The upper end is missing."""
    return np.maximum(rounded(acc, m, shift), low).astype(np.int8)


def sums_clamped(acc, m, shift, low):
    """The clamp comes before the product."""
    return rounded(np.clip(acc, low, 127), m, shift).astype(np.int8)


def half_away(x):
    """A half is rounded away from 0."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def in_32_bits(acc, m, shift, low):
    """The product wraps round in 32 bits."""
    product = acc * m
    return clamped((product + np.int32(2 ** (shift - 1))) >> shift, low)


def half_before_product(acc, m, shift, low):
    """The half is added to the sum, and multiplied too."""
    return clamped(product_of(acc.astype(np.int64) + 2 ** (shift - 1), m) >> shift, low)


def shift_first(acc, m, shift, low):
    """The sum is shifted, then multiplied."""
    return clamped(((acc.astype(np.int64) + 2 ** (shift - 1)) >> shift) * m, low)


def not_clamped(acc, m, shift, low):
    """What does not fit wraps round in the byte."""
    return rounded(acc, m, shift).astype(np.int8)


def clamped_from(least: int) -> Callable:
    """The idea that the clamp begins at `least`, whatever low is."""
    return lambda acc, m, shift, low: clamped(rounded(acc, m, shift), least)


def symmetric(acc, m, shift, low):
    """-128 is left out."""
    return clamped(rounded(acc, m, shift), max(low, -127))


def half_after_clamp(acc, m, shift, low):
    """The clamp comes first, at 2^shift times its ends; then what is left is rounded."""
    product = np.clip(product_of(acc, m), low * 2**shift, 127 * 2**shift)
    return (product >> shift).astype(np.int8)


def first_multiplier(acc, m, shift, low):
    """The multiplier of channel 0 serves all."""
    return clamped(rounded(acc, m[0], shift), low)


def wraps_first(acc, m, shift, low):
    """A byte is made of the number, and then clamped."""
    return np.clip(rounded(acc, m, shift).astype(np.int8), low, 127)


def relu_alone(acc, m, shift, low):
    """The clamp is the ReLU, and there is none without it."""
    result = rounded(acc, m, shift)
    return (np.maximum(result, 0) if low == 0 else result).astype(np.int8)


def raised_first(acc, m, shift, low):
    """The sums are raised to low before the product."""
    return np.minimum(rounded(np.maximum(acc, low), m, shift), 127).astype(np.int8)


def half_by_sign(acc, m, shift, low):
    """Half is added above 0 and subtracted below."""
    product = product_of(acc, m)
    return clamped((product + np.sign(product) * 2 ** (shift - 1)) >> shift, low)


def m_of_rows(acc, m, shift, low):
    """A multiplier for each row."""
    return clamped((acc.astype(np.int64) * m[:, None] + 2 ** (shift - 1)) >> shift, low)


def twice(acc, m, shift, low):
    """Rounded to one place more, and then again."""
    return clamped(np.rint(np.rint(product_of(acc, m) / 2.0 ** (shift - 1)) / 2), low)


def plus_first(acc, m, shift, low):
    """1 is added to the product, and the sum shifted to the left and back."""
    return clamped((product_of(acc, m) + 1 << shift - 1) >> shift, low)


def far_away(acc, m, shift, low):
    """The half is added to the shift."""
    return clamped(product_of(acc, m) >> min(shift + 2 ** (shift - 1), 63), low)


def one_bit_too_far(acc, m, shift, low):
    """Shifted by one place too many."""
    return clamped((product_of(acc, m) + 2**shift) >> (shift + 1), low)
