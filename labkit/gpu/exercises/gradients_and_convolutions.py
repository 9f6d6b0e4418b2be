"""The exercises of lesson 01_gpu/1, gradients and convolutions: plain functions of arrays."""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit import reference
from labkit.checks.items import LIBRARIES, WINDOWS, cases_of, exercise
from labkit.convolutions import TELLING_SIZES, framed, im2col, output_size, windows
from labkit.provenance import counted

FLOAT64 = {"rtol": 1e-9, "atol": 1e-12}  # the inputs are float64: rounding to float32 shows


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


def with_dw(dw_of: Callable, dy, x, w):
    """The right gradients, but dw from a wrong idea."""
    return dy @ w, dw_of(dy, x), dy.sum(axis=0)


def with_db(db_of: Callable, dy, x, w):
    """The right gradients, but db from a wrong idea."""
    return dy @ w, dy.T @ x, db_of(dy)


linear_backward = exercise(
    "gpu.linear_backward",
    oracle=reference.linear_backward,
    cases=cases_of(  # N, D, K
        {"prime": (7, 5, 3), "all sizes 1": (1, 1, 1), "ragged": (9, 4, 17)}
        | {"square": (4, 4, 4), "one image": (1, 6, 2), "one feature": (5, 1, 3)}
        | {"one output": (6, 4, 1), "K = D": (5, 3, 3), "K = N": (3, 5, 3), "D = N": (4, 4, 6)}
        | {"larger": (32, 20, 10)},
        lambda rng, N, D, K: normal(rng, (N, K), (N, D), (K, D)),
    ),
    wrong={
        "dw_transposed": partial(with_dw, lambda dy, x: x.T @ dy),
        "dy_not_turned": partial(with_dw, lambda dy, x: dy @ x),  # raises unless K = N
        "w_turned": lambda dy, x, w: (dy @ w.T, dy.T @ x, dy.sum(axis=0)),  # or K = D
        "db_mean": partial(with_db, lambda dy: dy.mean(axis=0)),
        "divided_by_n": lambda dy, x, w: divided(reference.linear_backward(dy, x, w), len(x)),
        "product_of_sums": partial(with_dw, lambda dy, x: np.outer(dy.sum(axis=0), x.mean(axis=0))),
        "db_of_first_image": partial(with_db, lambda dy: dy[0]),
        "db_over_outputs": partial(with_db, lambda dy: dy.sum(axis=1)),
        "db_one_number": partial(with_db, np.sum),
    },
    outputs=("dx", "dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(
        ("dw and dx together", 4 * 32 * 4096 * 128, "FLOP", FC1),
        ("bytes of w alone", 4 * 4096 * 128, "B", "4 bytes per number"),
    ),
    dtype="float64",
    **FLOAT64,
)

# x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y


def conv2d_direct(x, w, b, stride=1, padding=0):
    """The loops themselves. The lesson times them, so the fast reference must not stand in."""
    return conv2d_loops(framed(x, padding), x.shape, w, b, stride, padding)


def window_at(image, p, q, R, S, stride, padding):
    """The window [C,R,S] of output cell (p, q), cut out of image[C,H,W] with its frame."""
    return image[:, p * stride : p * stride + R, q * stride : q * stride + S]


def window_turned(image, p, q, R, S, stride, padding):
    """p goes along the columns, q along the rows."""
    return window_at(image, q, p, R, S, stride, padding)


def window_widened(image, p, q, R, S, stride, padding):
    """The stride lies between the pixels of a window as well."""
    top, left = p * stride, q * stride
    return image[:, top : top + R * stride : stride, left : left + S * stride : stride]


def window_moved_back(image, p, q, R, S, stride, padding):
    """The padding is subtracted, although the image is in its frame."""
    top, left = p * stride - padding, q * stride - padding
    return image[:, top : top + R, left : left + S]


def window_moved_on(image, p, q, R, S, stride, padding):
    """The padding is added, although the image is in its frame."""
    return window_moved_back(image, p, q, R, S, stride, -padding)


def conv2d_loops(image, x_shape, w, b, stride, padding, window=window_at, product=np.multiply):
    """The windows are cut out of `image`: x in its frame, or wrongly x itself."""
    K, _, R, S = w.shape
    P, Q = output_size(x_shape, R, S, stride, padding)
    y = np.zeros((len(image), K, P, Q), dtype=image.dtype)
    for n, k, p, q in np.ndindex(y.shape):
        seen = window(image[n], p, q, R, S, stride, padding)
        y[n, k, p, q] = np.sum(product(seen, w[k])) + b[k]  # [C,R,S] * [C,R,S]
    return y


