"""Wrong ideas of the gradients of a fully connected layer, and of a convolution and its gradients.

Shapes: x[N,C,H,W], w[K,C,R,S], b[K], dy and y[N,K,P,Q]; for the fully connected layer dy[N,K],
x[N,D], w[K,D]. `how` stands for stride and padding. Some of them raise, as the learner's would.
"""

from collections.abc import Callable

import numpy as np

from labkit import reference
from labkit.convolutions import framed, im2col, output_size, windows


def divided(gradients: tuple[np.ndarray, ...], n: int) -> tuple[np.ndarray, ...]:
    """Each gradient divided by n."""
    return tuple(gradient / n for gradient in gradients)


# linear_backward(dy, x, w) -> dx, dw, db


def with_dw(dw_of: Callable, dy, x, w):
    """The right gradients, but dw from a wrong idea."""
    return dy @ w, dw_of(dy, x), dy.sum(axis=0)


def with_db(db_of: Callable, dy, x, w):
    """The right gradients, but db from a wrong idea."""
    return dy @ w, dy.T @ x, db_of(dy)


def product_of_sums(dy, x):
    """dw[k,d] from the sums over the images of dy[n,k] and x[n,d], not of their products."""
    return np.outer(dy.sum(axis=0), x.mean(axis=0))


# conv2d(x, w, b, stride, padding) -> y


def corner_at(p, q, stride, padding):
    """Row and column where the window of output (p, q) begins, in x with its frame."""
    return p * stride, q * stride


def corner_turned(p, q, stride, padding):
    """p goes along the columns, q along the rows."""
    return q * stride, p * stride


def corner_moved_back(p, q, stride, padding):
    """The padding is subtracted, although the image is in its frame."""
    return p * stride - padding, q * stride - padding


def corner_moved_on(p, q, stride, padding):
    """The padding is added, although the image is in its frame."""
    return p * stride + padding, q * stride + padding


def conv2d_loops(
    image: np.ndarray,
    x_shape: tuple,
    w: np.ndarray,
    b: np.ndarray,
    stride: int,
    padding: int,
    corner: Callable = corner_at,
    product: Callable = np.multiply,
    widened: bool = False,
) -> np.ndarray:
    """y of x with this shape, window by window, with one thing wrong.

    image    where the windows are cut out: x in its frame, or wrongly x itself
    corner   corner(p, q, stride, padding) -> where a window begins
    product  of a window [C,R,S] and a kernel [C,R,S]
    widened  the stride lies between the pixels of a window as well
    """
    K, _, R, S = w.shape
    P, Q = output_size(x_shape, R, S, stride, padding)
    step = stride if widened else 1
    y = np.zeros((len(image), K, P, Q), dtype=image.dtype)
    for n, k, p, q in np.ndindex(y.shape):
        top, left = corner(p, q, stride, padding)
        rows = slice(top, top + R * step, step)
        columns = slice(left, left + S * step, step)
        seen = image[n, :, rows, columns]
        y[n, k, p, q] = np.sum(product(seen, w[k])) + b[k]
    return y


def conv2d_by(x, w, b, stride=1, padding=0, **changed):
    """The loops over x in its frame, with something `changed`; they may raise."""
    image = framed(x, padding)
    return conv2d_loops(image, x.shape, w, b, stride, padding, **changed)


def stride_on_size_only(x, w, b, stride=1, padding=0):
    """The windows move by one pixel, but there are only as many as the stride leaves."""
    R, S = w.shape[2:]
    P, Q = output_size(x.shape, R, S, stride, padding)
    every_window = reference.conv2d(x, w, b, 1, padding)
    return every_window[:, :, :P, :Q]


def taps_swapped(x, w, b, *how):
    """w[k,c,s,r] for w[k,c,r,s], where the kernel is square."""
    turned = w.swapaxes(2, 3) if w.shape[2] == w.shape[3] else w
    return reference.conv2d(x, turned, b, *how)


def window_summed_first(x, w, b, *how):
    """The sum of the window times the mean of the kernel."""
    means = w.mean(axis=(1, 2, 3), keepdims=True)
    return reference.conv2d(x, np.broadcast_to(means, w.shape), b, *how)


# im2col(x, R, S, stride, padding) -> cols[N P Q, C R S]


def im2col_in_order(order, x, R, S, *how):
    """im2col with the axes N,C,P,Q,R,S of the windows in a wrong order."""
    seen = windows(x, R, S, *how)
    return seen.transpose(order).reshape(-1, x.shape[1] * R * S)


def im2col_backwards(x, R, S, *how):
    """The taps of each row from the last to the first."""
    rows = im2col(x, R, S, *how)
    taps = rows.reshape(len(rows), -1, R, S)
    backwards = np.flip(taps, axis=(2, 3))
    return backwards.reshape(rows.shape)


