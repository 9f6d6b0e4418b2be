"""What several exercises of lesson a_product_in_a_grid need."""

import math

import numpy as np

from labkit.checks.lesson_files import LIBRARIES

FORBIDDEN = (*LIBRARIES, "labkit.tpu")
CLOSE = {"rtol": 1e-6, "atol": 1e-6}  # all of these may be computed in float32 as well

MATRICES = {  # rows, columns, whole numbers?
    "prime": (7, 5, False),
    "all sizes 1": (1, 1, False),
    "wide": (3, 8, False),
    "square": (4, 4, False),
    "one row": (1, 6, False),
    "one column": (6, 1, False),
    "whole numbers": (5, 3, True),
    "larger": (40, 32, False),
}


def numbers(rng: np.random.Generator, shape: tuple[int, ...], whole: bool) -> np.ndarray:
    """Numbers of both signs, all different; whole ones as integers."""
    if not whole:
        return rng.normal(size=shape)
    size = math.prod(shape)
    candidates = np.arange(2 * size) - size
    return rng.permutation(candidates)[:size].reshape(shape)
