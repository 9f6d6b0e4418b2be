"""Wrong ideas of gpu.conv2d_dx_kernel, and the right `right_dx`.

dy[N,K,P,Q], w[K,C,R,S], stride, padding, shape of x -> dx[N,C,H,W]. Letters of a sum: dy[n,k,p,q],
w[k,c,r,s], dx[n,c,h,v].
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.exercises.wrong.convolution_ties import add_up, tied, ties
from labkit.reference import conv2d_backward


def right_dx(dy, w, stride, padding, shape):
    """dx [N,C,H,W], of this shape."""
    x = np.zeros(shape)  # dx does not depend on x
    dx, _, _ = conv2d_backward(dy, x, w, stride, padding)
    return dx


# Another rule for what is tied


def with_rules(rows: Callable, columns: Callable | None = None) -> Callable:
    """dx with other rules: one for the rows, one for the columns, or one for both."""
    rule_of_columns = columns or rows
    rules = rows, rule_of_columns

    def wrong(dy, w, stride, padding, shape):
        outputs = dy.shape[2:]
        taps = w.shape[2:]
        pixels = shape[2:]
        sum_ = "nkpq,kcrs,prh,qsv->nchv"
        geometry = stride, padding
        return add_up(sum_, rules, outputs, taps, pixels, geometry, dy, w)

    return wrong


def taps_swapped(dy, w, stride, padding, shape):
    """s moves down and r moves right."""
    R, S = w.shape[2:]
    swapped = S, R
    geometry = stride, padding
    outputs = dy.shape[2:]
    pixels = shape[2:]
    sum_ = "nkpq,kcrs,psh,qrv->nchv"
    return add_up(sum_, (tied, tied), outputs, swapped, pixels, geometry, dy, w)


# The right gradient of something wrong


def taps_turned(dy, w, *rest):
    """The kernels are turned by 180 degrees."""
    turned = w[:, :, ::-1, ::-1]
    return right_dx(dy, turned, *rest)


def one_channel(dy, w, *rest):
    """The other output channels are not added."""
    first_of_dy = dy[:, :1]
    first_of_w = w[:1]
    return right_dx(first_of_dy, first_of_w, *rest)


# Another loop


def last_product(dy, w, stride, padding, shape):
    """Each product takes the place of the one before."""
    P, Q = dy.shape[2:]
    R, S = w.shape[2:]
    H, W = shape[2:]
    geometry = stride, padding
    rows = ties(tied, P, R, H, geometry)  # [P, R, H]
    columns = ties(tied, Q, S, W, geometry)  # [Q, S, W]
    last_channel = dy[:, -1]  # [N, P, Q]
    dx = np.zeros(shape)
    for r, s in np.ndindex(R, S):
        down = rows[:, r]
        right = columns[:, s]
        seen = np.einsum("npq,ph,qv->nhv", last_channel, down, right)
        weights = w[-1, :, r, s]  # [C]
        product = seen[:, None] * weights[:, None, None]
        row_there = down.any(axis=0)
        column_there = right.any(axis=0)
        there = np.outer(row_there, column_there)
        dx = np.where(there, product, dx)
    return dx.astype(np.float32)
