"""The solutions of lesson 02_tpu/2_what_a_grid_costs. Written by `labkit build` from

chapters/02_tpu/source/what_a_grid_costs/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def cycles(M, K, N, rows, cols):
    """M, K, N [n] of n products -> cycles [n], one tile after the other"""
    one_tile = rows + (M + rows + cols - 2)
    return one_tile * -(-K // rows) * -(-N // cols)


def implicit_rows(x, m, R, S, stride=1, padding=0):
    """x [N, C, H, W], row numbers m [i] -> rows [i, C R S]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))  # each [C R S]
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))  # each [i, 1]
    rows = padded[n, c, p * stride + r, q * stride + s]
    return rows


def dataflows(M, K, N, rows, cols):
    """M, K, N [n] of n products -> cycles [n] when weights stay, inputs stay, sums stay"""
    ws = cycles(M, K, N, rows, cols)
    is_ = cycles(N, K, M, rows, cols)
    os = cycles(K, M, N, rows, cols)
    return ws, is_, os


SOLUTIONS = {
    "tpu.cycles": cycles,
    "tpu.implicit_rows": implicit_rows,
    "tpu.dataflows": dataflows,
}
