"""The solutions of lesson 03_fpga/1_int8_from_the_formula. Written by `labkit build` from

chapters/03_fpga/source/int8_from_the_formula/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit_lessons.fpga.int8_from_the_formula.bounds import signed_bits


def to_integer(x, scale):
    """real numbers x [n], and the scale -> integers q [n], from -128 to 127"""
    q = np.clip(np.round(x / scale), -128, 127)
    return q


def quantize_weights(w):
    """real weights w [K, D], no row all 0 -> integers q [K, D] int8, scale [K]"""
    scale = np.abs(w).max(axis=1) / 127
    q = to_integer(w, scale[:, None]).astype(np.int8)  # [K, 1]: each row has its own scale
    return q, scale


def accumulator_bits(w, b, low, high):
    """integers w [K, D], b [K]; each input lies from low to high, low <= 0 <= high -> bits"""
    smallest = b + np.minimum(w * low, w * high).sum(axis=1)
    largest = b + np.maximum(w * low, w * high).sum(axis=1)
    bits = signed_bits(smallest.min(), largest.max())
    return bits


def requantize(acc, m, shift, low):
    """sums acc [N, K] int32, m [K], shift >= 1, low 0 or -128 -> [N, K] int8"""
    product = acc.astype(np.int64) * m
    rounded = (product + 2 ** (shift - 1)) >> shift
    q = np.clip(rounded, low, 127)
    return q.astype(np.int8)


SOLUTIONS = {
    "fpga.to_integer": to_integer,
    "fpga.quantize_weights": quantize_weights,
    "fpga.accumulator_bits": accumulator_bits,
    "fpga.requantize": requantize,
}
