"""The kernels of lesson 01_gpu/4: the three sums of a convolution, and a matrix that nobody builds.

Output p sees pixel h through tap r if p stride + r - padding = h: a tie. All sums run over the same
ties, so a wrong idea about them is another rule for what is tied.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.cases.common import CONVOLUTIONS
from labkit.checks.lessons import cases_of
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import blocks, distinct, kernel_exercise
from labkit.gpu.kernels import convolution
from labkit.reference import conv2d, conv2d_backward

THREADS = 128

# Rules: which outputs p [P,1,1], taps r [1,R,1] and pixels h [1,1,H] are tied


def tied(p, r, h, stride, padding):
    return p * stride + r - padding == h


def forgot_padding(p, r, h, stride, padding):
    return tied(p, r, h, stride, 0)


def forgot_stride(p, r, h, stride, padding):
    return tied(p, r, h, 1, padding)


def wrapped(p, r, h, stride, padding):
    """An index below 0 counts from the end, as NumPy reads it."""
    index = p * stride + r - padding
    return np.where(index < 0, index + h.size, index) == h


def add_up(sum_: str, rule: Callable, P: tuple, R: tuple, H: tuple, geometry: tuple, *factors):
    """An einsum over the factors and the ties along rows, prh, and along columns, qsv."""
    for sizes in zip(P, R, H, strict=True):
        factors += (np.where(rule(*np.ogrid[tuple(map(slice, sizes))], *geometry), 1.0, 0.0),)
    return np.einsum(sum_, *factors, optimize=True).astype(np.float32)


def outputs(x, R, S, *geometry) -> tuple[int, int]:
    return convolution.output_shape(x.shape, (1, x.shape[1], R, S), *geometry)[2:]


def turned(w):
    return w[:, :, ::-1, ::-1]


# y[n,k,p,q]: one thread for each output; blocks of 128


def forward_launch(x, w, b, *geometry):
    y = np.zeros(convolution.output_shape(x.shape, w.shape, *geometry), np.float32)
    return blocks(y.size, THREADS), THREADS, (y,)


def forward_by(rule: Callable) -> Callable:
    def wrong(x, w, b, *geometry):
        sizes = outputs(x, *w.shape[2:], *geometry), w.shape[2:], x.shape[2:]
        y = add_up("nchv,kcrs,prh,qsv->nkpq", rule, *sizes, geometry, x, w)
        return y + b[:, None, None]

    return wrong


# dx[n,c,h,v]: one thread for each pixel; dw[k,c,r,s]: a block for each weight; blocks of 128


def gradient_launch(threads: int) -> Callable:
    """A launch with so many threads for each element of the gradient."""

    def launch(dy, other, stride, padding, shape):
        gradient = np.zeros(shape, np.float32)
        arguments = dy, other, stride, padding, gradient
        return blocks(threads * gradient.size, THREADS), THREADS, (gradient,), arguments

    return launch


def dx_oracle(dy, w, stride, padding, shape):
    return conv2d_backward(dy, np.zeros(shape), w, stride, padding)[0]


def dx_by(rule: Callable) -> Callable:
    def wrong(dy, w, stride, padding, shape):
        sizes, geometry = (dy.shape[2:], w.shape[2:], shape[2:]), (stride, padding)
        return add_up("nkpq,kcrs,prh,qsv->nchv", rule, *sizes, geometry, dy, w)

    return wrong


def dw_oracle(dy, x, stride, padding, shape):
    return conv2d_backward(dy, x, np.zeros(shape), stride, padding)[1]


def dw_adding(times: Callable) -> Callable:
    """Product number j, in the order n, p, q, is added times(j, P Q) times."""

    def wrong(dy, x, *rest):
        j = np.arange(dy[:, 0].size).reshape(dy[:, :1].shape)
        return dw_oracle(dy * times(j, dy[0, 0].size), x, *rest)

    return wrong


# cols[crs, npq]: one thread for each element; blocks of 32 x 8


@cuda.jit(device=True)
def pixel(x, row, col, R, S, stride, padding):
    P = (x.shape[2] + 2 * padding - R) // stride + 1
    Q = (x.shape[3] + 2 * padding - S) // stride + 1
    c, r, s = row // (R * S), row // S % R, row % S
    n, p, q = col // (P * Q), col // Q % P, col % Q
    h, v = p * stride + r - padding, q * stride + s - padding
    return x[n, c, h, v] if 0 <= h < x.shape[2] and 0 <= v < x.shape[3] else np.float32(0)


@cuda.jit
def gather(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        cols[row, col] = pixel(x, row, col, R, S, stride, padding)


def pixel_of(kernel: Callable) -> Callable:
    """The device function `pixel` that a kernel, the learner's or ours, calls."""
    return kernel.py_func.__globals__["pixel"]