def conv2d_by(x, w, b, stride=1, padding=0, **how):
    """The loops with another way to cut a window, or to multiply it; they may raise."""
    return conv2d_loops(framed(x, padding), x.shape, w, b, stride, padding, **how)


def stride_on_size_only(x, w, b, stride=1, padding=0):
    P, Q = output_size(x.shape, *w.shape[2:], stride, padding)
    return reference.conv2d(x, w, b, 1, padding)[:, :, :P, :Q]


direct = exercise(
    "gpu.conv2d_direct",
    oracle=reference.conv2d,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (*normal(rng, x, w, w[0]), *how)),
    wrong={
        "kernel_flipped": lambda x, w, b, *how: reference.conv2d(x, w[:, :, ::-1, ::-1], b, *how),
        "taps_swapped": lambda x, w, b, *how: reference.conv2d(
            x, w.swapaxes(2, 3) if w.shape[2] == w.shape[3] else w, b, *how
        ),
        "stride_on_size_only": stride_on_size_only,
        "no_bias": lambda x, w, b, *how: reference.conv2d(x, w, None, *how),
        "unpadded": lambda x, w, b, *how: conv2d_loops(x, x.shape, w, b, *how),  # may raise
        "padding_subtracted": partial(conv2d_by, window=window_moved_back),
        "padding_added": partial(conv2d_by, window=window_moved_on),
        "positions_swapped": partial(conv2d_by, window=window_turned),
        "stride_in_the_window": partial(conv2d_by, window=window_widened),
        "matrix_product": partial(conv2d_by, product=np.matmul),
        "mean_of_the_window": lambda x, w, b, *how: reference.conv2d(x, w / w[0].size, b, *how),
        "first_channel": lambda x, w, b, *how: reference.conv2d(x[:, :1], w[:, :1], b, *how),
        "first_filter": lambda x, w, b, *how: reference.conv2d(x, 0 * w + w[:1], b, *how),
        "first_image": lambda x, w, b, *how: reference.conv2d(0 * x + x[:1], w, b, *how),
        "bias_per_tap": lambda x, w, b, *how: reference.conv2d(x, w, b * w[0].size, *how),
        "window_summed_first": lambda x, w, b, *how: reference.conv2d(
            x, 0 * w + w.mean(axis=(1, 2, 3), keepdims=True), b, *how
        ),
    },
    outputs=("y",),
    forbidden=LIBRARIES,
    cost=costs(
        ("first convolution of the network, one image", CONV1, "multiply-adds", "K P Q times C R S")
    ),
    fallback=conv2d_direct,
    **FLOAT64,
)

# x[N,C,H,W], R, S, stride, padding -> cols[N P Q, C R S]


def im2col_in_order(x, R, S, stride, padding, order):
    """im2col with the axes N,C,P,Q,R,S of the windows in a wrong order."""
    rows = windows(x, R, S, stride, padding).transpose(order)
    return rows.reshape(-1, x.shape[1] * R * S)


def im2col_backwards(x, R, S, stride=1, padding=0):
    """The taps of each row from the last to the first."""
    rows = im2col(x, R, S, stride, padding)
    taps = rows.reshape(len(rows), x.shape[1], R, S)
    return taps[:, :, ::-1, ::-1].reshape(rows.shape)


def im2col_stride_one(x, R, S, stride=1, padding=0):
    P, Q = output_size(x.shape, R, S, stride, padding)
    tall, wide = output_size(x.shape, R, S, 1, padding)
    windows = im2col(x, R, S, 1, padding).reshape(len(x), tall, wide, -1)
    return windows[:, :P, :Q].reshape(len(x) * P * Q, -1)


def im2col_by_tap(x, R, S, stride=1, padding=0, image_of=framed, axes=(0, 2, 3, 1), turned=False):
    """Tap by tap, as in the lesson, with another image or other axes; raises where they do not fit.

    turned   the slice of the rows is taken along the columns, and the other way round
    """
    P, Q = output_size(x.shape, R, S, stride, padding)
    image = image_of(x, padding)  # [N,C,H,W]
    cols = np.zeros((len(x), P, Q, x.shape[1], R, S), dtype=x.dtype)
    for r, s in np.ndindex(R, S):
        down = slice(r, r + stride * P, stride)
        right = slice(s, s + stride * Q, stride)
        seen = image[:, :, right, down] if turned else image[:, :, down, right]
        cols[..., r, s] = seen.transpose(axes)
    return cols.reshape(len(x) * P * Q, -1)