def im2col_stride_one(x, R, S, stride=1, padding=0):
    """The windows move by one pixel, but there are only as many as the stride leaves."""
    P, Q = output_size(x.shape, R, S, stride, padding)
    every_window = windows(x, R, S, 1, padding)
    seen = every_window[:, :, :P, :Q].transpose(0, 2, 3, 1, 4, 5)
    return seen.reshape(len(x) * P * Q, -1)


def im2col_by_tap(
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
    P, Q = output_size(x.shape, R, S, stride, padding)
    image = image_of(x, padding)  # [N,C,H,W]
    cols = np.zeros((len(x), P, Q, x.shape[1], R, S), dtype=x.dtype)
    for r, s in np.ndindex(R, S):
        down = slice(r, r + stride * P, stride)
        right = slice(s, s + stride * Q, stride)
        if turned:
            down, right = right, down
        cols[..., r, s] = image[:, :, down, right].transpose(axes)
    return cols.reshape(len(x) * P * Q, -1)


# conv2d_backward_weights(dy, x, R, S, stride, padding) -> dw[K,C,R,S], db[K]


def weight_gradients(dy, x, R, S, stride=1, padding=0):
    """The right dw and db."""
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
    """dw[K, C R S], as the product leaves it."""
    dw, db = weight_gradients(dy, *inputs)
    return dw.reshape(len(dw), -1), db


def dy_not_turned(dy, x, *how):
    """dy_rows @ cols fits only where K = N P Q."""
    product = dy_rows(dy) @ im2col(x, *how)
    dw, db = weight_gradients(dy, x, *how)
    return product.reshape(dw.shape), db


def windows_inside_alone(dy, x, R, S, stride=1, padding=0):
    """Windows that reach into the frame are left out."""
    H, W = x.shape[2:]
    P, Q = dy.shape[2:]
    top = np.arange(P) * stride - padding
    left = np.arange(Q) * stride - padding
    rows = (top >= 0) & (top + R <= H)
    columns = (left >= 0) & (left + S <= W)
    inside = dy * np.outer(rows, columns)
    dw, _ = weight_gradients(inside, x, R, S, stride, padding)
    return dw, dy.sum(axis=(0, 2, 3))


def dy_not_transposed(dy, x, *how):
    """The rows of a mere reshape of dy mix k with p and q."""
    dw, db = weight_gradients(dy, x, *how)
    product = dy.reshape(-1, len(dw)).T @ im2col(x, *how)
    return product.reshape(dw.shape), db


def channels_read_last(dw):
    """The columns of the product read as R, S, C."""
    K, C, R, S = dw.shape
    return dw.reshape(K, R, S, C).transpose(0, 3, 1, 2)


# conv2d_backward_input(dy, w, x_shape, stride, padding) -> dx[N,C,H,W]


def input_gradient(dy, w, x_shape, stride=1, padding=0):
    """The right dx."""
    x = np.zeros(x_shape)  # dx does not depend on x
    return reference.conv2d_backward(dy, x, w, stride, padding)[0]


def scatter(
    dy: np.ndarray,
    w: np.ndarray,
    x_shape: tuple,
    stride: int = 1,
    padding: int = 0,
    *,
    corner: int | None = None,
    axes: tuple = (0, 3, 1, 2),
    add: bool = True,
    turned: bool = False,
    sideways: bool = False,
) -> np.ndarray:
    """dx tap by tap, as in the lesson, with one thing wrong; raises where shapes do not fit.

    corner     where the image is cut out of its frame, instead of at `padding`
    axes       how the axes N,P,Q,C of a tap's share are reordered
    add        whether a tap adds to what is there, or overwrites it
    turned     tap (s, r) is taken for tap (r, s)
    sideways   the slice of the rows is taken along the columns, and the other way round
    """
    N, C, H, W = x_shape
    P, Q = dy.shape[2:]
    taps = w.swapaxes(2, 3) if turned else w
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(w.shape[2:]):
        share = np.einsum("nkpq,kc->npqc", dy, taps[:, :, r, s])
        down = slice(r, r + stride * P, stride)
        right = slice(s, s + stride * Q, stride)
        if sideways:
            down, right = right, down
        if not add:
            dx[:, :, down, right] = 0
        dx[:, :, down, right] += share.transpose(axes)
    begin = padding if corner is None else corner
    return dx[:, :, begin : begin + H, begin : begin + W]


def mean_of_readers(dy, w, x_shape, stride=1, padding=0):
    """Each pixel's sum divided by the number of windows and taps that read it."""
    one_output = np.ones_like(dy[:, :1])
    one_kernel = np.ones_like(w[:1])
    readers = input_gradient(one_output, one_kernel, x_shape, stride, padding)
    return input_gradient(dy, w, x_shape, stride, padding) / np.maximum(readers, 1)


def covered_pixels_alone(dy, w, x_shape, stride=1, padding=0):
    """dx as large as the windows reach."""
    R, S = w.shape[2:]
    P, Q = dy.shape[2:]
    H = (P - 1) * stride + R - 2 * padding
    W = (Q - 1) * stride + S - 2 * padding
    return input_gradient(dy, w, (*x_shape[:2], H, W), stride, padding)
