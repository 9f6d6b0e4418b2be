"""What several cases of lesson debugging_and_profiling need."""

from typing import Any

import numpy as np

THREADS = 128  # of a block


def float64_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """Nothing is computed in float64; what Numba makes of 0.0, -math.inf and 1 beside float32."""
    in_float64 = profile.counters["flops_fp64"] / x.size
    all_sizes = profile.counters["flops"] / x.size
    if not in_float64:
        return None
    return (
        f"{in_float64:.2g} of its {all_sizes:.2g} additions, multiplications and divisions for "
        "each element are in float64. Look at each number that is written in the kernel: what type "
        "has it, and what type has the result?"
    )


def move_tops(x: np.ndarray, places: np.ndarray) -> None:
    """Brings the largest of each row of x, which changes, to the row's place."""
    rows = np.arange(len(x))
    found = x.argmax(axis=1)
    largest = x[rows, found]
    x[rows, found] = x[rows, places]
    x[rows, places] = largest
