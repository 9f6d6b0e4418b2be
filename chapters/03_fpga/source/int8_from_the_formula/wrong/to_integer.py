"""Wrong ideas of `fpga.to_integer`: numbers x [n] and their scale -> integers q [n].

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable

import numpy as np


def limited(rounding: Callable) -> Callable:
    """The idea that steps become integers by `rounding`."""
    return lambda x, scale: np.clip(rounding(x / scale), -128, 127)


def between(low: float, high: float) -> Callable:
    """The idea that an int8 reaches from `low` to `high`."""
    return lambda x, scale: np.clip(np.round(x / scale), low, high)


def wraps(x, scale):
    """What does not fit wraps round in the byte."""
    return np.round(x / scale).astype(np.int64).astype(np.int8)


def multiplied(x, scale):
    """The scale is multiplied with the number."""
    return np.clip(np.round(x * scale), -128, 127)


def no_scale(x, scale):
    """The numbers themselves are rounded."""
    return np.clip(np.round(x), -128, 127)


def rounded_first(x, scale):
    """The numbers are rounded, and then divided."""
    return np.clip(np.round(x) / scale, -128, 127)


def limited_first(x, scale):
    """The numbers are limited, and then divided."""
    return np.round(np.clip(x, -128, 127) / scale)


def stand_for(x, scale):
    """What the integers stand for."""
    return np.clip(np.round(x / scale), -128, 127) * scale


def own_scale(x, scale):
    """The largest magnitude becomes 127, whatever the scale."""
    return np.round(x * 127 / np.abs(x).max())
