"""Windows of a convolution: how many there are, all of them as rows, and sizes worth testing.

The letters are those of `labkit.reference`; lesson 01_gpu/1 derives the formulas.
"""

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


# Each pair of stride and padding has its own case, most of them with P != Q and R != S, so that
# no two of the letters can be taken for each other everywhere. Where nothing overlaps, C = P = Q:
# there a wrong order of axes gives wrong values instead of an error. A 1x1 kernel in a frame parts
# those who forget the frame from those who count it twice.
_TELLING = {  # name: shape of x [N,C,H,W], shape of w [K,C,R,S], stride, padding
    "prime sizes": ((2, 5, 13, 9), (3, 5, 3, 3), 1, 0),
    "all sizes 1": ((1, 1, 1, 1), (1, 1, 1, 1), 1, 0),
    "ragged with stride and padding": ((1, 2, 8, 5), (3, 2, 3, 3), 2, 1),
    "non-square kernel": ((2, 3, 6, 9), (4, 3, 2, 3), 1, 0),
    "no overlap": ((2, 3, 6, 6), (4, 3, 2, 2), 2, 0),
    "1x1 kernel in a frame": ((1, 2, 4, 5), (3, 2, 1, 1), 1, 1),
    "tall kernel with padding": ((2, 3, 5, 8), (4, 3, 3, 2), 1, 1),
    "tall kernel with stride": ((1, 2, 9, 10), (3, 2, 3, 2), 2, 0),
    "wide kernel with large stride": ((2, 1, 9, 15), (3, 1, 2, 5), 3, 2),
    "stride larger than the kernel": ((2, 3, 8, 11), (4, 3, 1, 2), 3, 0),
    "padding as large as the kernel": ((2, 2, 4, 7), (3, 2, 2, 3), 2, 3),
    "image smaller than the kernel": ((1, 3, 2, 3), (2, 3, 3, 5), 1, 2),
    "like the network": ((2, 4, 6, 6), (3, 4, 3, 3), 1, 1),
}


def _with_output(x: tuple, w: tuple, stride: int, padding: int) -> tuple:
    K, _, R, S = w
    P, Q = output_size(x, R, S, stride, padding)
    return x, w, (x[0], K, P, Q), stride, padding


# name: shapes of x [N,C,H,W], w [K,C,R,S] and y [N,K,P,Q], stride, padding
TELLING_SIZES = {name: _with_output(*sizes) for name, sizes in _TELLING.items()}
