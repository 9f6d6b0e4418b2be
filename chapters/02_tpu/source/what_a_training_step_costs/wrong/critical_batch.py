"""Wrong ideas of tpu.critical_batch: K, N [n], FLOP/s, B/s, B of a number -> images [n], or never.

They may raise, as a learner's would.

Dense: each is one formula on a line, so that it can be held against the right one.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np


def from_inverse(inverse: np.ndarray, never: float = np.inf) -> np.ndarray:
    """One over what is left for the batch, and `never` where nothing is left."""
    with np.errstate(divide="ignore"):
        return np.where(inverse > 0, 1 / inverse, never)


def for_the_batch(K, N, peak, bandwidth, itemsize):
    """1 / batch, as it should be: what the ridge leaves beside the two sides of the weights."""
    ridge = peak / bandwidth
    return 2 / (itemsize * ridge) - 1 / K - 1 / N


def with_inverse(change: Callable) -> Callable:
    """Something is wrong with 1 / batch: `change(right one, K, N, ridge, itemsize)`."""

    def wrong(K, N, peak, bandwidth, itemsize):
        right = for_the_batch(K, N, peak, bandwidth, itemsize)
        return from_inverse(change(right, K, N, peak / bandwidth, itemsize))

    return wrong


def from_right(batch: Callable) -> Callable:
    """`batch(right 1 / batch)`."""
    return wraps(batch)(lambda *given: batch(for_the_batch(*given)))


def weights_only(K, N, peak, bandwidth, itemsize):
    """Images and results cost no bytes: the same batch for all layers."""
    ridge = peak / bandwidth
    return np.full(len(K), itemsize * ridge / 2)


def two_bytes(K, N, peak, bandwidth, itemsize):
    """Every number is bfloat16."""
    return from_inverse(for_the_batch(K, N, peak, bandwidth, 2))


def one_byte(K, N, peak, bandwidth, itemsize):
    """Numbers are counted, not their bytes."""
    return from_inverse(for_the_batch(K, N, peak, bandwidth, 1))


def upside_down(K, N, peak, bandwidth, itemsize):
    """Bytes for each FLOP."""
    return from_inverse(for_the_batch(K, N, bandwidth, peak, itemsize))


@from_right
def negative(left):
    """A negative batch where none is enough."""
    return 1 / left


@from_right
def never_is_zero(left):
    """0 where no batch is enough."""
    return from_inverse(left, never=0)


@from_right
def never_is_nan(left):
    """NaN where no batch is enough."""
    return from_inverse(left, never=np.nan)


@from_right
def absolute(left):
    """A positive number where no batch is enough."""
    return abs(1 / left)


def times(factor: float) -> Callable:
    """The batch is too large by a factor."""
    return from_right(lambda left: factor * from_inverse(left))


@from_right
def not_inverted(left):
    """1 / batch, not the batch."""
    return np.where(left > 0, left, np.inf)


@from_right
def whole(left):
    """Up to whole images."""
    return np.ceil(from_inverse(left))
