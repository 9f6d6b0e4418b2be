"""Wrong ideas of tpu.implicit_rows: x[N,C,H,W], m[i], R, S, stride, padding -> rows[i, C R S].

Each is the lesson's address of a pixel with another part; it may raise, as a learner's would.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from labkit.convolutions import framed, im2col, output_size


def tap_of(C, R, S):
    """Column of the matrix -> channel, row and column in the window; as it should be."""
    return np.unravel_index(np.arange(C * R * S), (C, R, S))


def window_of(m, N, P, Q):
    """Row of the matrix -> image, and row and column of the output; as it should be."""
    return np.unravel_index(m, (N, P, Q))


def line_of(p, r, R, stride, padding):
    """Output row and tap -> row of the framed image, and so for columns; as it should be."""
    return p * stride + r


def addressed(
    x,
    m,
    R,
    S,
    stride=1,
    padding=0,
    *,
    tap: Callable = tap_of,
    window: Callable = window_of,
    line: Callable = line_of,
    frame: Callable = framed,
):
    """The lesson's addresses, one part of which may be another."""
    N, C, _, _ = x.shape
    P, Q = output_size(x.shape, R, S, stride, padding)
    image = frame(x, padding)
    c, r, s = tap(C, R, S)  # each [C R S]
    n, p, q = window(m[:, None], N, P, Q)  # each [i, 1]
    row = line(p, r, R, stride, padding)
    column = line(q, s, S, stride, padding)
    return image[n, c, row, column]


def with_stride_of(first: Mapping[tuple, int]) -> Callable:
    """The stride is `first[x.shape, R, S]`, that of the first call with these shapes."""

    def wrong(x, m, R, S, stride=1, padding=0):
        kept = first[x.shape, R, S]
        row_count = partial(output_size, R=R, S=S, stride=kept, padding=padding)
        P, Q = row_count(x.shape)
        window = partial(window_kept, sizes=(P, Q))
        line = partial(line_kept, kept=kept)
        return addressed(x, m, R, S, stride, padding, window=window, line=line)

    return wrong


def window_kept(m, N, P, Q, sizes):
    """The window by sizes that were kept."""
    return np.unravel_index(m, (N, *sizes))


def line_kept(p, r, R, stride, padding, kept):
    """The row by a stride that was kept."""
    return p * kept + r


def with_tap(tap: Callable) -> Callable:
    """The columns of the matrix have the taps tap(C, R, S)."""
    return partial(addressed, tap=tap)


def with_window(window: Callable) -> Callable:
    """The rows of the matrix have the windows window(m, N, P, Q)."""
    return partial(addressed, window=window)


def with_line(line: Callable) -> Callable:
    """A pixel lies in row line(p, r, R, stride, padding), and its column follows the same rule."""
    return partial(addressed, line=line)


def channels_last(C, R, S):
    """The channel counts fastest."""
    r, s, c = np.unravel_index(np.arange(C * R * S), (R, S, C))
    return c, r, s


def taps_backwards(C, R, S):
    """The last pixel of a window comes first, in each channel."""
    c, r, s = tap_of(C, R, S)
    return c, R - 1 - r, S - 1 - s


def taps_swapped(C, R, S):
    """r is taken along the image's columns, s along its rows."""
    c, r, s = tap_of(C, R, S)
    return c, s, r


def no_column(m, N, P, Q):
    """n, p and q are rows beside the rows c, r and s: they fit by chance alone."""
    return window_of(m[:, 0], N, P, Q)


def columns_first(m, N, P, Q):
    """p counts fastest."""
    n, q, p = np.unravel_index(m, (N, Q, P))
    return n, p, q


def images_fastest(m, N, P, Q):
    """n counts fastest."""
    p, q, n = np.unravel_index(m, (P, Q, N))
    return n, p, q


def p_runs_on(m, N, P, Q):
    """p does not begin again with the next image."""
    n, _, q = window_of(m, N, P, Q)
    return n, m // Q, q


def sizes_swapped(m, N, P, Q):
    """P stands for Q, and Q for P."""
    return window_of(m, N, Q, P)


def rows_for_columns(m, N, P, Q):
    """P positions stand in a row."""
    n, place = np.divmod(m, P * P)
    return n, *np.divmod(place, P)


def positions_swapped(m, N, P, Q):
    """p is taken along the image's columns, q along its rows."""
    n, p, q = window_of(m, N, P, Q)
    return n, q, p


def pixels_for_windows(x, m, R, S, stride=1, padding=0):
    """H and W of the framed image stand for P and Q."""
    H, W = framed(x, padding).shape[2:]

    def window(m, N, P, Q):
        return np.unravel_index(m, (N, H, W))

    return addressed(x, m, R, S, stride, padding, window=window)


def without_frame(x, padding):
    """x itself."""
    return x


def unpadded(x, m, R, S, stride=1, padding=0):
    """The pixels are read from x itself."""
    return addressed(x, m, R, S, stride, padding, frame=without_frame)


def stride_one(p, r, R, stride, padding):
    """Windows move by one pixel."""
    return p + r


def stride_on_taps(p, r, R, stride, padding):
    """The stride lies between the taps."""
    return p + r * stride


def stride_on_both(p, r, R, stride, padding):
    """The stride lies between the windows, and between the taps as well."""
    return (p + r) * stride


def padding_subtracted(p, r, R, stride, padding):
    """The frame counts twice."""
    begin = p * stride - padding
    return begin + r


def centred(p, r, R, stride, padding):
    """The window lies around its output position."""
    begin = p * stride - R // 2
    return begin + r


def kernel_as_stride(p, r, R, stride, padding):
    """The windows lie side by side."""
    return p * R + r


# Rows of the whole matrix


def all_rows(x, m, *how):
    """m is not used."""
    return im2col(x, *how)


def first_rows(x, m, *how):
    """As many rows as are asked for, but the first ones."""
    matrix = im2col(x, *how)
    return matrix[: len(m)]


def consecutive(x, m, *how):
    """As many rows as are asked for, from the first number on."""
    return addressed(x, m[0] + np.arange(len(m)), *how)


def in_rising_order(x, m, *how):
    """The right rows, from the first to the last."""
    matrix = im2col(x, *how)
    rising = np.sort(m)
    return matrix[rising]
