"""Wrong ideas of gpu.conv2d_direct: x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y[N,K,P,Q].

`how` stands for stride and padding. Some of the ideas raise, as the learner's would.

Dense: each wrong idea is the sum of a convolution with one letter changed.
"""

from collections.abc import Callable

import numpy as np

from labkit.convolutions import first_geometry, framed, output_size
from labkit.reference import conv2d


def corner_at(p, q, stride, padding):
    """Row and column where the window of output (p, q) begins, in x with its frame."""
    top = p * stride
    left = q * stride
    return top, left


def corner_turned(p, q, stride, padding):
    """p goes along the columns, q along the rows."""
    top = q * stride
    left = p * stride
    return top, left


def corner_moved_back(p, q, stride, padding):
    """The padding is subtracted, although the image is in its frame."""
    top = p * stride - padding
    left = q * stride - padding
    return top, left


def corner_moved_on(p, q, stride, padding):
    """The padding is added, although the image is in its frame."""
    top = p * stride + padding
    left = q * stride + padding
    return top, left


def corner_down_alone(p, q, stride, padding):
    """The stride counts for the rows alone."""
    return p * stride, q


def corner_right_alone(p, q, stride, padding):
    """The stride counts for the columns alone."""
    return p, q * stride


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
    square: bool = False,
    as_stride: bool = False,
) -> np.ndarray:
    """y of x with this shape, window by window, with one thing wrong.

    image    where the windows are cut out: x in its frame, or wrongly x itself
    corner   corner(p, q, stride, padding) -> where a window begins
    product  of a window [C,R,S] and a kernel [C,R,S]
    widened  the stride lies between the pixels of a window as well
    square   a window has as many columns as rows; may raise
    as_stride  a window has `stride` rows and columns; may raise
    """
    K, _, R, S = w.shape
    P, Q = output_size(x_shape, R, S, stride, padding)
    step = stride if widened else 1
    height, width = (stride, stride) if as_stride else (R, R if square else S)
    y = np.zeros((len(image), K, P, Q), dtype=image.dtype)
    for n, k, p, q in np.ndindex(y.shape):
        top, left = corner(p, q, stride, padding)
        bottom = top + height * step
        right = left + width * step
        rows = slice(top, bottom, step)
        columns = slice(left, right, step)
        seen = image[n, :, rows, columns]
        terms = product(seen, w[k])
        y[n, k, p, q] = np.sum(terms) + b[k]
    return y


def in_frame(x, w, b, stride=1, padding=0, **changed):
    """The loops over x in its frame, with something `changed`; they may raise."""
    image = framed(x, padding)
    return conv2d_loops(image, x.shape, w, b, stride, padding, **changed)


# The loops with one thing wrong


def unpadded(x, w, b, stride=1, padding=0):
    """The windows are cut out of x itself; may raise."""
    return conv2d_loops(x, x.shape, w, b, stride, padding)


def padding_subtracted(*inputs):
    """The windows begin too far up and left."""
    return in_frame(*inputs, corner=corner_moved_back)


def padding_added(*inputs):
    """The windows begin too far down and right."""
    return in_frame(*inputs, corner=corner_moved_on)


def positions_swapped(*inputs):
    """The output of row p and column q sees the window of row q and column p."""
    return in_frame(*inputs, corner=corner_turned)


def stride_down_alone(*inputs):
    """The windows of a row lie one pixel apart."""
    return in_frame(*inputs, corner=corner_down_alone)


def stride_right_alone(*inputs):
    """The windows of a column lie one pixel apart."""
    return in_frame(*inputs, corner=corner_right_alone)


def stride_in_the_window(*inputs):
    """The pixels of a window lie `stride` apart."""
    return in_frame(*inputs, widened=True)


def square_windows(*inputs):
    """R rows and R columns."""
    return in_frame(*inputs, square=True)


def as_large_as_the_stride(*inputs):
    """Each window ends where the next one begins."""
    return in_frame(*inputs, as_stride=True)


def matrix_product(*inputs):
    """`@` for `*`."""
    return in_frame(*inputs, product=np.matmul)


# The right function of something wrong


def kernel_flipped(x, w, b, *how):
    """The kernel is turned by 180 degrees, as mathematics does it."""
    flipped = w[:, :, ::-1, ::-1]
    return conv2d(x, flipped, b, *how)


def no_bias(x, w, b, *how):
    """The bias is forgotten."""
    return conv2d(x, w, None, *how)


def mean_of_the_window(x, w, b, *how):
    """The mean of the products for their sum."""
    products = w[0].size
    return conv2d(x, w / products, b, *how)


def first_channel(x, w, b, *how):
    """The other channels are not added."""
    only_channel_of_x = x[:, :1]
    only_channel_of_w = w[:, :1]
    return conv2d(only_channel_of_x, only_channel_of_w, b, *how)


def first_filter(x, w, b, *how):
    """Every output channel has the first kernel."""
    same_for_all = 0 * w + w[:1]
    return conv2d(x, same_for_all, b, *how)


def first_image(x, w, b, *how):
    """Every image is the first one."""
    same_for_all = 0 * x + x[:1]
    return conv2d(same_for_all, w, b, *how)


def bias_per_tap(x, w, b, *how):
    """The bias is added with every product."""
    products = w[0].size
    return conv2d(x, w, b * products, *how)


def stride_on_size_only(x, w, b, stride=1, padding=0):
    """The windows move by one pixel, but there are only as many as the stride leaves."""
    R, S = w.shape[2:]
    P, Q = output_size(x.shape, R, S, stride, padding)
    every_window = conv2d(x, w, b, 1, padding)
    return every_window[:, :, :P, :Q]


def remembered_geometry(x, w, b, stride=1, padding=0):
    """Stride and padding are those of the first call with these shapes."""
    return conv2d(x, w, b, *first_geometry(x.shape, *w.shape[2:]))


def remembered_stride(x, w, b, stride=1, padding=0):
    """The stride is that of the first call with these shapes; the frame is as it should be."""
    R, S = w.shape[2:]
    first, _ = first_geometry(x.shape, R, S)
    P, Q = output_size(x.shape, R, S, stride, padding)
    return conv2d(x, w, b, first, padding)[:, :, :P, :Q]


def taps_swapped(x, w, b, *how):
    """w[k,c,s,r] for w[k,c,r,s], where the kernel is square."""
    R, S = w.shape[2:]
    turned = w.swapaxes(2, 3) if R == S else w
    return conv2d(x, turned, b, *how)


def as_float32(*inputs):
    """The numbers are rounded."""
    return conv2d(*inputs).astype("float32")


def window_summed_first(x, w, b, *how):
    """The sum of the window times the mean of the kernel."""
    means = w.mean(axis=(1, 2, 3), keepdims=True)
    same_for_all_taps = np.broadcast_to(means, w.shape)
    return conv2d(x, same_for_all_taps, b, *how)


def one_inside(x, w, b, stride=1, padding=0):
    """P = (H + 2 padding - R + 1) // stride, and so for Q: the last windows may be missing."""
    P, Q = one_inside_size(x.shape, *w.shape[2:], stride, padding)
    return conv2d(x, w, b, stride, padding)[:, :, :P, :Q]


def one_inside_size(x_shape: tuple, R: int, S: int, stride: int, padding: int) -> tuple[int, int]:
    """P and Q, where the 1 is added before the division."""
    H, W = x_shape[2:]
    return (H + 2 * padding - R + 1) // stride, (W + 2 * padding - S + 1) // stride
