"""Windows of a convolution: how many there are, all of them as rows, and sizes worth testing.

The letters are those of `labkit.reference`; lesson convolutions derives the formulas.

Dense: the table of sizes at the end, in which a row is one case, to be compared with the rows
around it.
"""

from typing import NamedTuple

import numpy as np


def output_size(x_shape: tuple, R: int, S: int, stride: int, padding: int) -> tuple[int, int]:
    """P and Q of a convolution of x[N,C,H,W] with a kernel of R x S.

    P = (H + 2 padding - R) // stride + 1, and Q likewise from W and S.
    """
    H, W = x_shape[2:]
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    return P, Q


def framed(x: np.ndarray, padding: int) -> np.ndarray:
    """x[N,C,H,W] in a frame of zeros, [N, C, H + 2 padding, W + 2 padding]."""
    return np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))


def windows(x: np.ndarray, R: int, S: int, stride: int = 1, padding: int = 0) -> np.ndarray:
    """What each output sees of x[N,C,H,W]: a view [N,C,P,Q,R,S] of the framed image."""
    image = framed(x, padding)
    seen = np.lib.stride_tricks.sliding_window_view(image, (R, S), axis=(2, 3))
    return seen[:, :, ::stride, ::stride]


def im2col(x: np.ndarray, R: int, S: int, stride: int = 1, padding: int = 0) -> np.ndarray:
    """All windows of x[N,C,H,W] as rows cols[N P Q, C R S], in the dtype of x."""
    rows = windows(x, R, S, stride, padding).transpose(0, 2, 3, 1, 4, 5)  # [N,P,Q,C,R,S]
    return rows.reshape(-1, x.shape[1] * R * S)


class Sizes(NamedTuple):
    """Shapes of one convolution, with its stride and padding."""

    x: tuple[int, int, int, int]  # [N,C,H,W]
    w: tuple[int, int, int, int]  # [K,C,R,S]
    y: tuple[int, int, int, int]  # [N,K,P,Q]
    stride: int
    padding: int


def _sizes(x: tuple, w: tuple, stride: int = 1, padding: int = 0) -> Sizes:
    """The sizes of a convolution of x[N,C,H,W] with w[K,C,R,S], those of its output included."""
    N, K = x[0], w[0]
    P, Q = output_size(x, w[2], w[3], stride, padding)
    return Sizes(x, w, (N, K, P, Q), stride, padding)


# Each pair of stride and padding has its own case, most of them with P != Q and R != S, so that
# no two of the letters can be taken for each other everywhere. Where nothing overlaps, C = P = Q:
# there a wrong order of axes gives wrong values instead of an error. A 1x1 kernel in a frame parts
# those who forget the frame from those who count it twice.
TELLING_SIZES = {
    "prime sizes": _sizes(x=(2, 5, 13, 9), w=(3, 5, 3, 3)),
    "all sizes 1": _sizes(x=(1, 1, 1, 1), w=(1, 1, 1, 1)),
    "ragged with stride and padding": _sizes(x=(1, 2, 8, 5), w=(3, 2, 3, 3), stride=2, padding=1),
    "non-square kernel": _sizes(x=(2, 3, 6, 9), w=(4, 3, 2, 3)),
    "no overlap": _sizes(x=(2, 3, 6, 6), w=(4, 3, 2, 2), stride=2),
    "1x1 kernel in a frame": _sizes(x=(1, 2, 4, 5), w=(3, 2, 1, 1), padding=1),
    "tall kernel with padding": _sizes(x=(3, 3, 5, 8), w=(4, 3, 3, 2), padding=1),
    "tall kernel with stride": _sizes(x=(1, 2, 9, 10), w=(3, 2, 3, 2), stride=2),
    "wide kernel with large stride": _sizes(x=(2, 1, 9, 15), w=(3, 1, 2, 5), stride=3, padding=2),
    "stride larger than the kernel": _sizes(x=(2, 3, 8, 11), w=(4, 3, 1, 2), stride=3),
    "padding as large as the kernel": _sizes(x=(2, 2, 4, 7), w=(3, 2, 2, 3), stride=2, padding=3),
    "image smaller than the kernel": _sizes(x=(1, 3, 2, 3), w=(2, 3, 3, 5), padding=2),
    "like the network": _sizes(x=(2, 4, 6, 6), w=(3, 4, 3, 3), padding=1),
}

# A case behind those above, for functions that may remember: its shapes have been met before.
SAME_SHAPES = {
    "the same shapes, another stride and padding": _sizes(
        x=(1, 2, 8, 5), w=(3, 2, 3, 3), stride=3, padding=2
    ),
}

# For functions that make a matrix: P is not Q, though H is W.
SQUARE_IMAGE = {"square image, wide kernel": _sizes(x=(2, 2, 6, 6), w=(3, 2, 2, 3))}
IN_FLOAT32 = {"numbers in float32": _sizes(x=(2, 3, 5, 7), w=(6, 3, 2, 3))}


def first_geometry(x_shape: tuple, R: int, S: int) -> tuple[int, int]:
    """Stride and padding of the first case that has these shapes: what a later one must not use."""
    for sizes in (TELLING_SIZES | SQUARE_IMAGE | IN_FLOAT32).values():
        if sizes.x == tuple(x_shape) and sizes.w[2:] == (R, S):
            return sizes.stride, sizes.padding
    raise ValueError(f"No case of TELLING_SIZES has x {x_shape} and a kernel of {R} x {S}.")
