"""Wrong ideas of gpu.layer_cost: x[N,C,H,W], w[K,C,R,S], b[K], y[N,K,P,Q] -> FLOP, bytes.

Dense: each wrong idea is one line, to be compared with those around it.
"""

from collections.abc import Callable
from functools import partial


def right_flops(x, w, y):
    """Two for each multiply-add: each output has C R S of them."""
    return 2 * y.size * w[0].size


def right_bytes(x, w, b, y):
    """Each array once."""
    return x.nbytes + w.nbytes + b.nbytes + y.nbytes


def both_with_flops(flops: Callable, x, w, b, y):
    """The right bytes, but flops(x, w, y)."""
    return flops(x, w, y), right_bytes(x, w, b, y)


def with_flops(flops: Callable) -> Callable:
    """The right bytes, but flops(x, w, y)."""
    return partial(both_with_flops, flops)


def both_with_bytes(moved: Callable, x, w, b, y):
    """The right FLOP, but moved(x, w, b, y)."""
    return right_flops(x, w, y), moved(x, w, b, y)


def with_bytes(moved: Callable) -> Callable:
    """The right FLOP, but moved(x, w, b, y)."""
    return partial(both_with_bytes, moved)


# FLOP


def one_for_each_multiply_add(x, w, y):
    """A multiply-add counts as one."""
    return y.size * w[0].size


def all_kernels_for_each_output(x, w, y):
    """K is counted twice: in y and in w."""
    return 2 * y.size * w.size


def one_channel(x, w, y):
    """The sum over the channels is forgotten."""
    return 2 * y.size * w[0, 0].size


def one_tap(x, w, y):
    """The sum over the taps is forgotten."""
    return 2 * y.size * w.shape[1]


def one_multiply_add(x, w, y):
    """Every output is one multiply-add."""
    return 2 * y.size


def places_of_the_image(x, w, y):
    """H and W for P and Q."""
    N, _, H, W = x.shape
    return 2 * N * H * W * w.size


def every_number_with_every_weight(x, w, y):
    """C is counted twice: in x and in w."""
    return 2 * x.size * w.size


def one_image(x, w, y):
    """The first image alone."""
    return 2 * y[0].size * w[0].size


def bias_added(x, w, y):
    """An addition more for each output."""
    return 2 * y.size * w[0].size + y.size


# Bytes


def numbers_for_bytes(x, w, b, y):
    """How many numbers."""
    return x.size + w.size + b.size + y.size


def four_bytes(x, w, b, y):
    """Every number is float32."""
    return 4 * (x.size + w.size + b.size + y.size)


def without_y(x, w, b, y):
    """What is written is forgotten."""
    return x.nbytes + w.nbytes + b.nbytes


def without_w(x, w, b, y):
    """The weights are forgotten."""
    return x.nbytes + b.nbytes + y.nbytes


def without_b(x, w, b, y):
    """The bias is forgotten."""
    return x.nbytes + w.nbytes + y.nbytes


def w_for_each_image(x, w, b, y):
    """The weights are read again for each image."""
    return x.nbytes + len(x) * (w.nbytes + b.nbytes) + y.nbytes


def windows_for_x(x, w, b, y):
    """The matrix of im2col in place of the image."""
    windows = y.size // len(w)
    return windows * w[0].nbytes + w.nbytes + b.nbytes + y.nbytes


def y_twice(x, w, b, y):
    """y is read as well as written."""
    return x.nbytes + w.nbytes + b.nbytes + 2 * y.nbytes
