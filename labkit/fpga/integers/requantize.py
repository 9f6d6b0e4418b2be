"""Requantisation: from int32 sums at one scale to int8 numbers at another, with integers alone.

A layer is y = sigma(W^T x + b). Each real number stands as an integer q times a scale s:

    x = s_x q_x      w = s_w[k] q_w      b = s_x s_w[k] q_b      y = s_y q_y

for output channel k. The scales do not depend on the index of the sum, so they come out of it:

    w^T x + b = s_x s_w[k] acc      with  acc = sum q_w q_x + q_b,  integers alone

Divided by s_y, the output is q_y = M acc, rounded, with the real number M = s_x s_w[k] / s_y.
Hardware has no real numbers, but M is close to an integer over a power of two, m / 2^shift:

    q_y = clamp((acc m + 2^(shift-1)) >> shift)

Adding half of 2^shift before the shift rounds to the nearest integer, and a half upwards. A ReLU is
the clamp's lower end set to 0. Lesson int8_from_the_formula derives this.

What it costs: m is below 2^16, so as a signed number it has 17 bits, and a DSP48E1 multiplies
25 x 18 bits. A sum of 25 bits takes one DSP; bounds.py of that lesson says how many bits there
are. The shift is one number for the whole layer: a choice of wires, no gate.
"""

from math import frexp

import numpy as np

from labkit.shapes import fit_integer

MULTIPLIER_BITS = 16  # unsigned
MAX_SHIFT = 31  # |acc m| + 2^30 stays below 2^47: a DSP's 48 bits hold it
INT8 = (-128, 127)
INT32 = (-(2**31), 2**31 - 1)


def fixed_point(ratios: np.ndarray) -> tuple[np.ndarray, int]:
    """Real ratios M[K] >= 0 -> multipliers m[K], int32 below 2^16, and one shift for all of them.

    M[k] is close to m[k] / 2^shift, to within 2^-(shift+1). The shift is the largest one, up to
    31, that leaves every m[k] below 2^16; a channel with a smaller ratio has fewer digits.

    Raises ValueError for ratios that are negative or not finite, and for one too large for any
    shift, 2^15 and more.
    """
    ratios = np.atleast_1d(np.asarray(ratios, dtype=np.float64))
    if not np.isfinite(ratios).all() or (ratios < 0).any():
        raise ValueError("fixed_point: a ratio of scales must be finite, and 0 or more.")
    largest = float(ratios.max())
    exponent = frexp(largest)[1] if largest else -MAX_SHIFT  # largest < 2^exponent
    shift = min(MULTIPLIER_BITS - exponent, MAX_SHIFT)
    if np.rint(largest * 2.0**shift) == 2**MULTIPLIER_BITS:  # rounded up to one bit more
        shift -= 1
    if shift < 1:
        raise ValueError(
            f"fixed_point: the ratio {largest:g} is too large for a multiplier below 2^16: "
            "the output's scale is far smaller than that of the sums. Choose a larger one."
        )
    multipliers = np.rint(ratios * 2.0**shift).astype(np.int32)
    return multipliers, shift


def requantize(
    acc: np.ndarray,
    multiplier: np.ndarray | int,
    shift: int,
    low: int = INT8[0],
    high: int = INT8[1],
) -> np.ndarray:
    """acc[N,K,...] int32, multiplier[K] (or one for all) -> int8 of the same shape.

    q = clamp((acc * multiplier + 2^(shift-1)) >> shift, low, high)

    Against the real ratio M that `fixed_point` was given, q before the clamp is off by at most
    1/2 + |acc| 2^-(shift+1). The products are int64 here; 48 bits hold them.

    Raises ValueError for sums beyond int32, multipliers beyond 16 unsigned bits, a shift outside
    1 to 31, and limits that are no bytes.
    """
    fit_integer("requantize", "shift", shift, at_least=1, at_most=MAX_SHIFT)
    fit_integer("requantize", "low", low, at_least=INT8[0], at_most=INT8[1])
    fit_integer("requantize", "high", high, at_least=low, at_most=INT8[1])
    acc = _integers("acc", acc, INT32)
    multiplier = _integers("multiplier", multiplier, (0, 2**MULTIPLIER_BITS - 1))
    if multiplier.ndim:
        multiplier = _along_channels(multiplier, acc)
    half = 1 << (shift - 1)
    rounded = (acc * multiplier + half) >> shift
    return np.clip(rounded, low, high).astype(np.int8)


def _integers(name: str, array: np.ndarray | int, limits: tuple[int, int]) -> np.ndarray:
    """The array as int64, or a ValueError where it holds anything but integers in the limits."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu":
        raise ValueError(f"requantize: {name} holds {array.dtype}; it must hold integers.")
    low, high = limits
    if array.size and (array.min() < low or array.max() > high):
        raise ValueError(
            f"requantize: {name} reaches from {array.min()} to {array.max()}, but must lie between "
            f"{low} and {high}."
        )
    return array.astype(np.int64)


def _along_channels(multiplier: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """multiplier[K] shaped so that it meets the second axis of acc[N,K,...]."""
    if multiplier.ndim != 1 or acc.ndim < 2 or len(multiplier) != acc.shape[1]:
        raise ValueError(
            f"requantize: multiplier has shape {multiplier.shape} and acc {acc.shape}; "
            "acc[N,K,...] needs one multiplier for each of its K channels."
        )
    return multiplier.reshape(-1, *[1] * (acc.ndim - 2))