cols = exercise(
    "gpu.im2col",
    oracle=im2col,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (rng.normal(size=x), *w[2:], *how)),
    wrong={
        "channels_last": lambda *inputs: im2col_in_order(*inputs, (0, 2, 3, 4, 5, 1)),
        "taps_swapped": lambda *inputs: im2col_in_order(*inputs, (0, 2, 3, 1, 5, 4)),
        "taps_backwards": im2col_backwards,
        "no_transpose": lambda *inputs: im2col_in_order(*inputs, (0, 1, 2, 3, 4, 5)),
        "columns_first": lambda *inputs: im2col_in_order(*inputs, (0, 3, 2, 1, 4, 5)),
        "stride_one": im2col_stride_one,
        "axes_unmoved": partial(im2col_by_tap, axes=(0, 1, 2, 3)),
        "axes_back": partial(im2col_by_tap, axes=(0, 3, 1, 2)),
        "axes_turned": partial(im2col_by_tap, axes=(0, 3, 2, 1)),
        "slices_swapped": partial(im2col_by_tap, turned=True),
        "unpadded": partial(im2col_by_tap, image_of=lambda x, padding: x),
        "as_float32": lambda x, *how: im2col(x.astype("float32"), *how),
    },
    outputs=("cols",),
    forbidden=(*LIBRARIES, WINDOWS),
    cost=costs(
        ("second convolution, one image: input", 4 * PIXELS, "B", "4 bytes per number"),
        ("the same as im2col rows", 36 * PIXELS, "B", "4 bytes per number, 9 taps"),
    ),
    **FLOAT64,
)

# dy[N,K,P,Q], x[N,C,H,W], R, S, stride, padding -> dw[K,C,R,S], db[K]


def weight_gradients(dy, x, R, S, stride=1, padding=0):
    w = np.zeros((dy.shape[1], x.shape[1], R, S))  # dw and db do not depend on w
    return reference.conv2d_backward(dy, x, w, stride, padding)[1:]


def changed_dw(dw_to, *inputs):
    """Both gradients with dw_to(dw) for dw, in the shape that dw should have."""
    dw, db = weight_gradients(*inputs)
    return dw_to(dw).reshape(dw.shape), db


def changed_db(db_of, dy, *inputs):
    """Both gradients with db_of(dy) for db."""
    return weight_gradients(dy, *inputs)[0], db_of(dy)


def dy_rows(dy):
    """dy[N,K,P,Q] as rows [N P Q, K]."""
    return dy.transpose(0, 2, 3, 1).reshape(-1, dy.shape[1])


def dw_flat(dy, *inputs):
    dw, db = weight_gradients(dy, *inputs)
    return dw.reshape(len(dw), -1), db


def dy_not_turned(dy, x, *how):
    """dy_rows @ cols fits only where K = N P Q."""
    product = dy_rows(dy) @ im2col(x, *how)
    dw, db = weight_gradients(dy, x, *how)
    return product.reshape(dw.shape), db


def windows_inside_alone(dy, x, R, S, stride=1, padding=0):
    """Windows that reach into the frame are left out."""
    (H, W), (P, Q) = x.shape[2:], dy.shape[2:]
    top, left = np.arange(P) * stride - padding, np.arange(Q) * stride - padding
    rows = (top >= 0) & (top + R <= H)
    columns = (left >= 0) & (left + S <= W)
    dw, _ = weight_gradients(dy * np.outer(rows, columns), x, R, S, stride, padding)
    return dw, dy.sum(axis=(0, 2, 3))


