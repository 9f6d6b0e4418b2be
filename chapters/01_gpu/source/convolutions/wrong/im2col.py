"""Wrong ideas of gpu.im2col: x[N,C,H,W], R, S, stride, padding -> cols[N P Q, C R S].

`how` stands for stride and padding. Some of the ideas raise, as the learner's would.

Dense: each wrong idea is a window of an image, with the letters of both.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit.convolutions import first_geometry, framed, im2col, output_size, windows
from labkit_lessons.gpu.convolutions.wrong.conv2d_direct import one_inside_size

# The windows [N,C,P,Q,R,S] in another order


def in_order(order: tuple, x, R, S, *how):
    """im2col with the axes N,C,P,Q,R,S of the windows in this order."""
    C = x.shape[1]
    seen = windows(x, R, S, *how)
    ordered = seen.transpose(order)
    return ordered.reshape(-1, C * R * S)


def with_order(order: tuple) -> Callable:
    """im2col with the axes N,C,P,Q,R,S of the windows in this order."""
    return partial(in_order, order)


channels_last = with_order((0, 2, 3, 4, 5, 1))
taps_swapped = with_order((0, 2, 3, 1, 5, 4))
no_transpose = with_order((0, 1, 2, 3, 4, 5))
columns_first = with_order((0, 3, 2, 1, 4, 5))


def taps_backwards(x, R, S, *how):
    """The taps of each row from the last to the first."""
    rows = im2col(x, R, S, *how)
    taps = rows.reshape(len(rows), -1, R, S)
    backwards = np.flip(taps, axis=(2, 3))
    return backwards.reshape(rows.shape)


def moved_by(down: int, right: int, x, R, S, stride, padding):
    """The windows move so far, but there are only as many as the stride leaves."""
    P, Q = output_size(x.shape, R, S, stride, padding)
    every_window = windows(x, R, S, 1, padding)
    first_windows = every_window[:, :, ::down, ::right][:, :, :P, :Q]
    ordered = first_windows.transpose(0, 2, 3, 1, 4, 5)
    N = len(x)
    return ordered.reshape(N * P * Q, -1)


def stride_one(x, R, S, stride=1, padding=0):
    """The windows move by one pixel."""
    return moved_by(1, 1, x, R, S, stride, padding)


def stride_down_alone(x, R, S, stride=1, padding=0):
    """The stride counts for the rows alone."""
    return moved_by(stride, 1, x, R, S, stride, padding)


def stride_right_alone(x, R, S, stride=1, padding=0):
    """The stride counts for the columns alone."""
    return moved_by(1, stride, x, R, S, stride, padding)


def two_strides_alone(x, R, S, stride=1, padding=0):
    """Every stride above 1 is taken for 2."""
    step = min(stride, 2)
    return moved_by(step, step, x, R, S, stride, padding)


def remembered_stride(x, R, S, stride=1, padding=0):
    """The stride is that of the first call with these shapes; the frame is as it should be."""
    first, _ = first_geometry(x.shape, R, S)
    return moved_by(first, first, x, R, S, stride, padding)


def remembered_geometry(x, R, S, stride=1, padding=0):
    """Stride and padding are those of the first call with these shapes."""
    return im2col(x, R, S, *first_geometry(x.shape, R, S))


def by_tap(
    x: np.ndarray,
    R: int,
    S: int,
    stride: int = 1,
    padding: int = 0,
    image_of: Callable = framed,
    axes: tuple = (0, 2, 3, 1),
    turned: bool = False,
) -> np.ndarray:
    """Tap by tap, as in the lesson, with one thing wrong; raises where shapes do not fit.

    image_of  image_of(x, padding) -> where the slices are cut out
    axes      how the axes N,C,P,Q of a slice are reordered
    turned    the slice of the rows is taken along the columns, and the other way round
    """
    N, C, _, _ = x.shape
    P, Q = output_size(x.shape, R, S, stride, padding)
    image = image_of(x, padding)  # [N,C,H,W]
    cols = np.zeros((N, P, Q, C, R, S), dtype=x.dtype)
    for r, s in np.ndindex(R, S):
        rows = slice(r, r + stride * P, stride)
        columns = slice(s, s + stride * Q, stride)
        seen = image[:, :, columns, rows] if turned else image[:, :, rows, columns]
        cols[..., r, s] = seen.transpose(axes)
    return cols.reshape(N * P * Q, -1)


def axes_unmoved(*inputs):
    """A slice is put as it is, [N,C,P,Q]."""
    return by_tap(*inputs, axes=(0, 1, 2, 3))


def axes_back(*inputs):
    """The axes are moved the other way round."""
    return by_tap(*inputs, axes=(0, 3, 1, 2))


def axes_turned(*inputs):
    """p and q change places as well."""
    return by_tap(*inputs, axes=(0, 3, 2, 1))


def slices_swapped(*inputs):
    """r and p go along the columns, s and q along the rows."""
    return by_tap(*inputs, turned=True)


def without_frame(x, padding):
    """x itself."""
    return x


def unpadded(*inputs):
    """The slices are cut out of x itself."""
    return by_tap(*inputs, image_of=without_frame)


def as_float32(x, *inputs):
    """The numbers are rounded."""
    rounded = x.astype("float32")
    return im2col(rounded, *inputs)


def one_inside(x, R, S, stride=1, padding=0):
    """P = (H + 2 padding - R + 1) // stride, and so for Q: the last windows may be missing."""
    P, Q = one_inside_size(x.shape, R, S, stride, padding)
    return as_rows(windows(x, R, S, stride, padding)[:, :, :P, :Q])


def rows_for_columns(x, R, S, stride=1, padding=0):
    """Q = P; what a window does not find in the image is 0."""
    P, Q = output_size(x.shape, R, S, stride, padding)
    image = framed(x, padding)
    missing = max(0, P - Q) * stride
    wider = np.pad(image, ((0, 0), (0, 0), (0, 0), (0, missing)))
    return as_rows(windows(wider, R, S, stride)[:, :, :, :P])


def as_rows(seen):
    """Windows [N,C,P,Q,R,S] as rows [N P Q, C R S]."""
    N, C, P, Q, R, S = seen.shape
    return seen.transpose(0, 2, 3, 1, 4, 5).reshape(N * P * Q, C * R * S)
