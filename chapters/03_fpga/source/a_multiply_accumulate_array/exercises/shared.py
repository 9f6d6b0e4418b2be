"""What the modules of lesson a_multiply_accumulate_array are tried with.

Dense: one function, whose two lines of code set the ends of a range.
"""

import numpy as np

A_PIPELINE = 3  # cycles that a word may be on its way, where ours needs one


def int8(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers from -128 to 127; both ends are there, from two numbers on."""
    x = rng.integers(-128, 128, shape).astype(np.int8)
    x.flat[: min(2, x.size)] = (-128, 127)[: x.size]
    return x
