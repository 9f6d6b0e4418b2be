"""Numbers for the kernels' cases, chosen so that no right answer is refused for its rounding."""

import math

import numpy as np


def whole_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 of this shape: whole numbers of both signs, no two alike, none of 0, 1 and 2.

    Sums of them, and of products of two, are exact in float32 in whatever order they are added, as
    long as they stay below 2**24: then a right kernel gives the expected number to the last bit.
    """
    size = math.prod(shape)
    order = rng.permutation(size)
    middle = size // 2
    centred = order - middle  # -size/2 .. size/2
    below = centred - 2  # .., -4, -3
    above = centred + 3  # 3, 4, ..
    numbers = np.where(centred < 0, below, above)
    return numbers.astype(np.float32).reshape(shape)


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 between -2 and 2 in random order, no two alike: equal values hide a wrong index."""
    size = math.prod(shape)
    order = rng.permutation(size)
    from_0_to_4 = (4 * order + 1) / size
    spread = from_0_to_4 - 2
    return spread.astype(np.float32).reshape(shape)
