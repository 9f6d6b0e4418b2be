"""Wrong ideas of gpu.conv2d_backward_input.

dy[N,K,P,Q], w[K,C,R,S], x_shape, stride, padding -> dx[N,C,H,W]. Some of the ideas raise, as the
learner's would.

Dense: each wrong idea is the sum of a gradient with one index changed.
"""

import numpy as np

from labkit.convolutions import first_geometry
from labkit.gpu.judging.convolution_gradients import input_gradient
from labkit.reference import conv2d


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
    reshaped: bool = False,
    steps: tuple[int, int] | None = None,
    dtype: str = "float64",
) -> np.ndarray:
    """dx tap by tap, as in the lesson, with one thing wrong; raises where shapes do not fit.

    corner     where the image is cut out of its frame, instead of at `padding`
    axes       how the axes N,P,Q,C of a tap's share are reordered
    add        whether a tap adds to what is there, or overwrites it
    turned     tap (s, r) is taken for tap (r, s)
    reshaped   the share is reshaped to N,C,P,Q, its axes as they lie
    steps      how far the rows and the columns of a tap lie apart, instead of `stride`
    dtype      in which the shares are added up
    sideways   the slice of the rows is taken along the columns, and the other way round
    """
    N, C, H, W = x_shape
    P, Q = dy.shape[2:]
    down, right = steps or (stride, stride)
    taps = w.swapaxes(2, 3) if turned else w
    frame = 2 * padding
    dx = np.zeros((N, C, H + frame, W + frame), dtype)
    for r, s in np.ndindex(w.shape[2:]):
        weights = taps[:, :, r, s]  # [K, C]
        share = np.einsum("nkpq,kc->npqc", dy, weights)
        rows = slice(r, r + down * P, down)
        columns = slice(s, s + right * Q, right)
        place = dx[:, :, columns, rows] if sideways else dx[:, :, rows, columns]  # a view of dx
        if not add:
            place[:] = 0
        place += share.reshape(N, C, P, Q) if reshaped else share.transpose(axes)
    begin = padding if corner is None else corner
    bottom = begin + H
    right = begin + W
    return dx[:, :, begin:bottom, begin:right]


def overwrites(*inputs):
    """A tap's share replaces what the taps before it left."""
    return scatter(*inputs, add=False)


def axes_unmoved(*inputs):
    """A share is added as it is, [N,P,Q,C]."""
    return scatter(*inputs, axes=(0, 1, 2, 3))


def axes_as_in_im2col(*inputs):
    """The axes are moved the other way round."""
    return scatter(*inputs, axes=(0, 2, 3, 1))


def axes_reshaped(*inputs):
    """A share [N,P,Q,C] is read as if it lay in the order N,C,P,Q."""
    return scatter(*inputs, reshaped=True)


def axes_turned(*inputs):
    """p and q change places as well."""
    return scatter(*inputs, axes=(0, 3, 2, 1))


def slices_swapped(*inputs):
    """r and p go along the columns, s and q along the rows."""
    return scatter(*inputs, sideways=True)


def taps_swapped(*inputs):
    """w[k,c,s,r] for w[k,c,r,s]."""
    return scatter(*inputs, turned=True)


def not_cropped(*inputs):
    """The upper left of the frame is returned with the image."""
    return scatter(*inputs, corner=0)


def stride_one(dy, w, x_shape, stride=1, padding=0):
    """The stride is forgotten."""
    return scatter(dy, w, x_shape, 1, padding)


def stride_down_alone(dy, w, x_shape, stride=1, padding=0):
    """The stride counts for the rows alone."""
    return scatter(dy, w, x_shape, stride, padding, steps=(stride, 1))


def stride_right_alone(dy, w, x_shape, stride=1, padding=0):
    """The stride counts for the columns alone."""
    return scatter(dy, w, x_shape, stride, padding, steps=(1, stride))


def two_strides_alone(dy, w, x_shape, stride=1, padding=0):
    """Every stride above 1 is taken for 2."""
    return scatter(dy, w, x_shape, min(stride, 2), padding)


def as_float32(*inputs):
    """The shares are added up in float32."""
    return scatter(*inputs, dtype="float32")


def remembered_geometry(dy, w, x_shape, stride=1, padding=0):
    """Stride and padding are those of the first call with these shapes."""
    return scatter(dy, w, x_shape, *first_geometry(x_shape, *w.shape[2:]))


def remembered_stride(dy, w, x_shape, stride=1, padding=0):
    """The stride is that of the first call with these shapes; the frame is as it should be."""
    first, _ = first_geometry(x_shape, *w.shape[2:])
    return scatter(dy, w, x_shape, first, padding)


def last_window_alone(dy, w, x_shape, stride=1, padding=0):
    """Of all windows that read a pixel, only the last one sends its share."""
    N, C, H, W = x_shape
    R, S = w.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for p, q in np.ndindex(dy.shape[2:]):
        share = np.einsum("nk,kcrs->ncrs", dy[:, :, p, q], w)
        top = p * stride
        left = q * stride
        dx[:, :, top : top + R, left : left + S] = share
    return dx[:, :, padding : padding + H, padding : padding + W]


# The right function of something wrong


def kernel_flipped(dy, w, *inputs):
    """The kernel is turned by 180 degrees."""
    flipped = w[:, :, ::-1, ::-1]
    return input_gradient(dy, flipped, *inputs)


def first_output_channel(dy, w, *inputs):
    """The other output channels are not added."""
    first_of_dy = dy[:, :1]
    first_of_w = w[:1]
    return input_gradient(first_of_dy, first_of_w, *inputs)


def mean_of_readers(dy, w, x_shape, stride=1, padding=0):
    """Each pixel's sum divided by the number of windows and taps that read it."""
    one_output = np.ones_like(dy[:, :1])
    one_kernel = np.ones_like(w[:1])
    readers = input_gradient(one_output, one_kernel, x_shape, stride, padding)
    dx = input_gradient(dy, w, x_shape, stride, padding)
    return dx / np.maximum(readers, 1)


def covered_pixels_alone(dy, w, x_shape, stride=1, padding=0):
    """dx as large as the windows reach."""
    N, C, _, _ = x_shape
    R, S = w.shape[2:]
    P, Q = dy.shape[2:]
    last_top = (P - 1) * stride
    last_left = (Q - 1) * stride
    H = last_top + R - 2 * padding
    W = last_left + S - 2 * padding
    covered = (N, C, H, W)
    return input_gradient(dy, w, covered, stride, padding)


def columns_read_rsc(dy, w, *inputs):
    """A row of dcols is taken for one in the order r, s, c."""
    K, C, R, S = w.shape
    read = w.reshape(K, R, S, C).transpose(0, 3, 1, 2)
    return input_gradient(dy, read, *inputs)


def convolution(dy, w, x_shape, stride=1, padding=0):
    """dy is convolved with the flipped kernel, whatever the stride."""
    R = w.shape[2]
    flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)  # [C,K,R,S]
    return conv2d(dy, flipped, None, 1, R - 1 - padding)
