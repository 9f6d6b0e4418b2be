"""Wrong ideas of gpu.implicit_gemm_gather: x[N,C,H,W], R, S, stride, padding -> [C R S, N P Q].

Dense: each wrong idea is the three parts of a number, a formula for each.
"""

from collections.abc import Callable

import numpy as np

from labkit.convolutions import output_size

# A row as c, r, s of C, R, S; and in the same way a column as n, p, q of N, P, Q


def split(number, first, second, third):
    """The last of them counts fastest, as it should be."""
    return number // (second * third), number // third % second, number % third


def matrix_by(rows: Callable = split, columns: Callable = split) -> Callable:
    """[C R S, N P Q], of the pixels that rows(row, C, R, S) and columns(col, N, P, Q) ask for."""

    def cols(x, R, S, stride, padding):
        N, C, H, W = x.shape
        P, Q = output_size(x.shape, R, S, stride, padding)
        height = C * R * S
        width = N * P * Q
        row, col = np.ogrid[:height, :width]
        c, r, s = rows(row, C, R, S)
        n, p, q = columns(col, N, P, Q)
        h = p * stride + r - padding
        v = q * stride + s - padding
        row_inside = (h >= 0) & (h < H)
        column_inside = (v >= 0) & (v < W)
        nearest_h = h.clip(0, H - 1)
        nearest_v = v.clip(0, W - 1)
        pixels = x[n, c, nearest_h, nearest_v]
        return np.where(row_inside & column_inside, pixels, np.float32(0))

    return cols


# Split wrongly


def first_counts_fastest(number, first, second, third):
    """The channel, or the image."""
    return number % first, number // (third * first), number // first % third


def second_counts_fastest(number, first, second, third):
    """r before s, or p before q."""
    return number // (second * third), number % second, number // second % third


def cut_wrongly(number, first, second, third):
    """R and S, or P and Q, change places in the last two."""
    return number // (second * third), number // second % third, number % second


def not_cut(number, first, second, third):
    """The remainder by R, or by P, is forgotten."""
    return number // (second * third), number // third, number % third


def taps_turned(row, C, R, S):
    """The last tap of a channel comes first."""
    c, r, s = split(row, C, R, S)
    return c, R - 1 - r, S - 1 - s


def taps_of_the_example(row, C, R, S):
    """The lesson's 3 x 3 taps, written out; raises where a channel has more than 9."""
    return split(row, C, 3, 3)


def channel_of_the_example(row, C, R, S):
    """Its 9 taps alone; raises in the same way."""
    _, r, s = split(row, C, R, S)
    return row // 9, r, s


def row_of_the_example(row, C, R, S):
    """Its rows of 3 taps alone."""
    c, _, _ = split(row, C, R, S)
    _, r, s = split(row, C, 3, 3)
    return c, r, s


def first_image(col, N, P, Q):
    """Every image is the first."""
    n, p, q = split(col, N, P, Q)
    return 0 * n, p, q
