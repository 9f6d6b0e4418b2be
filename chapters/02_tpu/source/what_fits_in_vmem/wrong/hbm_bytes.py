"""Wrong ideas of tpu.hbm_bytes.

Dense: an idea is a row, to be held against the others.
"""

import numpy as np


def _bytes(x, w, y, itemsize):
    return itemsize * (x + w + y)


def each_once(M, K, N, bm, bk, bn, itemsize):
    return _bytes(M * K, K * N, M * N, itemsize) + 0 * bm


def swapped(M, K, N, bm, bk, bn, itemsize):
    return _bytes(M * K * (M // bm), K * N * (N // bn), M * N, itemsize)


def y_each_step(M, K, N, bm, bk, bn, itemsize):
    return _bytes(M * K * (N // bn), K * N * (M // bm), M * N * (K // bk), itemsize)


def numbers(M, K, N, bm, bk, bn, itemsize):
    return _bytes(M * K * (N // bn), K * N * (M // bm), M * N, 1)


def no_y(M, K, N, bm, bk, bn, itemsize):
    return _bytes(M * K * (N // bn), K * N * (M // bm), 0, itemsize)


def by_bk(M, K, N, bm, bk, bn, itemsize):
    return _bytes(M * K * (K // bk), K * N * (K // bk), M * N, itemsize)


def in_32_bits(M, K, N, bm, bk, bn, itemsize):
    right = _bytes(M * K * (N // bn), K * N * (M // bm), M * N, itemsize)
    return right.astype(np.int32).astype(np.int64)
