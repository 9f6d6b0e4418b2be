"""Wrong ideas of a convolution's kernels: which output, tap and pixel meet, and who adds what.

Output p sees pixel h through tap r if p stride + r - padding = h: a tie. All sums run over the same
ties, so a wrong idea about them is another rule for what is tied. `geometry` is stride and padding.
"""

from collections.abc import Callable

import numpy as np

from labkit.convolutions import output_size
from labkit.reference import conv2d_backward

THREADS = 128  # of a block


# Rules: which outputs p [P,1,1], taps r [1,R,1] and pixels h [1,1,H] are tied


def tied(p, r, h, stride, padding):
    """The right rule."""
    return p * stride + r - padding == h


def forgot_padding(p, r, h, stride, padding):
    """The frame is not counted."""
    return tied(p, r, h, stride, 0)


def padding_added(p, r, h, stride, padding):
    """The padding has the wrong sign."""
    return tied(p, r, h, stride, -padding)


def forgot_stride(p, r, h, stride, padding):
    """Every window is one pixel further."""
    return tied(p, r, h, 1, padding)


def stride_on_the_tap(p, r, h, stride, padding):
    """The stride multiplies the tap, not the output."""
    return p + r * stride - padding == h


def first_pixel_lost(p, r, h, stride, padding):
    """Pixel 0 counts as frame."""
    return tied(p, r, h, stride, padding) & (h > 0)


def wrapped(p, r, h, stride, padding):
    """An index below 0 counts from the end, as NumPy reads it."""
    index = p * stride + r - padding
    return np.where(index < 0, index + h.size, index) == h


# The same, solved for p: h + padding - r = p stride


def rest_ignored(p, r, h, stride, padding):
    """The division hides a remainder."""
    return p == (h + padding - r) // stride


def not_divided(p, r, h, stride, padding):
    """The stride is forgotten."""
    return p == h + padding - r


def checked_but_not_divided(p, r, h, stride, padding):
    """The remainder is looked at, but the quotient is not taken."""
    whole = (h + padding - r) % stride == 0
    return whole & not_divided(p, r, h, stride, padding)


def forward_rule(p, r, h, stride, padding):
    """The pixel in the place of the output."""
    return tied(h, r, p, stride, padding)


def first_output_lost(p, r, h, stride, padding):
    """Output 0 counts as outside."""
    return tied(p, r, h, stride, padding) & (p > 0)


def output_wrapped(p, r, h, stride, padding):
    """An output below 0 counts from the end."""
    whole = (h + padding - r) % stride == 0
    index = (h + padding - r) // stride
    return whole & (np.where(index < 0, index + p.size, index) == p)


# Sums over the ties


def ties(rule: Callable, P: int, R: int, H: int, geometry: tuple) -> np.ndarray:
    """[P, R, H]: 1 where output, tap and pixel are tied, else 0."""
    p, r, h = np.ogrid[:P, :R, :H]
    found = rule(p, r, h, *geometry)
    return np.where(found, 1.0, 0.0)


def add_up(
    sum_: str,
    rules: tuple[Callable, Callable],
    outputs: tuple[int, int],
    taps: tuple[int, int],
    pixels: tuple[int, int],
    geometry: tuple[int, int],
    *factors: np.ndarray,
) -> np.ndarray:
    """An einsum over the factors and the ties along rows, [P,R,H], and along columns, [Q,S,W].

    rules                  one for the rows, one for the columns
    outputs, taps, pixels  how many there are along the rows, and along the columns
    """
    of_rows, of_columns = rules
    P, Q = outputs
    R, S = taps
    H, W = pixels
    rows = ties(of_rows, P, R, H, geometry)
    columns = ties(of_columns, Q, S, W, geometry)
    total = np.einsum(sum_, *factors, rows, columns, optimize=True)
    return total.astype(np.float32)


def turned(w):
    """The kernels turned by 180 degrees."""
    return w[:, :, ::-1, ::-1]


# y[n,k,p,q] of x, w, b, stride, padding


def forward_by(rule: Callable) -> Callable:
    """The convolution with another rule, for rows and columns alike."""

    def wrong(x, w, b, *geometry):
        taps = w.shape[2:]
        outputs = output_size(x.shape, *taps, *geometry)
        pixels = x.shape[2:]
        sum_ = "nchv,kcrs,prh,qsv->nkpq"
        y = add_up(sum_, (rule, rule), outputs, taps, pixels, geometry, x, w)
        return y + b[:, None, None]

    return wrong


def forward_taps_swapped(x, w, b, *geometry):
    """s moves down and r moves right."""
    R, S = w.shape[2:]
    outputs = output_size(x.shape, R, S, *geometry)
    pixels = x.shape[2:]
    sum_ = "nchv,kcrs,psh,qrv->nkpq"
    y = add_up(sum_, (tied, tied), outputs, (S, R), pixels, geometry, x, w)
    return y + b[:, None, None]


