"""The kernels of lesson 01_gpu/4: the three sums of a convolution, and a matrix that nobody builds.

Output p sees pixel h through tap r if p stride + r - padding = h: a tie. All sums run over the same
ties, so a wrong idea about them is another rule for what is tied.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import cases_of
from labkit.convolutions import TELLING_SIZES
from labkit.gpu import cuda
from labkit.gpu.exercise_data import whole_numbers
from labkit.gpu.kernel_exercise import blocks, kernel_exercise
from labkit.gpu.kernels import direct_convolution
from labkit.reference import conv2d, conv2d_backward

THREADS = 128

# Rules: which outputs p [P,1,1], taps r [1,R,1] and pixels h [1,1,H] are tied


def tied(p, r, h, stride, padding):
    return p * stride + r - padding == h


def forgot_padding(p, r, h, stride, padding):
    return tied(p, r, h, stride, 0)


def padding_added(p, r, h, stride, padding):
    return tied(p, r, h, stride, -padding)


def forgot_stride(p, r, h, stride, padding):
    return tied(p, r, h, 1, padding)


def stride_on_the_tap(p, r, h, stride, padding):
    return p + r * stride - padding == h


def first_pixel_lost(p, r, h, stride, padding):
    return tied(p, r, h, stride, padding) & (h > 0)


def wrapped(p, r, h, stride, padding):
    """An index below 0 counts from the end, as NumPy reads it."""
    index = p * stride + r - padding
    return np.where(index < 0, index + h.size, index) == h


# The same, solved for p: h + padding - r = p stride


def rest_ignored(p, r, h, stride, padding):
    return p == (h + padding - r) // stride


def not_divided(p, r, h, stride, padding):
    return p == h + padding - r


def checked_but_not_divided(p, r, h, stride, padding):
    whole = (h + padding - r) % stride == 0
    return whole & not_divided(p, r, h, stride, padding)


def forward_rule(p, r, h, stride, padding):
    """The pixel in the place of the output."""
    return tied(h, r, p, stride, padding)


def first_output_lost(p, r, h, stride, padding):
    return tied(p, r, h, stride, padding) & (p > 0)


def output_wrapped(p, r, h, stride, padding):
    """An output below 0 counts from the end."""
    whole = (h + padding - r) % stride == 0
    index = (h + padding - r) // stride
    return whole & (np.where(index < 0, index + p.size, index) == p)


# Sums over the ties


def ties(rule: Callable, P: int, R: int, H: int, geometry: tuple) -> np.ndarray:
    """[P, R, H]: 1 where output, tap and pixel are tied, else 0."""
    return np.where(rule(*np.ogrid[:P, :R, :H], *geometry), 1.0, 0.0)


def add_up(
    sum_: str, rules: tuple, P: tuple, R: tuple, H: tuple, geometry: tuple, *factors: np.ndarray
) -> np.ndarray:
    """An einsum over the factors and the ties along rows, [P,R,H], and along columns, [Q,S,W].

    rules  one for the rows, one for the columns; P, R and H: how many there are of both
    """
    rows = ties(rules[0], P[0], R[0], H[0], geometry)
    columns = ties(rules[1], P[1], R[1], H[1], geometry)
    return np.einsum(sum_, *factors, rows, columns, optimize=True).astype(np.float32)


def outputs(x, R, S, *geometry) -> tuple[int, int]:
    return direct_convolution.output_shape(x.shape, (1, x.shape[1], R, S), *geometry)[2:]


def turned(w):
    return w[:, :, ::-1, ::-1]


# y[n,k,p,q]: one thread for each output; blocks of 128


def forward_launch(x, w, b, *geometry):
    y = np.zeros(direct_convolution.output_shape(x.shape, w.shape, *geometry), np.float32)
    return blocks(y.size, THREADS), THREADS, (y,)


def forward_by(rule: Callable) -> Callable:
    def wrong(x, w, b, *geometry):
        sizes = outputs(x, *w.shape[2:], *geometry), w.shape[2:], x.shape[2:]
        y = add_up("nchv,kcrs,prh,qsv->nkpq", (rule, rule), *sizes, geometry, x, w)
        return y + b[:, None, None]

    return wrong


def forward_taps_swapped(x, w, b, *geometry):
    """s moves down and r moves right."""
    R, S = w.shape[2:]
    sizes = outputs(x, R, S, *geometry), (S, R), x.shape[2:]
    y = add_up("nchv,kcrs,psh,qrv->nkpq", (tied, tied), *sizes, geometry, x, w)
    return y + b[:, None, None]


def last_product_of_output(x, w, b, *geometry):
    """Each product takes the place of the one before; without any, the bias stays."""
    P, Q = outputs(x, *w.shape[2:], *geometry)
    rows = ties(tied, P, w.shape[2], x.shape[2], geometry)  # [P, R, H]
    columns = ties(tied, Q, w.shape[3], x.shape[3], geometry)  # [Q, S, W]
    y = np.broadcast_to(b[:, None, None], (len(x), len(b), P, Q))
    for r, s in np.ndindex(w.shape[2:]):
        seen = np.einsum("nhv,ph,qv->npq", x[:, -1], rows[:, r], columns[:, s])
        product = seen[:, None] * w[:, -1, r, s, None, None]
        inside = np.outer(rows[:, r].any(axis=1), columns[:, s].any(axis=1))
        y = np.where(inside, product, y)
    return y.astype(np.float32)


# dx[n,c,h,v]: one thread for each pixel; dw[k,c,r,s]: a block for each weight; blocks of 128


def gradient_launch(threads: int) -> Callable:
    """A launch with so many threads for each element of the gradient."""

    def launch(dy, other, stride, padding, shape):
        gradient = np.zeros(shape, np.float32)
        arguments = dy, other, stride, padding, gradient
        return blocks(threads * gradient.size, THREADS), THREADS, (gradient,), arguments

    return launch


def owner_alone(profile: Any, kernel: Any, *inputs: Any) -> str | None:
    """Who owns a result collects it and writes it: nothing is added atomically."""
    if not (atomics := profile.counters["atomic_lanes"]):
        return None
    return (
        f"{atomics:,} additions are atomic. Here each result has an owner, who alone writes it: "
        "collect in a variable, and no addition needs to be atomic."
    )


def dx_oracle(dy, w, stride, padding, shape):
    return conv2d_backward(dy, np.zeros(shape), w, stride, padding)[0]


def dx_by(rows: Callable, columns: Callable | None = None) -> Callable:
    rules = rows, columns or rows

    def wrong(dy, w, stride, padding, shape):
        sizes = dy.shape[2:], w.shape[2:], shape[2:]
        return add_up("nkpq,kcrs,prh,qsv->nchv", rules, *sizes, (stride, padding), dy, w)

    return wrong


def dx_taps_swapped(dy, w, stride, padding, shape):
    R, S = w.shape[2:]
    sizes = dy.shape[2:], (S, R), shape[2:]
    return add_up("nkpq,kcrs,psh,qrv->nchv", (tied, tied), *sizes, (stride, padding), dy, w)


def last_product_of_pixel(dy, w, stride, padding, shape):
    """Each product takes the place of the one before."""
    rows = ties(tied, dy.shape[2], w.shape[2], shape[2], (stride, padding))  # [P, R, H]
    columns = ties(tied, dy.shape[3], w.shape[3], shape[3], (stride, padding))  # [Q, S, W]
    dx = np.zeros(shape)
    for r, s in np.ndindex(w.shape[2:]):
        seen = np.einsum("npq,ph,qv->nhv", dy[:, -1], rows[:, r], columns[:, s])
        product = seen[:, None] * w[-1, :, r, s, None, None]
        there = np.outer(rows[:, r].any(axis=0), columns[:, s].any(axis=0))
        dx = np.where(there, product, dx)
    return dx.astype(np.float32)


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


def split_row(row, C, R, S):
    return row // (R * S), row // S % R, row % S  # c, r, s


def split_column(col, N, P, Q):
    return col // (P * Q), col // Q % P, col % Q  # n, p, q


def matrix_by(rows: Callable = split_row, columns: Callable = split_column) -> Callable:
    """[C R S, N P Q], of the pixels that rows(row, C, R, S) and columns(col, N, P, Q) ask for."""

    def cols(x, R, S, stride, padding):
        N, C, H, W = x.shape
        P, Q = outputs(x, R, S, stride, padding)
        row, col = np.ogrid[: C * R * S, : N * P * Q]
        c, r, s = rows(row, C, R, S)
        n, p, q = columns(col, N, P, Q)
        h = p * stride + r - padding
        v = q * stride + s - padding
        inside = (h >= 0) & (h < H) & (v >= 0) & (v < W)
        return np.where(inside, x[n, c, h.clip(0, H - 1), v.clip(0, W - 1)], np.float32(0))

    return cols


def rows_rsc(row, C, R, S):
    r, s, c = row // (S * C), row // C % S, row % C
    return c, r, s


def rows_csr(row, C, R, S):
    c, s, r = row // (R * S), row // R % S, row % R
    return c, r, s


def rows_cut_wrongly(row, C, R, S):
    return row // (R * S), row // R % S, row % R


def taps_not_cut(row, C, R, S):
    return row // (R * S), row // S, row % S


def columns_pqn(col, N, P, Q):
    p, q, n = col // (Q * N), col // N % Q, col % N
    return n, p, q


def columns_nqp(col, N, P, Q):
    n, q, p = col // (P * Q), col // P % Q, col % P
    return n, p, q


def columns_cut_wrongly(col, N, P, Q):
    return col // (P * Q), col // P % Q, col % P


def outputs_not_cut(col, N, P, Q):
    return col // (P * Q), col // Q, col % Q


def first_image(col, N, P, Q):
    n, p, q = split_column(col, N, P, Q)
    return 0 * n, p, q


def gather_launch(x, R, S, *geometry):
    rows, columns = x.shape[1] * R * S, len(x) * np.prod(outputs(x, R, S, *geometry))
    cols = np.zeros((rows, columns), np.float32)
    return (blocks(columns, 32), blocks(rows, 8)), (32, 8), (cols,)


def forward_inputs(rng, x, w, y, *geometry):
    bias = whole_numbers(rng, w[0])
    return whole_numbers(rng, *x), whole_numbers(rng, *w), bias, *geometry


def dx_inputs(rng, x, w, y, *geometry):
    return whole_numbers(rng, *y), whole_numbers(rng, *w), *geometry, x


def dw_inputs(rng, x, w, y, *geometry):
    return whole_numbers(rng, *y), whole_numbers(rng, *x), *geometry, w


def gather_inputs(rng, x, w, y, *geometry):
    return whole_numbers(rng, *x), *w[2:], *geometry


LONG_SUMS = {
    "long sums": ((3, 2, 13, 11), (2, 2, 3, 3), (3, 2, 13, 11), 1, 1),
    "two rounds of threads": ((1, 1, 16, 16), (1, 1, 2, 2), (1, 1, 15, 15), 1, 0),
}

EXERCISES = [
    kernel_exercise(
        "gpu.conv2d_kernel",
        forward_launch,
        direct_convolution.conv2d_forward,
        cases_of(TELLING_SIZES, forward_inputs),
        conv2d,
        wrong={
            "bias_only": lambda x, w, b, *geometry: conv2d(x, 0 * w, b, *geometry),
            "no_bias": lambda x, w, b, *geometry: conv2d(x, w, None, *geometry),
            "bias_of_first": lambda x, w, b, *geometry: conv2d(x, w, 0 * b + b[0], *geometry),
            "kernel_turned": lambda x, w, b, *geometry: conv2d(x, turned(w), b, *geometry),
            "taps_swapped": forward_taps_swapped,
            "one_channel": lambda x, w, b, *geometry: conv2d(x[:, :1], w[:, :1], b, *geometry),
            "last_product": last_product_of_output,
            "padding_forgotten": forward_by(forgot_padding),
            "padding_added": forward_by(padding_added),
            "stride_forgotten": forward_by(forgot_stride),
            "stride_on_the_tap": forward_by(stride_on_the_tap),
            "first_pixel_lost": forward_by(first_pixel_lost),
            "wraps_round": forward_by(wrapped),
        },
        limit=owner_alone,
        costs=("global_load_sectors_per_request",),
    ),
    kernel_exercise(
        "gpu.conv2d_dx_kernel",
        gradient_launch(1),
        direct_convolution.conv2d_dx,
        cases_of(TELLING_SIZES, dx_inputs),
        dx_oracle,
        wrong={
            "taps_turned": lambda dy, w, *rest: dx_oracle(dy, turned(w), *rest),
            "taps_swapped": dx_taps_swapped,
            "rest_ignored": dx_by(rest_ignored),
            "rest_of_columns_ignored": dx_by(tied, rest_ignored),
            "rest_of_rows_ignored": dx_by(rest_ignored, tied),
            "not_divided": dx_by(not_divided),
            "checked_but_not_divided": dx_by(checked_but_not_divided),
            "padding_forgotten": dx_by(forgot_padding),
            "forward_rule": dx_by(forward_rule),
            "first_output_lost": dx_by(first_output_lost),
            "wraps_round": dx_by(output_wrapped),
            "one_channel": lambda dy, w, *rest: dx_oracle(dy[:, :1], w[:1], *rest),
            "last_product": last_product_of_pixel,
        },
        limit=owner_alone,
        costs=("atomic_lanes", "global_load_sectors_per_request"),
    ),
    kernel_exercise(
        "gpu.conv2d_dw_kernel",
        gradient_launch(THREADS),
        direct_convolution.conv2d_dw,
        cases_of(TELLING_SIZES | LONG_SUMS, dw_inputs),
        dw_oracle,
        wrong={
            "thread_0_only": dw_adding(lambda j, PQ: j % THREADS == 0),
            "first_image_only": dw_adding(lambda j, PQ: j < PQ),
            "one_round_only": dw_adding(lambda j, PQ: j < THREADS),
            "whole_rounds_only": dw_adding(lambda j, PQ: j < j.size // THREADS * THREADS),
            "last_round_only": dw_adding(lambda j, PQ: j >= j.size - THREADS),
            "first_warp_only": dw_adding(lambda j, PQ: j % THREADS < 32),
            "no_step": dw_adding(lambda j, PQ: np.minimum(j + 1, THREADS)),
            "step_of_a_warp": dw_adding(lambda j, PQ: np.minimum(j // 32 + 1, THREADS // 32)),
            "step_too_short": dw_adding(lambda j, PQ: np.minimum(j // 64 + 1, THREADS // 64)),
            "step_too_long": dw_adding(lambda j, PQ: j % (2 * THREADS) < THREADS),
            "all_by_everybody": dw_adding(lambda j, PQ: THREADS),
        },
        limit=owner_alone,
        costs=("global_load_sectors_per_request", "barriers"),
    ),
    kernel_exercise(
        "gpu.implicit_gemm_gather",
        gather_launch,
        gather,
        cases_of(TELLING_SIZES, gather_inputs),
        matrix_by(),
        wrong={
            "rows_rsc": matrix_by(rows=rows_rsc),
            "rows_csr": matrix_by(rows=rows_csr),
            "rows_cut_wrongly": matrix_by(rows=rows_cut_wrongly),
            "taps_not_cut": matrix_by(rows=taps_not_cut),
            "columns_pqn": matrix_by(columns=columns_pqn),
            "columns_nqp": matrix_by(columns=columns_nqp),
            "columns_cut_wrongly": matrix_by(columns=columns_cut_wrongly),
            "outputs_not_cut": matrix_by(columns=outputs_not_cut),
            "first_image": matrix_by(columns=first_image),
        },
        costs=("global_load_sectors_per_request", "traffic_bytes"),
    ),
]
