"""Numbers for the kernels' cases, chosen so that no right answer is refused for its rounding."""

import numpy as np


def whole_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 of this shape: whole numbers of both signs, no two alike, none of 0, 1 and 2.

    Sums of them, and of products of two, are exact in float32 in whatever order they are added, as
    long as they stay below 2**24: then a right kernel gives the expected number to the last bit.
    """
    size = int(np.prod(shape))
    order = rng.permutation(size)
    centred = order - size // 2  # -size/2 .. size/2
    away = np.where(centred < 0, centred - 2, centred + 3)  # .., -4, -3, 3, 4, ..
    return away.astype(np.float32).reshape(shape)


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 between -2 and 2 in random order, no two alike: equal values hide a wrong index."""
    size = int(np.prod(shape))
    order = rng.permutation(size)
    spread = (4 * order + 1) / size - 2
    return spread.astype(np.float32).reshape(shape)
