"""Wrong ideas of gpu.conv2d_dx_kernel.

dy[N,K,P,Q], w[K,C,R,S], stride, padding, shape of x -> dx[N,C,H,W]. Letters of a sum: dy[n,k,p,q],
w[k,c,r,s], dx[n,c,h,v].
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.judging.convolution_gradients import input_gradient
from labkit.gpu.judging.convolution_ties import add_up, tied, ties

# Another rule for what is tied: outputs p [P,1,1], taps r [1,R,1] and pixels h [1,1,H]


def with_rules(rows: Callable = tied, columns: Callable = tied) -> Callable:
    """dx with another rule for the rows, or for the columns."""
    rules = rows, columns

    def wrong(dy, w, stride, padding, shape):
        outputs = dy.shape[2:]
        taps = w.shape[2:]
        pixels = shape[2:]
        sum_ = "nkpq,kcrs,prh,qsv->nchv"
        geometry = stride, padding
        return add_up(sum_, rules, outputs, taps, pixels, geometry, dy, w)

    return wrong


def with_rule(rule: Callable) -> Callable:
    """dx with another rule, for rows and columns alike."""
    return with_rules(rows=rule, columns=rule)


# The rule, solved for p: h + padding - r = p stride


def rest_ignored(p, r, h, stride, padding):
    """The division hides a remainder."""
    distance = h + padding - r
    return p == distance // stride


def not_divided(p, r, h, stride, padding):
    """The stride is forgotten."""
    distance = h + padding - r
    return p == distance


def checked_but_not_divided(p, r, h, stride, padding):
    """The remainder is looked at, but the quotient is not taken."""
    distance = h + padding - r
    whole = distance % stride == 0
    return whole & not_divided(p, r, h, stride, padding)


def forward_rule(p, r, h, stride, padding):
    """The pixel in the place of the output."""
    return tied(h, r, p, stride, padding)


def first_output_lost(p, r, h, stride, padding):
    """Output 0 counts as outside."""
    not_lost = p > 0
    return tied(p, r, h, stride, padding) & not_lost


def output_wrapped(p, r, h, stride, padding):
    """An output below 0 counts from the end."""
    distance = h + padding - r
    whole = distance % stride == 0
    index = distance // stride
    from_the_end = index + p.size
    found = np.where(index < 0, from_the_end, index)
    return whole & (found == p)


# The taps the other way round


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


def taps_turned(dy, w, stride, padding, shape):
    """The kernels are turned by 180 degrees."""
    turned = w[:, :, ::-1, ::-1]
    return input_gradient(dy, turned, shape, stride, padding)


def one_channel(dy, w, stride, padding, shape):
    """The other output channels are not added."""
    first_of_dy = dy[:, :1]
    first_of_w = w[:1]
    return input_gradient(first_of_dy, first_of_w, shape, stride, padding)


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