weights = exercise(
    "gpu.conv2d_backward_weights",
    oracle=weight_gradients,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (*normal(rng, y, x), *w[2:], *how)),
    wrong={
        "dy_not_transposed": lambda dy, x, *how: changed_dw(  # its rows mix k with p and q
            lambda dw: dy.reshape(-1, len(dw)).T @ im2col(x, *how), dy, x, *how
        ),
        "product_turned": partial(changed_dw, lambda dw: dw.reshape(len(dw), -1).T),
        "dy_not_turned": dy_not_turned,
        "dw_flat": dw_flat,
        "dw_flipped": partial(changed_dw, lambda dw: dw[:, :, ::-1, ::-1]),
        "dw_channels_last": partial(changed_dw, lambda dw: dw.transpose(0, 2, 3, 1)),
        "columns_read_rsc": partial(
            changed_dw,
            lambda dw: dw.reshape(len(dw), *dw.shape[2:], dw.shape[1]).transpose(0, 3, 1, 2),
        ),
        "windows_inside_alone": windows_inside_alone,
        "divided_by_n": lambda dy, x, *how: divided(weight_gradients(dy, x, *how), len(x)),
        "first_image": lambda dy, x, *how: weight_gradients(dy[:1], x[:1], *how),
        "db_mean": partial(changed_db, lambda dy: dy.mean(axis=(0, 2, 3))),
        "db_of_one_position": partial(changed_db, lambda dy: dy_rows(dy)[0]),
        "db_over_channels": partial(changed_db, lambda dy: dy_rows(dy).sum(axis=1)),
        "db_one_number": partial(changed_db, np.sum),
    },
    outputs=("dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(("dw of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
    **FLOAT64,
)

# dy[N,K,P,Q], w[K,C,R,S], x_shape, stride, padding -> dx[N,C,H,W]


def input_gradient(dy, w, x_shape, stride=1, padding=0):
    x = np.zeros(x_shape)  # dx does not depend on x
    return reference.conv2d_backward(dy, x, w, stride, padding)[0]


def scatter(
    dy,
    w,
    x_shape,
    stride=1,
    padding=0,
    *,
    corner=None,
    axes=(0, 3, 1, 2),
    add=True,
    turned=False,
    sideways=False,
):
    """dx tap by tap, as in the lesson, with one thing wrong; raises where shapes do not fit.

    corner     where the image is cut out of its frame, instead of at `padding`
    axes       how the axes N,P,Q,C of a tap's share are reordered
    add        whether a tap adds to what is there, or overwrites it
    turned     tap (s, r) is taken for tap (r, s)
    sideways   the slice of the rows is taken along the columns, and the other way round
    """
    (N, C, H, W), (P, Q) = x_shape, dy.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(w.shape[2:]):
        tap = w[:, :, s, r] if turned else w[:, :, r, s]  # [K,C]
        share = np.einsum("nkpq,kc->npqc", dy, tap).transpose(axes)
        down = slice(r, r + stride * P, stride)
        right = slice(s, s + stride * Q, stride)
        seen = dx[:, :, right, down] if sideways else dx[:, :, down, right]
        seen[...] = seen + share if add else share
    corner = padding if corner is None else corner
    return dx[:, :, corner : corner + H, corner : corner + W]


def mean_of_readers(dy, w, x_shape, stride=1, padding=0):
    """Each pixel's sum divided by the number of windows and taps that read it."""
    readers = input_gradient(dy[:, :1] * 0 + 1, w[:1] * 0 + 1, x_shape, stride, padding)
    return input_gradient(dy, w, x_shape, stride, padding) / np.maximum(readers, 1)


def covered_pixels_alone(dy, w, x_shape, stride=1, padding=0):
    """dx as large as the windows reach."""
    (R, S), (P, Q) = w.shape[2:], dy.shape[2:]
    H, W = (P - 1) * stride + R - 2 * padding, (Q - 1) * stride + S - 2 * padding
    return input_gradient(dy, w, (*x_shape[:2], H, W), stride, padding)


inputs = exercise(
    "gpu.conv2d_backward_input",
    oracle=input_gradient,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (*normal(rng, y, w), x, *how)),
    wrong={
        "overwrites": partial(scatter, add=False),
        "mean_of_readers": mean_of_readers,
        "covered_pixels_alone": covered_pixels_alone,
        "axes_unmoved": partial(scatter, axes=(0, 1, 2, 3)),
        "axes_as_in_im2col": partial(scatter, axes=(0, 2, 3, 1)),
        "axes_turned": partial(scatter, axes=(0, 3, 2, 1)),
        "slices_swapped": partial(scatter, sideways=True),
        "taps_swapped": partial(scatter, turned=True),
        "not_cropped": partial(scatter, corner=0),
        "kernel_flipped": lambda dy, w, *how: input_gradient(dy, w[:, :, ::-1, ::-1], *how),
        "stride_one": lambda dy, w, x_shape, stride, padding: scatter(dy, w, x_shape, 1, padding),
        "first_output_channel": lambda dy, w, *how: input_gradient(dy[:, :1], w[:1], *how),
    },
    outputs=("dx",),
    forbidden=LIBRARIES,
    cost=costs(("dx of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
    **FLOAT64,
)

EXERCISES = [linear_backward, direct, cols, weights, inputs]
