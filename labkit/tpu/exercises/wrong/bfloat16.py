"""Wrong ideas of lesson 02_tpu/2: rounding, split numbers, a mixed step.

They may raise, as a learner's would. Those of its sums are in multiply_accumulate.py.
"""

from collections.abc import Callable

import numpy as np

from labkit.tpu.exercises.float32_bits import (
    LARGEST_BFLOAT16,
    SMALLEST_NORMAL,
    as_bits,
    as_float32,
    cut,
    last_kept_bit,
    nearest,
    with_half_a_step,
    without_lower_half,
)

# tpu.round_to_bfloat16: x, any shape -> rounded, of the same shape


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


def float16(x):
    """The other format of 16 bits."""
    return x.astype(np.float16).astype(np.float32)


# tpu.split_bfloat16: x, any shape, parts -> found [parts, ...]


def parts_of(x, parts, rest_of: Callable, part_of: Callable = nearest):
    """`part_of(rest)` is a part, and `rest_of(x, rest, part)` remains."""
    rest = x
    found = []
    for _ in range(parts):
        part = part_of(rest)
        found.append(part)
        rest = rest_of(x, rest, part)
    return np.array(found)


def with_rest(rest_of: Callable) -> Callable:
    """The parts are rounded, but `rest_of(x, rest, part)` remains."""
    return lambda x, parts: parts_of(x, parts, rest_of)


def right_rest(x, rest, part):
    """What remains, as it should be."""
    return rest - part


def parts_cut_off(x, parts):
    """The parts are cut off."""
    return parts_of(x, parts, right_rest, part_of=cut)


def remainder(x, found):
    """What the parts found leave of x."""
    return x - found.sum(axis=0)


def last_kept(x, parts):
    """The last part is not rounded."""
    found = parts_of(x, parts, right_rest)
    found[-1] = remainder(x, found[:-1])
    return found


def remainders(x, parts):
    """What is left before each part, in place of the parts."""
    found = parts_of(x, parts, right_rest)
    return np.array([remainder(x, found[:i]) for i in range(parts)])


def shared(x, parts):
    """Equal parts."""
    return np.array([nearest(x / parts)] * parts)


# tpu.mixed_precision_step: master, gradient, any shape, lr -> master, copy


def rounded(*names: str) -> Callable:
    """A step in which these are rounded: "old", "gradient", "rate", "update", "new"."""

    def stored(name, x):
        return nearest(x) if name in names else np.asarray(x, np.float32)

    def wrong(master, gradient, lr):
        update = stored("rate", lr) * stored("gradient", gradient)
        new = stored("new", stored("old", master) - stored("update", update))
        return new, nearest(new)

    return wrong


def new_master(master, gradient, lr):
    """The master after the step, as it should be."""
    return master - np.float32(lr) * gradient


def with_copy(copy_of: Callable) -> Callable:
    """The master is right; `copy_of(new)` stands for its copy."""

    def wrong(master, gradient, lr):
        new = new_master(master, gradient, lr)
        return new, copy_of(new)

    return wrong


def old_copy(master, gradient, lr):
    """The copy is made before the step."""
    return new_master(master, gradient, lr), nearest(master)


def gradient_copied(master, gradient, lr):
    """The copy is that of the gradient."""
    return new_master(master, gradient, lr), nearest(gradient)


def copy_steps(master, gradient, lr):
    """Master and copy make a step of their own."""
    copy = new_master(nearest(master), gradient, lr)
    return new_master(master, gradient, lr), nearest(copy)
