"""Wrong repairs of gpu.case_float64: x[n] -> y = x / (1 + exp(-1.702 x))."""

from collections.abc import Callable

import numpy as np


def with_slope(slope: float) -> Callable:
    """y with another slope than 1.702."""

    def wrong(x):
        decay = np.exp(-slope * x.astype(np.float64))
        y = x / (1 + decay)
        return y.astype(np.float32)

    return wrong


def sum_left_out(x):
    """The 1 of the denominator is left out; infinite where x is large."""
    growth = np.exp(1.702 * x.astype(np.float64))
    return np.float32(x * growth)


def both_left_out(x):
    """The 1 and the slope are left out, and the product stands for the quotient."""
    decay = np.exp(-x.astype(np.float64))
    return np.float32(x * decay)


def factor_outside(x):
    """The slope stands before the exponential."""
    growth = np.exp(x.astype(np.float64))
    return x / (1 - 1.702 * growth)


def overflows(x):
    """x e / (1 + e), in float32, where e = exp(1.702 x) may be infinite."""
    with np.errstate(all="ignore"):
        growth = np.exp(np.float32(1.702) * x)
        return x * growth / (1 + growth)


def no_parenthesis(x):
    """x / 1 + exp(-1.702 x)."""
    decay = np.exp(-1.702 * x.astype(np.float64))
    return np.float32(x + decay)
