"""Wrong ideas of tpu.round_to_bfloat16: x, any shape -> rounded, of the same shape.

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np

from labkit_lessons.tpu.bfloat16.exercises.float32_bits import (
    LARGEST_BFLOAT16,
    SMALLEST_NORMAL,
    as_bits,
    as_float32,
    last_kept_bit,
    nearest,
    with_half_a_step,
    without_lower_half,
)


def with_bits(change: Callable) -> Callable:
    """`change(bits)` stands for the rounded bits."""
    return lambda x: as_float32(change(as_bits(x)))


def away_from_0(bits):
    """Whatever is cut off counts as a step."""
    return without_lower_half(bits + 0xFFFF)


def ties_away(bits):
    """Half a step is added everywhere."""
    return without_lower_half(bits + 0x8000)


def ties_down(bits):
    """Less than half a step is added everywhere."""
    return without_lower_half(bits + 0x7FFF)


def upwards(bits):
    """To the next step on the right: positive numbers away from 0, negative ones towards it."""
    positive = bits >> 31 == 0
    return without_lower_half(bits + 0xFFFF * positive)


def downwards(bits):
    """To the next step on the left."""
    negative = bits >> 31
    return without_lower_half(bits + 0xFFFF * negative)


def ties_upwards(bits):
    """Half a step is added to the number itself, not to its size."""
    positive = bits >> 31 == 0
    return without_lower_half(bits + 0x7FFF + positive)


def seven_digits(bits):
    """17 bits are cut off."""
    last_bit = bits >> 17 & 1
    return (bits + 0xFFFF + last_bit) >> 17 << 17


def byte_cut(bits):
    """Eight bits are cut off, not sixteen."""
    return with_half_a_step(bits) >> 8 << 8


def ties_to_odd(bits):
    """Half a step is added where the upper half is even."""
    return without_lower_half(bits + 0x8000 - last_kept_bit(bits))


def other_bit(bits):
    """The bit above the last one decides about ties."""
    bit = bits >> 17 & 1
    return without_lower_half(bits + 0x7FFF + bit)


def nine_digits(bits):
    """15 bits are cut off."""
    return with_half_a_step(bits) >> 15 << 15


def nothing_cut(bits):
    """Added, and not cut off."""
    return with_half_a_step(bits)


def in_the_lower_half(bits):
    """The result is not moved back up."""
    return with_half_a_step(bits) >> 16


def upper_half_cut(bits):
    """The other half is cut off."""
    return with_half_a_step(bits) & 0xFFFF


def eight_digits(x):
    """Eight significant bits at every size; a bfloat16 has fewer where it is tiny."""
    fraction, exponent = np.frexp(x)
    rounded = np.rint(fraction * 256) / 256
    return np.ldexp(rounded, exponent).astype(np.float32)


def clipped(x):
    """Nothing becomes infinite."""
    return np.clip(nearest(x), -LARGEST_BFLOAT16, LARGEST_BFLOAT16)


def flushed(x):
    """Subnormal numbers become 0."""
    tiny = abs(x) < SMALLEST_NORMAL
    return nearest(np.where(tiny, np.float32(0), x))
