"""The exercises of lesson 01_gpu/1, gradients and convolutions: plain functions of arrays."""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit import reference
from labkit.checks.cases.common import CONVOLUTIONS, LIBRARIES, output_size
from labkit.checks.lessons import cases_of, exercise
from labkit.provenance import counted

WINDOWS = "numpy.lib.stride_tricks.sliding_window_view"


FC1 = "2 per multiply-add; the network's first fully connected layer, 32 images"
CONV1 = 32 * 32 * 32 * 3 * 3 * 3  # multiply-adds, one image: K P Q times C R S
CONV2 = 2 * 32 * (64 * 16 * 16) * (32 * 3 * 3)  # FLOP of a gradient: 2 N K P Q times C R S
PIXELS = 32 * 16 * 16  # of its input, one image


def costs(*rows: tuple[str, float, str, str]) -> Callable:
    """Rows of (label, number, unit, how it is counted), for after the solution."""
    return lambda: [(label, counted(*count)) for label, *count in rows]


def divided(gradients: tuple[np.ndarray, ...], n: int) -> tuple[np.ndarray, ...]:
    return tuple(gradient / n for gradient in gradients)


def normal(rng: np.random.Generator, *shapes: tuple | int) -> tuple[np.ndarray, ...]:
    return tuple(rng.normal(size=shape) for shape in shapes)


# dy[N,K], x[N,D], w[K,D] -> dx, dw, db

linear_backward = exercise(
    "gpu.linear_backward",
    oracle=reference.linear_backward,
    cases=cases_of(  # N, D, K
        {"prime": (7, 5, 3), "all sizes 1": (1, 1, 1), "ragged": (9, 4, 17)}
        | {"square": (4, 4, 4), "one image": (1, 6, 2), "larger": (32, 20, 10)},
        lambda rng, N, D, K: normal(rng, (N, K), (N, D), (K, D)),
    ),
    wrong={
        "dw_transposed": lambda dy, x, w: (dy @ w, x.T @ dy, dy.sum(axis=0)),
        "db_mean": lambda dy, x, w: (dy @ w, dy.T @ x, dy.mean(axis=0)),
        "divided_by_n": lambda dy, x, w: divided(reference.linear_backward(dy, x, w), len(x)),
        "product_of_sums": lambda dy, x, w: (dy @ w, np.outer(dy.sum(0), x.mean(0)), dy.sum(0)),
        "db_of_first_image": lambda dy, x, w: (dy @ w, dy.T @ x, dy[0]),
    },
    outputs=("dx", "dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(
        ("dw and dx together", 4 * 32 * 4096 * 128, "FLOP", FC1),
        ("bytes of w alone", 4 * 4096 * 128, "B", "4 bytes per number"),
    ),
)

# x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y


def conv2d_direct(x, w, b, stride=1, padding=0):
    """The loops themselves. The lesson times them, so the fast reference must not stand in."""
    return conv2d_loops(framed(x, padding), x.shape, w, b, stride, padding)


def framed(x, padding):
    return np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))


