"""The solutions of lesson 02_tpu/1_the_systolic_array. Written by `labkit build` from

chapters/02_tpu/source/the_systolic_array/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def one_cell(a, psum, w):
    """number a, sum psum, weight w [rows, cols] of each cell -> its new sum [rows, cols]"""
    psum_next = psum + a * w
    return psum_next


def skew(a):
    """a [M, K] -> feeds [M + K - 1, K]: what enters row k in cycle t"""
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K), a.dtype)
    for k in range(K):
        feeds[k : k + M, k] = a[:, k]
    return feeds


def systolic_step(a, psum, w, feed):
    """a, psum, w [rows, cols], feed [rows] -> a_next, psum_next [rows, cols]"""
    a_next = np.column_stack([feed, a[:, :-1]])
    from_above = np.vstack([np.zeros_like(psum[:1]), psum[:-1]])
    psum_next = one_cell(a_next, from_above, w)
    return a_next, psum_next


def implicit_rows(x, m, R, S, stride=1, padding=0):
    """x [N, C, H, W], row numbers m [i] -> rows [i, C R S]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))  # each [C R S]
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))  # each [i, 1]
    rows = padded[n, c, p * stride + r, q * stride + s]
    return rows


def cycles(M, K, N, rows, cols):
    """M, K, N [n] of n products -> cycles [n], one tile after the other"""
    one_tile = rows + (M + rows + cols - 2)
    return one_tile * -(-K // rows) * -(-N // cols)


SOLUTIONS = {
    "tpu.one_cell": one_cell,
    "tpu.skew": skew,
    "tpu.systolic_step": systolic_step,
    "tpu.implicit_rows": implicit_rows,
    "tpu.cycles": cycles,
}
