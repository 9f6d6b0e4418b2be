"""Wrong ideas of gpu.linear_backward: dy[N,K], x[N,D], w[K,D] -> dx[N,D], dw[K,D], db[K].

Some of them raise, as the learner's would.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit import reference

# dw from a wrong idea


def gradients_with_dw(dw_of: Callable, dy, x, w):
    """The right gradients, but dw_of(dy, x) for dw."""
    dx = dy @ w
    db = dy.sum(axis=0)
    return dx, dw_of(dy, x), db


def with_dw(dw_of: Callable) -> Callable:
    """The right gradients, but dw_of(dy, x) for dw."""
    return partial(gradients_with_dw, dw_of)


def dw_transposed(dy, x):
    """dw [D,K]."""
    return x.T @ dy


def dy_not_turned(dy, x):
    """The product fits only where K = N."""
    return dy @ x


def product_of_sums(dy, x):
    """dw[k,d] from the sums over the images of dy[n,k] and x[n,d], not of their products."""
    sums = dy.sum(axis=0)
    means = x.mean(axis=0)
    return np.outer(sums, means)


# db from a wrong idea


def gradients_with_db(db_of: Callable, dy, x, w):
    """The right gradients, but db_of(dy) for db."""
    dx = dy @ w
    dw = dy.T @ x
    return dx, dw, db_of(dy)


def with_db(db_of: Callable) -> Callable:
    """The right gradients, but db_of(dy) for db."""
    return partial(gradients_with_db, db_of)


def mean_over_images(dy):
    """The mean for the sum."""
    return dy.mean(axis=0)


def first_image(dy):
    """The first image alone."""
    return dy[0]


def sum_over_outputs(dy):
    """The sum along the other axis."""
    return dy.sum(axis=1)


# All three


def w_turned(dy, x, w):
    """w is transposed for dx: the product fits only where K = D."""
    dx = dy @ w.T
    dw = dy.T @ x
    db = dy.sum(axis=0)
    return dx, dw, db


def divided_by_n(dy, x, w):
    """Every gradient is a mean over the images."""
    N = len(x)
    dx, dw, db = reference.linear_backward(dy, x, w)
    return dx / N, dw / N, db / N
