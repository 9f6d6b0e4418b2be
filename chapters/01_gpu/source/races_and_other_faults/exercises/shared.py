"""What several cases of lesson races_and_other_faults need."""

import numpy as np


def move_tops(x: np.ndarray, places: np.ndarray) -> None:
    """Brings the largest of each row of x, which changes, to the row's place."""
    rows = np.arange(len(x))
    found = x.argmax(axis=1)
    largest = x[rows, found]
    x[rows, found] = x[rows, places]
    x[rows, places] = largest
