"""Wrong ideas of tpu.stochastic_round: x, noise, any shape -> rounded, of the same shape.

They may raise, as a learner's would.

Dense: a wrong idea is one formula of masks and shifts.
"""

import numpy as np

UPPER = np.uint32(0xFFFF0000)


def as_float32(bits):
    """The numbers with these bits; what does not fit into 32 of them is lost."""
    return np.asarray(bits).astype(np.uint32).view(np.float32)


def bits_of(x):
    """The bits of x, as integers that have room for a carry."""
    return x.view(np.uint32).astype(np.int64)


def not_cut(x, noise):
    """The sum keeps its lower half."""
    return as_float32(bits_of(x) + noise)


def half_a_step_too(x, noise):
    """Half a step is added besides the noise."""
    return as_float32(bits_of(x) + noise + 0x8000 & UPPER)


def subtracted(x, noise):
    """The noise is taken away."""
    return as_float32(bits_of(x) - noise & UPPER)


def noise_above(x, noise):
    """The noise is added to the upper half."""
    return as_float32(bits_of(x) + (noise.astype(np.int64) << 16) & UPPER)


def noise_shifted_down(x, noise):
    """One bit of the noise is lost."""
    return as_float32(bits_of(x) + (noise >> 1) & UPPER)


def combined_by_xor(x, noise):
    """`^` in place of `+`, and nothing is cut."""
    return as_float32(bits_of(x) ^ noise)


def cut_first(x, noise):
    """The lower half is cut before the noise comes."""
    return as_float32((bits_of(x) & UPPER) + noise)


def in_the_lower_half(x, noise):
    """The upper half stays where `>> 16` has put it."""
    return as_float32(bits_of(x) + noise >> 16)


def up_by_half(x, noise):
    """Up and down are equally likely: the noise alone decides."""
    return as_float32((bits_of(x) & UPPER) + 0x10000 * (noise >= 0x8000))


def up_if_below(x, noise):
    """Up where the noise is less than the lower half: as likely, by other noise."""
    return as_float32((bits_of(x) & UPPER) + 0x10000 * (noise < (bits_of(x) & 0xFFFF)))


def up_with_little_noise(x, noise):
    """Up where lower half and noise together reach no step."""
    up = (bits_of(x) & 0xFFFF) + noise < 0x10000
    return as_float32((bits_of(x) & UPPER) + 0x10000 * up)


def up_is_greater(x, noise):
    """Negative numbers go towards 0 with much noise: "up" is taken for "greater"."""
    added = np.where(x < 0, 0xFFFF - noise, noise)
    return as_float32(bits_of(x) + added & UPPER)


def added_as_a_number(x, noise):
    """The noise is added to the number, as a share of 1."""
    return as_float32(bits_of(np.float32(x + noise / np.float32(0x10000))) & UPPER)


def converted(x, noise):
    """The bits are read as a count."""
    return (bits_of(x) + noise & UPPER).astype(np.float32)
