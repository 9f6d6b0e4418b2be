"""The solutions of lesson 02_tpu/3_bfloat16. Written by `labkit build` from

chapters/02_tpu/source/bfloat16/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def round_to_bfloat16(x):
    """x float32, any shape -> float32 of the same shape whose lower 16 bits are 0"""
    bits = x.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.view(np.float32)


def multiply_accumulate(a, b, narrow):
    """a [M, K] @ b [K, N] -> [M, N], all float32; bfloat16 operands, wide or narrow sums"""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    a, b = round_to_bfloat16(a), round_to_bfloat16(b)
    for k in range(len(b)):
        total = total + np.outer(a[:, k], b[k])
        if narrow:
            total = round_to_bfloat16(total)
    return total


def split_bfloat16(x, parts):
    """x float32, any shape -> [parts, ...] float32: bfloat16 numbers, x is nearly their sum"""
    rest, found = x, []
    for _ in range(parts):
        found.append(round_to_bfloat16(rest))
        rest = rest - found[-1]
    return np.array(found)


SOLUTIONS = {
    "tpu.round_to_bfloat16": round_to_bfloat16,
    "tpu.multiply_accumulate": multiply_accumulate,
    "tpu.split_bfloat16": split_bfloat16,
}
