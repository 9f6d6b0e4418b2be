"""The solutions of lesson 02_tpu/5_what_the_compiler_makes_of_a_layer. Written by `labkit build` from

chapters/02_tpu/source/what_the_compiler_makes_of_a_layer/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

from math import prod

import numpy as np


def round_up(n, multiple):
    """n rounded up to a multiple; n may be an array"""
    blocks = np.ceil(n / multiple).astype(int)
    return blocks * multiple


def padded_bytes(shape, order, tile, itemsize):
    """sizes, axes from fastest to slowest, (8, 128) or (256,), bytes of a number -> bytes"""
    size = list(shape)
    for i, side in enumerate(tile[::-1]):  # its last size is that of the fastest axis
        axis = order[i]
        size[axis] = round_up(size[axis], side)
    return int(prod(size)) * itemsize


def mxu_utilization(M, K, N, cycles, units, size):
    """M, K, N, cycles [n] of products -> utilization [n], filled [n], both from 0 to 1"""
    utilization = M * K * N / (cycles * units * size**2)
    rows = round_up(K, size)
    columns = round_up(N, size)
    filled = K * N / (rows * columns)
    return utilization, filled


SOLUTIONS = {
    "tpu.padded_bytes": padded_bytes,
    "tpu.mxu_utilization": mxu_utilization,
}
