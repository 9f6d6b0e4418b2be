"""Stalls: when a stream's sender withholds its next word, or its receiver its ready.

A pattern is a row of 0 and 1, one for each clock cycle and gone through again and again: 1 stalls.
A design under valid/ready gives the same words whatever the pattern (lesson
a_convolution_as_a_stream); only the cycles change.
"""

from collections.abc import Sequence

import numpy as np

from labkit.fpga.errors import RTLError

PERIOD = 4093  # cycles; a prime, so that no loop of a design stays in step with the pattern


def random_stalls(share: float, seed: int) -> np.ndarray:
    """A pattern that stalls in a `share` of all cycles, from 0 to under 1, by chance."""
    if not 0 <= share < 1:
        raise RTLError(f"The share of stalled cycles is from 0 to under 1, not {share}.")
    return (np.random.default_rng(seed).random(PERIOD) < share).astype(np.uint8)


def pattern(stalls: Sequence[int], stream: str) -> np.ndarray:
    """`stalls` as bytes of 0 and 1; raises RTLError for others, or where no cycle is free."""
    values = np.asarray(stalls)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise RTLError(f"The stalls of {stream} are a row of 0 and 1, one for each cycle.")
    if values.size and values.all():
        raise RTLError(f"The stalls of {stream} leave no cycle free: no word could ever move.")
    return values.astype(np.uint8)
