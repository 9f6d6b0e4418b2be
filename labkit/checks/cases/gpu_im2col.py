"""gpu.im2col: x[N,C,H,W], R, S, stride, padding -> cols[N P Q, C R S] (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit.checks.cases.common import CONVOLUTIONS, LIBRARIES, misconceptions, output_size
from labkit.checks.exercise import Case, Exercise
from labkit.provenance import Quantity, counted


def cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, x, (_, _, R, S), _, stride, padding in CONVOLUTIONS:
        yield Case(name, (rng.normal(size=x).astype(np.float32), R, S, stride, padding))


def im2col(x, R, S, stride=1, padding=0):
    """All windows of x[N,C,H,W] as rows cols[N P Q, C R S], in the dtype of x; no loop."""
    return _cols(x, R, S, stride, padding, (0, 2, 3, 1, 4, 5))


def _cols(x, R, S, stride, padding, order):
    """im2col with the axes N,C,P,Q,R,S of the windows in some order, right or wrong."""
    frame = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, frame), (R, S), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]  # [N,C,P,Q,R,S]
    return windows.transpose(order).reshape(-1, x.shape[1] * R * S)


def channels_last(x, R, S, stride=1, padding=0):
    """A row is in the order R, S, C. It must be C, R, S, the order of w[k].reshape(-1)."""
    return _cols(x, R, S, stride, padding, (0, 2, 3, 4, 5, 1))


def taps_swapped(x, R, S, stride=1, padding=0):
    """The taps r and s are swapped within a row."""
    return _cols(x, R, S, stride, padding, (0, 2, 3, 1, 5, 4))


def no_transpose(x, R, S, stride=1, padding=0):
    """The axes are reshaped without being moved: a row mixes windows. Bring the axes into the order
    N, P, Q, C, R, S before the reshape."""
    return _cols(x, R, S, stride, padding, (0, 1, 2, 3, 4, 5))


def columns_first(x, R, S, stride=1, padding=0):
    """The windows run down the columns first. q must change fastest, then p."""
    return _cols(x, R, S, stride, padding, (0, 3, 2, 1, 4, 5))


def stride_one(x, R, S, stride=1, padding=0):
    """The windows move by one pixel. They must move by `stride` pixels."""
    (P, Q), (tall, wide) = (output_size(x.shape, R, S, by, padding) for by in (stride, 1))
    windows = im2col(x, R, S, 1, padding).reshape(len(x), tall, wide, -1)
    return windows[:, :P, :Q].reshape(len(x) * P * Q, -1)


def cost() -> list[tuple[str, Quantity]]:
    pixels = 32 * 16 * 16
    copies = counted(4 * pixels * 3 * 3, "B", "4 bytes per number, 9 taps")
    return [
        ("second convolution, one image: input", counted(4 * pixels, "B", "4 bytes per number")),
        ("the same as im2col rows", copies),
    ]


EXERCISES = [
    Exercise(
        id="gpu.im2col",
        oracle=im2col,
        cases=cases,
        outputs=("cols",),
        hints=(
            "One line inside the loop is enough: for a fixed tap (r, s), which pixels does it see "
            "in all windows at once?",
            "They are a strided slice of the padded image: rows r, r + stride, ..., P of them. The "
            "slice has shape [N, C, P, Q].",
            "cols[..., r, s] has shape [N, P, Q, C], so the slice needs its axes in the order "
            "0, 2, 3, 1.",
        ),
        misconceptions=misconceptions(
            channels_last, taps_swapped, no_transpose, columns_first, stride_one
        ),
        forbidden=(*LIBRARIES, "numpy.lib.stride_tricks.sliding_window_view"),
        cost=cost,
    )
]