def conv2d_loops(image, x_shape, w, b, stride, padding):
    """The windows are cut out of `image`: x in its frame, or wrongly x itself."""
    (K, _, R, S), (P, Q) = w.shape, output_size(x_shape, *w.shape[2:], stride, padding)
    y = np.zeros((len(image), K, P, Q), dtype=image.dtype)
    for n, k, p, q in np.ndindex(y.shape):
        window = image[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        y[n, k, p, q] = np.sum(window * w[k]) + b[k]  # [C,R,S] * [C,R,S]
    return y


def stride_on_size_only(x, w, b, stride=1, padding=0):
    P, Q = output_size(x.shape, *w.shape[2:], stride, padding)
    return reference.conv2d(x, w, b, 1, padding)[:, :, :P, :Q]


direct = exercise(
    "gpu.conv2d_direct",
    oracle=reference.conv2d,
    cases=cases_of(CONVOLUTIONS, lambda rng, x, w, y, *how: (*normal(rng, x, w, w[0]), *how)),
    wrong={
        "kernel_flipped": lambda x, w, b, *how: reference.conv2d(x, w[:, :, ::-1, ::-1], b, *how),
        "taps_swapped": lambda x, w, b, *how: reference.conv2d(
            x, w.swapaxes(2, 3) if w.shape[2] == w.shape[3] else w, b, *how
        ),
        "stride_on_size_only": stride_on_size_only,
        "no_bias": lambda x, w, b, *how: reference.conv2d(x, w, None, *how),
        "unpadded": lambda x, w, b, *how: conv2d_loops(x, x.shape, w, b, *how),  # may raise
        "first_channel": lambda x, w, b, *how: reference.conv2d(x[:, :1], w[:, :1], b, *how),
        "bias_per_tap": lambda x, w, b, *how: reference.conv2d(x, w, b * w[0].size, *how),
        "window_summed_first": lambda x, w, b, *how: reference.conv2d(
            x, 0 * w + w.mean(axis=(1, 2, 3), keepdims=True), b, *how
        ),
    },
    outputs=("y",),
    forbidden=(*LIBRARIES, "numpy.convolve", "numpy.correlate"),
    cost=costs(
        ("first convolution of the network, one image", CONV1, "multiply-adds", "K P Q times C R S")
    ),
    fallback=conv2d_direct,
)

# x[N,C,H,W], R, S, stride, padding -> cols[N P Q, C R S]


def im2col(x, R, S, stride=1, padding=0):
    """All windows of x[N,C,H,W] as rows cols[N P Q, C R S], in the dtype of x; no loop."""
    return im2col_in_order(x, R, S, stride, padding, (0, 2, 3, 1, 4, 5))


def im2col_in_order(x, R, S, stride, padding, order):
    """im2col with the axes N,C,P,Q,R,S of the windows in some order, right or wrong."""
    windows = np.lib.stride_tricks.sliding_window_view(framed(x, padding), (R, S), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]  # [N,C,P,Q,R,S]
    return windows.transpose(order).reshape(-1, x.shape[1] * R * S)


def im2col_stride_one(x, R, S, stride=1, padding=0):
    (P, Q), (tall, wide) = (output_size(x.shape, R, S, by, padding) for by in (stride, 1))
    windows = im2col(x, R, S, 1, padding).reshape(len(x), tall, wide, -1)
    return windows[:, :P, :Q].reshape(len(x) * P * Q, -1)


cols = exercise(
    "gpu.im2col",
    oracle=im2col,
    cases=cases_of(
        CONVOLUTIONS,
        lambda rng, x, w, y, *how: (rng.normal(size=x).astype(np.float32), *w[2:], *how),
    ),
    wrong={
        "channels_last": lambda *inputs: im2col_in_order(*inputs, (0, 2, 3, 4, 5, 1)),
        "taps_swapped": lambda *inputs: im2col_in_order(*inputs, (0, 2, 3, 1, 5, 4)),
        "no_transpose": lambda *inputs: im2col_in_order(*inputs, (0, 1, 2, 3, 4, 5)),
        "columns_first": lambda *inputs: im2col_in_order(*inputs, (0, 3, 2, 1, 4, 5)),
        "stride_one": im2col_stride_one,
    },
    outputs=("cols",),
    forbidden=(*LIBRARIES, WINDOWS),
    cost=costs(
        ("second convolution, one image: input", 4 * PIXELS, "B", "4 bytes per number"),
        ("the same as im2col rows", 36 * PIXELS, "B", "4 bytes per number, 9 taps"),
    ),
)

# dy[N,K,P,Q], x[N,C,H,W], R, S, stride, padding -> dw[K,C,R,S], db[K]


def weight_gradients(dy, x, R, S, stride=1, padding=0):
    w = np.zeros((dy.shape[1], x.shape[1], R, S))  # dw and db do not depend on w
    return reference.conv2d_backward(dy, x, w, stride, padding)[1:]


def changed(dw_to, *inputs):
    """Both gradients with dw_to(dw) for dw."""
    dw, db = weight_gradients(*inputs)
    return dw_to(dw).reshape(dw.shape), db


weights = exercise(
    "gpu.conv2d_backward_weights",
    oracle=weight_gradients,
    cases=cases_of(CONVOLUTIONS, lambda rng, x, w, y, *how: (*normal(rng, y, x), *w[2:], *how)),
    wrong={
        "dy_not_transposed": lambda dy, x, *how: changed(  # its rows mix k with p and q
            lambda dw: dy.reshape(-1, len(dw)).T @ im2col(x, *how), dy, x, *how
        ),
        "product_turned": partial(changed, lambda dw: dw.reshape(len(dw), -1).T),
        "dw_flipped": partial(changed, lambda dw: dw[:, :, ::-1, ::-1]),
        "divided_by_n": lambda dy, x, *how: divided(weight_gradients(dy, x, *how), len(x)),
        "db_mean": lambda dy, *how: (weight_gradients(dy, *how)[0], dy.mean(axis=(0, 2, 3))),
        "first_image": lambda dy, x, *how: weight_gradients(dy[:1], x[:1], *how),
        "dw_channels_last": partial(changed, lambda dw: dw.transpose(0, 2, 3, 1)),
    },
    outputs=("dw", "db"),
    forbidden=(*LIBRARIES, WINDOWS),
    cost=costs(("dw of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
)

# dy[N,K,P,Q], w[K,C,R,S], x_shape, stride, padding -> dx[N,C,H,W]


def input_gradient(dy, w, x_shape, stride=1, padding=0):
    x = np.zeros(x_shape)  # dx does not depend on x
    return reference.conv2d_backward(dy, x, w, stride, padding)[0]


def scatter(dy, w, x_shape, stride, padding, corner, add=True):
    """dx tap by tap, cut out of its frame at (corner, corner). A tap adds or overwrites."""
    (N, C, H, W), (P, Q) = x_shape, dy.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(w.shape[2:]):
        part = np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])
        seen = dx[:, :, r : r + stride * P : stride, s : s + stride * Q : stride]
        seen[...] = seen + part if add else part
    return dx[:, :, corner : corner + H, corner : corner + W]


inputs = exercise(
    "gpu.conv2d_backward_input",
    oracle=input_gradient,
    cases=cases_of(CONVOLUTIONS, lambda rng, x, w, y, *how: (*normal(rng, y, w), x, *how)),
    wrong={
        "overwrites": lambda *inputs: scatter(*inputs, corner=inputs[-1], add=False),
        "not_cropped": lambda *inputs: scatter(*inputs, corner=0),
        "kernel_flipped": lambda dy, w, *how: input_gradient(dy, w[:, :, ::-1, ::-1], *how),
        "stride_one": lambda dy, w, x_shape, stride, padding: scatter(
            dy, w, x_shape, 1, padding, corner=padding
        ),
        "first_output_channel": lambda dy, w, *how: input_gradient(dy[:, :1], w[:1], *how),
    },
    outputs=("dx",),
    forbidden=LIBRARIES,
    cost=costs(("dx of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
)

EXERCISES = [linear_backward, direct, cols, weights, inputs]
