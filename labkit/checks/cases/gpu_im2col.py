"""gpu.im2col: x, R, S, stride, padding -> cols[N P Q, C R S] (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit.checks.cases.convolution_shapes import LIBRARIES, convolution_shapes
from labkit.checks.exercise import Case, Exercise, Misconception
from labkit.provenance import counted


def im2col(x, R, S, stride=1, padding=0):
    """All windows of x[N,C,H,W] as rows cols[N P Q, C R S], in the dtype of x; no loop."""
    frame = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, frame), (R, S), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]  # [N, C, P, Q, R, S]
    n, c, p, q = windows.shape[:4]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * p * q, c * R * S)


def _im2col_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, n, c, h, w, _, r, s, stride, padding, _, _ in convolution_shapes():
        yield Case(name, (rng.normal(size=(n, c, h, w)).astype(np.float32), r, s, stride, padding))


def _reordered(x, R, S, stride, padding, order):
    cols = im2col(x, R, S, stride, padding)
    return cols.reshape(len(cols), x.shape[1], R, S).transpose(order).reshape(cols.shape)


def _channels_last(x, R, S, stride=1, padding=0):
    return _reordered(x, R, S, stride, padding, (0, 2, 3, 1))


def _taps_swapped(x, R, S, stride=1, padding=0):
    return _reordered(x, R, S, stride, padding, (0, 1, 3, 2))


def _no_transpose(x, R, S, stride=1, padding=0):
    n, c, h, w = x.shape
    p, q = (h + 2 * padding - R) // stride + 1, (w + 2 * padding - S) // stride + 1
    windows = im2col(x, R, S, stride, padding).reshape(n, p, q, c, R, S)
    return windows.transpose(0, 3, 1, 2, 4, 5).reshape(n * p * q, c * R * S)


def _columns_first(x, R, S, stride=1, padding=0):
    n, c, h, w = x.shape
    p, q = (h + 2 * padding - R) // stride + 1, (w + 2 * padding - S) // stride + 1
    windows = im2col(x, R, S, stride, padding).reshape(n, p, q, c * R * S)
    return windows.transpose(0, 2, 1, 3).reshape(n * p * q, c * R * S)


def _stride_one(x, R, S, stride=1, padding=0):
    n, c, h, w = x.shape
    p, q = (h + 2 * padding - R) // stride + 1, (w + 2 * padding - S) // stride + 1
    windows = im2col(x, R, S, 1, padding).reshape(n, -1, w + 2 * padding - S + 1, c * R * S)
    return windows[:, :p, :q].reshape(n * p * q, c * R * S)


_IM2COL = Exercise(
    id="gpu.im2col",
    oracle=im2col,
    cases=_im2col_cases,
    outputs=("cols",),
    hints=(
        "One line inside the loop is enough: for a fixed tap (r, s), which pixels does it see in "
        "all windows at once?",
        "They are a strided slice of the padded image: rows r, r + stride, ..., P of them. The "
        "slice has shape [N, C, P, Q].",
        "cols[..., r, s] has shape [N, P, Q, C], so the slice needs its axes in the order 0, 2, "
        "3, 1.",
    ),
    misconceptions=(
        Misconception(
            "A row is in the order R, S, C. It must be C, R, S, the order of w[k].reshape(-1).",
            _channels_last,
        ),
        Misconception("The taps r and s are swapped within a row.", _taps_swapped),
        Misconception(
            "The axes are reshaped without being moved: a row mixes windows. Bring the axes into "
            "the order N, P, Q, C, R, S before the reshape.",
            _no_transpose,
        ),
        Misconception(
            "The windows run down the columns first. q must change fastest, then p.", _columns_first
        ),
        Misconception(
            "The windows move by one pixel. They must move by `stride` pixels.", _stride_one
        ),
    ),
    forbidden=(*LIBRARIES, "numpy.lib.stride_tricks.sliding_window_view"),
    cost=lambda: [
        (
            "second convolution, one image: input",
            counted(4 * 32 * 16 * 16, "B", "4 bytes per number"),
        ),
        (
            "the same as im2col rows",
            counted(4 * 16 * 16 * 32 * 9, "B", "4 bytes per number, 9 taps"),
        ),
    ],
)

EXERCISES = [_IM2COL]
