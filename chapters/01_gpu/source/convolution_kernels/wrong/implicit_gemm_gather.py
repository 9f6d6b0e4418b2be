"""Wrong ideas of gpu.implicit_gemm_gather: x[N,C,H,W], R, S, stride, padding -> [C R S, N P Q]."""

from collections.abc import Callable

import numpy as np

from labkit.convolutions import output_size


def split_row(row, C, R, S):
    """c, r, s of a row of cols."""
    c = row // (R * S)
    r = row // S % R
    s = row % S
    return c, r, s


def split_column(col, N, P, Q):
    """n, p, q of a column of cols."""
    n = col // (P * Q)
    p = col // Q % P
    q = col % Q
    return n, p, q


def matrix_by(rows: Callable = split_row, columns: Callable = split_column) -> Callable:
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


# A row as c, r, s


def rows_rsc(row, C, R, S):
    """The channel counts fastest."""
    c = row % C
    r = row // (S * C)
    s = row // C % S
    return c, r, s


def rows_csr(row, C, R, S):
    """r counts faster than s."""
    c = row // (R * S)
    r = row % R
    s = row // R % S
    return c, r, s


def rows_cut_wrongly(row, C, R, S):
    """R and S change places in the last two."""
    c = row // (R * S)
    r = row // R % S
    s = row % R
    return c, r, s


def taps_turned(row, C, R, S):
    """The last tap of a channel comes first."""
    c, r, s = split_row(row, C, R, S)
    return c, R - 1 - r, S - 1 - s


def taps_not_cut(row, C, R, S):
    """The remainder by R is forgotten."""
    c = row // (R * S)
    r = row // S
    s = row % S
    return c, r, s


# A column as n, p, q


def columns_pqn(col, N, P, Q):
    """The image counts fastest."""
    n = col % N
    p = col // (Q * N)
    q = col // N % Q
    return n, p, q


def columns_nqp(col, N, P, Q):
    """p counts faster than q."""
    n = col // (P * Q)
    p = col % P
    q = col // P % Q
    return n, p, q


def columns_cut_wrongly(col, N, P, Q):
    """P and Q change places in the last two."""
    n = col // (P * Q)
    p = col // P % Q
    q = col % P
    return n, p, q


def outputs_not_cut(col, N, P, Q):
    """The remainder by P is forgotten."""
    n = col // (P * Q)
    p = col // Q
    q = col % Q
    return n, p, q


def first_image(col, N, P, Q):
    """Every image is the first."""
    n = 0 * col
    p = col // Q % P
    q = col % Q
    return n, p, q
