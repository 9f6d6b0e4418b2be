"""float32 numbers of chosen bits, on which the ways to round to bfloat16 part."""

import numpy as np
from numpy.random import Generator

from labkit_lessons.tpu.bfloat16.exercises.float32_bits import as_float32

ENDS = [  # bits of positive numbers
    0x00000000,  # 0
    0x00000001,  # the smallest float32
    0x00008000,  # a tie; 0 is even
    0x00018000,  # a tie; the upper neighbour is even
    0x0042ABCD,
    0x007FFFFF,  # the largest subnormal float32
    0x7F7F0000,  # the largest bfloat16
    0x7F7F7FFF,  # just below the middle
    0x7F7F8000,  # the middle between the largest bfloat16 and the next step: infinite
    0x7F7FFFFF,  # the largest float32: infinite
]


def signed(rng: Generator, upper: np.ndarray, lower: np.ndarray | int) -> np.ndarray:
    """float32 numbers from both halves of their bits; the signs are random."""
    sign = rng.integers(2, size=upper.shape)
    bits = sign << 31 | upper << 16 | lower
    return as_float32(bits)


def upper_halves(rng: Generator, *shape: int) -> np.ndarray:
    """Upper halves of normal numbers of all sizes, far from both ends."""
    normal = np.arange(0x0100, 0x7F00)
    return rng.choice(normal, shape, replace=False)


def exact(rng: Generator, *shape: int) -> np.ndarray:
    """Numbers that are bfloat16 already."""
    upper = upper_halves(rng, *shape)
    return signed(rng, upper, lower=0)


def anything(rng: Generator, *shape: int) -> np.ndarray:
    """Numbers of all sizes that are no bfloat16."""
    upper = upper_halves(rng, *shape)
    lower = rng.integers(1, 0xFFFF, shape)
    return signed(rng, upper, lower)


def halfway(rng: Generator) -> np.ndarray:
    """In the middle of two bfloat16 numbers; the upper half is even in eight, odd in eight."""
    any_half = np.arange(0x0080, 0x3F80)
    even = 2 * rng.choice(any_half, (2, 8), replace=False)
    upper = even + np.array([[0], [1]])
    return signed(rng, upper, lower=0x8000)


def beside_halfway(rng: Generator) -> np.ndarray:
    """Six just below the middle of two bfloat16 numbers, six just above."""
    upper = upper_halves(rng, 2, 6)
    lower = np.array([[0x7FFF], [0x8001]])
    return signed(rng, upper, lower)


def carries(rng: Generator) -> np.ndarray:
    """The fraction is full, and rounds up into the exponent."""
    exponent = rng.choice(np.arange(1, 0xFE), 6, replace=False)
    upper = exponent << 7 | 0x7F
    lower = np.array([0x8000, 0x8001, 0x9ABC, 0xC000, 0xFFFE, 0xFFFF])
    return signed(rng, upper, lower)


def ends(rng: Generator) -> np.ndarray:
    """0, the tiniest numbers, and the largest, with ties among them; two become infinite."""
    bits = np.array(ENDS)
    sign = rng.permutation([0, 1] * 5)
    return as_float32(bits | sign << 31)