def matrix_by(rule: Callable, order: str = "crsnpq", places: int = 1, taps: int = 1) -> Callable:
    """[C R S, N P Q], or its axes in another order; -1: p counts to Q and q to P, or r to S."""

    def cols(x, R, S, *geometry):
        sizes = outputs(x, R, S, *geometry)[::places], (R, S)[::taps], x.shape[2:]
        found = add_up(f"nchv,prh,qsv->{order}", rule, *sizes, geometry, x)
        return found.reshape(x.shape[1] * R * S, -1)

    return cols


def gather_launch(x, R, S, *geometry):
    rows, columns = x.shape[1] * R * S, len(x) * np.prod(outputs(x, R, S, *geometry))
    cols = np.zeros((rows, columns), np.float32)
    return (blocks(columns, 32), blocks(rows, 8)), (32, 8), (cols,)


EXERCISES = [
    kernel_exercise(
        "gpu.conv2d_kernel",
        forward_launch,
        convolution.conv2d_forward,
        cases_of(
            CONVOLUTIONS,
            lambda rng, x, w, y, *geometry: (
                *(distinct(rng, *x), distinct(rng, *w), 3 + distinct(rng, w[0]), *geometry),
            ),
        ),
        conv2d,
        wrong={
            "bias_only": lambda x, w, b, *geometry: conv2d(x, 0 * w, b, *geometry),
            "no_bias": lambda x, w, b, *geometry: conv2d(x, w, None, *geometry),
            "kernel_turned": lambda x, w, b, *geometry: conv2d(x, turned(w), b, *geometry),
            "padding_forgotten": forward_by(forgot_padding),
            "stride_forgotten": forward_by(forgot_stride),
            "wraps_round": forward_by(wrapped),
        },
        costs=("global_load_sectors_per_request",),
    ),
    kernel_exercise(
        "gpu.conv2d_dx_kernel",
        gradient_launch(1),
        convolution.conv2d_dx,
        cases_of(
            CONVOLUTIONS,
            lambda rng, x, w, y, *geometry: (distinct(rng, *y), distinct(rng, *w), *geometry, x),
        ),
        dx_oracle,
        wrong={
            "taps_turned": lambda dy, w, *rest: dx_oracle(dy, turned(w), *rest),
            "rest_ignored": dx_by(lambda p, r, h, step, pad: p == (h + pad - r) // step),
            "not_divided": dx_by(lambda p, r, h, step, pad: p == h + pad - r),
            "padding_forgotten": dx_by(forgot_padding),
            "forward_rule": dx_by(lambda p, r, h, step, pad: tied(h, r, p, step, pad)),
            "one_channel": lambda dy, w, *rest: dx_oracle(dy[:, :1], w[:1], *rest),
        },
        costs=("atomic_lanes", "global_load_sectors_per_request"),
    ),
    kernel_exercise(
        "gpu.conv2d_dw_kernel",
        gradient_launch(THREADS),
        convolution.conv2d_dw,
        cases_of(
            CONVOLUTIONS | {"long sums": ((3, 2, 13, 11), (2, 2, 3, 3), (3, 2, 13, 11), 1, 1)},
            lambda rng, x, w, y, *geometry: (distinct(rng, *y), distinct(rng, *x), *geometry, w),
        ),
        dw_oracle,
        wrong={
            "thread_0_only": dw_adding(lambda j, PQ: j % THREADS == 0),
            "first_image_only": dw_adding(lambda j, PQ: j < PQ),
            "one_round_only": dw_adding(lambda j, PQ: j < THREADS),
            "no_step": dw_adding(lambda j, PQ: np.minimum(j + 1, THREADS)),
            "all_by_everybody": dw_adding(lambda j, PQ: THREADS),
        },
        costs=("global_load_sectors_per_request", "barriers"),
    ),
    kernel_exercise(
        "gpu.implicit_gemm_gather",
        gather_launch,
        gather,
        cases_of(
            CONVOLUTIONS, lambda rng, x, w, y, *geometry: (distinct(rng, *x), *w[2:], *geometry)
        ),
        matrix_by(tied),
        wrong={
            "rows_rsc": matrix_by(tied, "rscnpq"),
            "rows_csr": matrix_by(tied, "csrnpq"),
            "rows_cut_wrongly": matrix_by(tied, taps=-1),
            "columns_pqn": matrix_by(tied, "crspqn"),
            "columns_nqp": matrix_by(tied, "crsnqp"),
            "columns_cut_wrongly": matrix_by(tied, places=-1),
        },
        costs=("global_load_sectors_per_request", "traffic_bytes"),
    ),
]
