"""Wrong ideas of gpu.conv2d_backward_weights.

dy[N,K,P,Q], x[N,C,H,W], R, S, stride, padding -> dw[K,C,R,S], db[K]; `how` stands for all after x.
Some of the ideas raise, as the learner's would.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit.convolutions import first_geometry, im2col
from labkit.gpu.judging.convolution_gradients import weight_gradients


def dy_rows(dy):
    """dy[N,K,P,Q] as rows [N P Q, K]."""
    K = dy.shape[1]
    channels_last = dy.transpose(0, 2, 3, 1)
    return channels_last.reshape(-1, K)


# dw is changed


def gradients_with_dw(changed: Callable, *inputs):
    """Both gradients with changed(dw) for dw, in the shape that dw should have."""
    dw, db = weight_gradients(*inputs)
    other = changed(dw)
    return other.reshape(dw.shape), db


def with_dw(changed: Callable) -> Callable:
    """Both gradients with changed(dw) for dw, in the shape that dw should have."""
    return partial(gradients_with_dw, changed)


def as_float32(dw):
    """Rounded."""
    return dw.astype("float32")


def product_turned(dw):
    """The product [C R S, K], read as if it were [K, C R S]."""
    K = len(dw)
    product = dw.reshape(K, -1)
    return product.T


def flipped(dw):
    """Each kernel turned by 180 degrees."""
    return dw[:, :, ::-1, ::-1]


def channels_last(dw):
    """dw[K,R,S,C], read as if it were dw[K,C,R,S]."""
    return dw.transpose(0, 2, 3, 1)


def channels_read_last(dw):
    """The columns of the product read as R, S, C."""
    K, C, R, S = dw.shape
    misread = dw.reshape(K, R, S, C)
    return misread.transpose(0, 3, 1, 2)


# db from a wrong idea


def gradients_with_db(db_of: Callable, dy, *inputs):
    """Both gradients with db_of(dy) for db."""
    dw, _ = weight_gradients(dy, *inputs)
    return dw, db_of(dy)


def with_db(db_of: Callable) -> Callable:
    """Both gradients with db_of(dy) for db."""
    return partial(gradients_with_db, db_of)


def mean_over_positions(dy):
    """The mean for the sum."""
    return dy.mean(axis=(0, 2, 3))


def first_position(dy):
    """The first row of dy_rows alone."""
    rows = dy_rows(dy)
    return rows[0]


def sum_over_images(dy):
    """Of dy itself, along its first axis: [K,P,Q]."""
    return dy.sum(axis=0)


def sum_over_channels(dy):
    """The sum of dy_rows along the other axis."""
    rows = dy_rows(dy)
    return rows.sum(axis=1)


# Another product, or of something else


def dw_flat(dy, *inputs):
    """dw[K, C R S], as the product leaves it."""
    dw, db = weight_gradients(dy, *inputs)
    K = len(dw)
    return dw.reshape(K, -1), db


def dy_not_turned(dy, x, *how):
    """dy_rows @ cols fits only where K = N P Q."""
    cols = im2col(x, *how)
    product = dy_rows(dy) @ cols
    dw, db = weight_gradients(dy, x, *how)
    return product.reshape(dw.shape), db


def windows_inside_alone(dy, x, R, S, stride=1, padding=0):
    """Windows that reach into the frame are left out."""
    H, W = x.shape[2:]
    P, Q = dy.shape[2:]
    top = np.arange(P) * stride - padding
    left = np.arange(Q) * stride - padding
    bottom = top + R
    right = left + S
    rows = (top >= 0) & (bottom <= H)
    columns = (left >= 0) & (right <= W)
    inside = np.outer(rows, columns)  # [P, Q]
    dw, _ = weight_gradients(dy * inside, x, R, S, stride, padding)
    db = dy.sum(axis=(0, 2, 3))
    return dw, db


def remembered_geometry(dy, x, R, S, stride=1, padding=0):
    """Stride and padding are those of the first call with these shapes."""
    return weight_gradients(dy, x, R, S, *first_geometry(x.shape, R, S))


def dy_not_transposed(dy, x, *how):
    """The rows of a mere reshape of dy mix k with p and q."""
    dw, db = weight_gradients(dy, x, *how)
    K = len(dw)
    mixed = dy.reshape(-1, K)
    cols = im2col(x, *how)
    product = mixed.T @ cols
    return product.reshape(dw.shape), db


def divided_by_n(dy, x, *inputs):
    """Both gradients are means over the images."""
    N = len(x)
    dw, db = weight_gradients(dy, x, *inputs)
    return dw / N, db / N


def first_image(dy, x, *inputs):
    """The other images are not added."""
    first_of_dy = dy[:1]
    first_of_x = x[:1]
    return weight_gradients(first_of_dy, first_of_x, *inputs)