def last_product_of_output(x, w, b, *geometry):
    """Each product takes the place of the one before; without any, the bias stays."""
    R, S = w.shape[2:]
    H, W = x.shape[2:]
    P, Q = output_size(x.shape, R, S, *geometry)
    rows = ties(tied, P, R, H, geometry)  # [P, R, H]
    columns = ties(tied, Q, S, W, geometry)  # [Q, S, W]
    last_channel = x[:, -1]  # [N, H, W]
    y = np.broadcast_to(b[:, None, None], (len(x), len(b), P, Q))
    for r, s in np.ndindex(R, S):
        down = rows[:, r]
        right = columns[:, s]
        seen = np.einsum("nhv,ph,qv->npq", last_channel, down, right)
        weights = w[:, -1, r, s]  # [K]
        product = seen[:, None] * weights[:, None, None]
        inside = np.outer(down.any(axis=1), right.any(axis=1))
        y = np.where(inside, product, y)
    return y.astype(np.float32)


# dx[n,c,h,v] and dw[k,c,r,s] of dy, w or x, stride, padding, the shape of the gradient


def right_dx(dy, w, stride, padding, shape):
    """dx [N,C,H,W], of this shape."""
    return conv2d_backward(dy, np.zeros(shape), w, stride, padding)[0]


def dx_by(rows: Callable, columns: Callable | None = None) -> Callable:
    """dx with other rules: one for the rows, one for the columns, or one for both."""
    rules = rows, columns or rows

    def wrong(dy, w, stride, padding, shape):
        outputs = dy.shape[2:]
        taps = w.shape[2:]
        pixels = shape[2:]
        sum_ = "nkpq,kcrs,prh,qsv->nchv"
        return add_up(sum_, rules, outputs, taps, pixels, (stride, padding), dy, w)

    return wrong


def dx_taps_swapped(dy, w, stride, padding, shape):
    """s moves down and r moves right."""
    R, S = w.shape[2:]
    outputs = dy.shape[2:]
    pixels = shape[2:]
    sum_ = "nkpq,kcrs,psh,qrv->nchv"
    return add_up(sum_, (tied, tied), outputs, (S, R), pixels, (stride, padding), dy, w)


def last_product_of_pixel(dy, w, stride, padding, shape):
    """Each product takes the place of the one before."""
    P, Q = dy.shape[2:]
    R, S = w.shape[2:]
    H, W = shape[2:]
    rows = ties(tied, P, R, H, (stride, padding))  # [P, R, H]
    columns = ties(tied, Q, S, W, (stride, padding))  # [Q, S, W]
    last_channel = dy[:, -1]  # [N, P, Q]
    dx = np.zeros(shape)
    for r, s in np.ndindex(R, S):
        down = rows[:, r]
        right = columns[:, s]
        seen = np.einsum("npq,ph,qv->nhv", last_channel, down, right)
        weights = w[-1, :, r, s]  # [C]
        product = seen[:, None] * weights[:, None, None]
        there = np.outer(down.any(axis=0), right.any(axis=0))
        dx = np.where(there, product, dx)
    return dx.astype(np.float32)


def right_dw(dy, x, stride, padding, shape):
    """dw [K,C,R,S], of this shape."""
    return conv2d_backward(dy, x, np.zeros(shape), stride, padding)[1]


def dw_adding(times: Callable) -> Callable:
    """Product number j, in the order n, p, q, is added times(j, P Q) times."""

    def wrong(dy, x, *rest):
        N, _, P, Q = dy.shape
        j = np.arange(N * P * Q).reshape(N, 1, P, Q)
        counted = dy * times(j, P * Q)
        return right_dw(counted, x, *rest)

    return wrong


# cols[crs, npq] of x, R, S, stride, padding


def split_row(row, C, R, S):
    """c, r, s of a row of cols."""
    return row // (R * S), row // S % R, row % S


def split_column(col, N, P, Q):
    """n, p, q of a column of cols."""
    return col // (P * Q), col // Q % P, col % Q


def matrix_by(rows: Callable = split_row, columns: Callable = split_column) -> Callable:
    """[C R S, N P Q], of the pixels that rows(row, C, R, S) and columns(col, N, P, Q) ask for."""

    def cols(x, R, S, stride, padding):
        N, C, H, W = x.shape
        P, Q = output_size(x.shape, R, S, stride, padding)
        row, col = np.ogrid[: C * R * S, : N * P * Q]
        c, r, s = rows(row, C, R, S)
        n, p, q = columns(col, N, P, Q)
        h = p * stride + r - padding
        v = q * stride + s - padding
        inside = (h >= 0) & (h < H) & (v >= 0) & (v < W)
        h_inside = h.clip(0, H - 1)
        v_inside = v.clip(0, W - 1)
        return np.where(inside, x[n, c, h_inside, v_inside], np.float32(0))

    return cols
