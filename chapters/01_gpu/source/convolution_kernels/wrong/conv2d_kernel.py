"""Wrong ideas of gpu.conv2d_kernel: x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y[N,K,P,Q].

Letters of a sum: y[n,k,p,q], w[k,c,r,s], x[n,c,h,v]. `geometry` is stride and padding.

Dense: each wrong idea is the sum of a convolution with one letter changed.
"""

from collections.abc import Callable

import numpy as np

from labkit.convolutions import output_size
from labkit.gpu.judging.convolution_ties import add_up, tied, ties
from labkit.reference import conv2d

# Another rule for what is tied: outputs p [P,1,1], taps r [1,R,1] and pixels h [1,1,H]


def with_rules(rows: Callable = tied, columns: Callable = tied) -> Callable:
    """The convolution with another rule for the rows, or for the columns."""

    def wrong(x, w, b, *geometry):
        taps = w.shape[2:]
        outputs = output_size(x.shape, *taps, *geometry)
        pixels = x.shape[2:]
        sum_ = "nchv,kcrs,prh,qsv->nkpq"
        y = add_up(sum_, (rows, columns), outputs, taps, pixels, geometry, x, w)
        return y + b[:, None, None]

    return wrong


def with_rule(rule: Callable) -> Callable:
    """The convolution with another rule, for rows and columns alike."""
    return with_rules(rows=rule, columns=rule)


def padding_added(p, r, h, stride, padding):
    """The padding has the wrong sign."""
    return tied(p, r, h, stride, -padding)


def forgot_stride(p, r, h, stride, padding):
    """Every window is one pixel further."""
    return tied(p, r, h, 1, padding)


def stride_on_the_tap(p, r, h, stride, padding):
    """The stride multiplies the tap, not the output."""
    seen = p + r * stride - padding
    return seen == h


def nearest_pixel(p, r, h, stride, padding):
    """A pixel of the frame is the nearest one of the image."""
    seen = p * stride + r - padding
    return np.clip(seen, 0, h.size - 1) == h


def first_pixel_lost(p, r, h, stride, padding):
    """Pixel 0 counts as frame."""
    not_lost = h > 0
    return tied(p, r, h, stride, padding) & not_lost


def wrapped(p, r, h, stride, padding):
    """An index below 0 counts from the end, as NumPy reads it."""
    index = p * stride + r - padding
    from_the_end = index + h.size
    seen = np.where(index < 0, from_the_end, index)
    return seen == h


def taps_swapped(x, w, b, *geometry):
    """s moves down and r moves right."""
    R, S = w.shape[2:]
    swapped = S, R
    outputs = output_size(x.shape, R, S, *geometry)
    pixels = x.shape[2:]
    sum_ = "nchv,kcrs,psh,qrv->nkpq"
    y = add_up(sum_, (tied, tied), outputs, swapped, pixels, geometry, x, w)
    return y + b[:, None, None]


# The right convolution of something wrong


def bias_only(x, w, b, *geometry):
    """No product is added."""
    return conv2d(x, 0 * w, b, *geometry)


def no_bias(x, w, b, *geometry):
    """The bias is forgotten."""
    return conv2d(x, w, None, *geometry)


def bias_of_first(x, w, b, *geometry):
    """Every output channel has the first one's bias."""
    same_for_all = 0 * b + b[0]
    return conv2d(x, w, same_for_all, *geometry)


def kernel_turned(x, w, b, *geometry):
    """The kernels are turned by 180 degrees."""
    turned = w[:, :, ::-1, ::-1]
    return conv2d(x, turned, b, *geometry)


def one_channel(x, w, b, *geometry):
    """The other input channels are not added."""
    first_of_x = x[:, :1]
    first_of_w = w[:, :1]
    return conv2d(first_of_x, first_of_w, b, *geometry)


# Another loop


def last_product(x, w, b, *geometry):
    """Each product takes the place of the one before; without any, the bias stays."""
    R, S = w.shape[2:]
    H, W = x.shape[2:]
    P, Q = output_size(x.shape, R, S, *geometry)
    rows = ties(tied, P, R, H, geometry)  # [P, R, H]
    columns = ties(tied, Q, S, W, geometry)  # [Q, S, W]
    last_channel = x[:, -1]  # [N, H, W]
    N = len(x)
    K = len(b)
    y = np.broadcast_to(b[:, None, None], (N, K, P, Q))
    for r, s in np.ndindex(R, S):
        down = rows[:, r]
        right = columns[:, s]
        seen = np.einsum("nhv,ph,qv->npq", last_channel, down, right)
        weights = w[:, -1, r, s]  # [K]
        product = seen[:, None] * weights[:, None, None]
        row_inside = down.any(axis=1)
        column_inside = right.any(axis=1)
        inside = np.outer(row_inside, column_inside)
        y = np.where(inside, product, y)
    return y.astype(np.float32)
