"""The bits of float32 numbers, of which a bfloat16 keeps the upper half.

Written for the exercises alone, which judge answers by it: bfloat16.py is not asked.
"""

import numpy as np

LARGEST_BFLOAT16 = np.uint32(0x7F7F0000).view(np.float32)
LOWER_HALF = 16  # bits that a bfloat16 does not keep
HALF_A_STEP = 0x8000  # of a bfloat16, in the bits of the float32
SMALLEST_NORMAL = np.finfo(np.float32).tiny  # the smallest number with all its digits


def as_bits(x: np.ndarray) -> np.ndarray:
    """The bits of float32 numbers, as integers that have room for a carry."""
    numbers = np.asarray(x, dtype=np.float32)
    bits = numbers.view(np.uint32)
    return bits.astype(np.int64)


def as_float32(bits: np.ndarray) -> np.ndarray:
    """The float32 numbers that have these bits, integers from 0 to 2^32 - 1."""
    words = bits.astype(np.uint32)
    return words.view(np.float32)


def without_lower_half(bits: np.ndarray) -> np.ndarray:
    """The same bits, the lower 16 of which are 0."""
    upper_half = bits >> LOWER_HALF
    return upper_half << LOWER_HALF


def last_kept_bit(bits: np.ndarray) -> np.ndarray:
    """1 where the upper half is odd, else 0."""
    upper_half = bits >> LOWER_HALF
    return upper_half & 1


def with_half_a_step(bits: np.ndarray) -> np.ndarray:
    """What has to be added before the cut, so that it rounds to the nearest and ties to even."""
    just_below_half = HALF_A_STEP - 1
    return bits + just_below_half + last_kept_bit(bits)


def nearest(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each number, ties to even, as float32."""
    bits = with_half_a_step(as_bits(x))
    return as_float32(without_lower_half(bits))


def cut(x: np.ndarray) -> np.ndarray:
    """The next bfloat16 towards 0 of each number, as float32."""
    bits = as_bits(x)
    return as_float32(without_lower_half(bits))


def as_it_is(x: np.ndarray) -> np.ndarray:
    """The float32 numbers, not rounded."""
    return np.asarray(x, dtype=np.float32)
