"""The kernels of lesson 01_gpu/4: the three sums of a convolution, and a matrix that nobody builds.

The cases are the sizes of x, w and y, then `geometry`: stride and padding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import cases_of
from labkit.convolutions import TELLING_SIZES, output_size
from labkit.gpu.exercise_data import whole_numbers
from labkit.gpu.exercises.solutions import convolution_kernels as solutions
from labkit.gpu.exercises.wrong import convolution_kernels as wrong
from labkit.gpu.exercises.wrong.convolution_kernels import (
    THREADS,
    matrix_by,
    right_dw,
    right_dx,
)
from labkit.gpu.kernel_exercise import blocks, kernel_exercise
from labkit.reference import conv2d


def owner_alone(profile: Any, kernel: Any, *inputs: Any) -> str | None:
    """Who owns a result collects it and writes it: nothing is added atomically."""
    if not (atomics := profile.counters["atomic_lanes"]):
        return None
    return (
        f"{atomics:,} additions are atomic. Here each result has an owner, who alone writes it: "
        "collect in a variable, and no addition needs to be atomic."
    )


# y[n,k,p,q]: one thread for each output; blocks of 128


def forward_inputs(rng, x, w, y, *geometry):
    """x, w, b, stride, padding."""
    bias = whole_numbers(rng, w[0])
    return whole_numbers(rng, *x), whole_numbers(rng, *w), bias, *geometry


def forward_launch(x, w, b, *geometry):
    """A thread for each output."""
    R, S = w.shape[2:]
    shape = len(x), len(w), *output_size(x.shape, R, S, *geometry)
    y = np.zeros(shape, np.float32)
    return blocks(y.size, THREADS), THREADS, (y,)


conv2d_kernel = kernel_exercise(
    "gpu.conv2d_kernel",
    launch=forward_launch,
    kernel=solutions.conv2d_kernel,
    cases=cases_of(TELLING_SIZES, forward_inputs),
    oracle=conv2d,
    wrong={
        "bias_only": lambda x, w, b, *geometry: conv2d(x, 0 * w, b, *geometry),
        "no_bias": lambda x, w, b, *geometry: conv2d(x, w, None, *geometry),
        "bias_of_first": lambda x, w, b, *geometry: conv2d(x, w, 0 * b + b[0], *geometry),
        "kernel_turned": lambda x, w, b, *geometry: conv2d(x, wrong.turned(w), b, *geometry),
        "taps_swapped": wrong.forward_taps_swapped,
        "one_channel": lambda x, w, b, *geometry: conv2d(x[:, :1], w[:, :1], b, *geometry),
        "last_product": wrong.last_product_of_output,
        "padding_forgotten": wrong.forward_by(wrong.forgot_padding),
        "padding_added": wrong.forward_by(wrong.padding_added),
        "stride_forgotten": wrong.forward_by(wrong.forgot_stride),
        "stride_on_the_tap": wrong.forward_by(wrong.stride_on_the_tap),
        "first_pixel_lost": wrong.forward_by(wrong.first_pixel_lost),
        "wraps_round": wrong.forward_by(wrong.wrapped),
    },
    limit=owner_alone,
    costs=("global_load_sectors_per_request",),
)

# dx[n,c,h,v]: one thread for each pixel; dw[k,c,r,s]: a block for each weight; blocks of 128


def gradient_launch(threads: int) -> Callable:
    """A launch with so many threads for each element of the gradient."""

    def launch(dy, other, stride, padding, shape):
        gradient = np.zeros(shape, np.float32)
        arguments = dy, other, stride, padding, gradient
        return blocks(threads * gradient.size, THREADS), THREADS, (gradient,), arguments

    return launch


def dx_inputs(rng, x, w, y, *geometry):
    """dy, w, stride, padding, the shape of x."""
    return whole_numbers(rng, *y), whole_numbers(rng, *w), *geometry, x


conv2d_dx_kernel = kernel_exercise(
    "gpu.conv2d_dx_kernel",
    launch=gradient_launch(threads=1),
    kernel=solutions.conv2d_dx_kernel,
    cases=cases_of(TELLING_SIZES, dx_inputs),
    oracle=right_dx,
    wrong={
        "taps_turned": lambda dy, w, *rest: right_dx(dy, wrong.turned(w), *rest),
        "taps_swapped": wrong.dx_taps_swapped,
        "rest_ignored": wrong.dx_by(wrong.rest_ignored),
        "rest_of_columns_ignored": wrong.dx_by(wrong.tied, wrong.rest_ignored),
        "rest_of_rows_ignored": wrong.dx_by(wrong.rest_ignored, wrong.tied),
        "not_divided": wrong.dx_by(wrong.not_divided),
        "checked_but_not_divided": wrong.dx_by(wrong.checked_but_not_divided),
        "padding_forgotten": wrong.dx_by(wrong.forgot_padding),
        "forward_rule": wrong.dx_by(wrong.forward_rule),
        "first_output_lost": wrong.dx_by(wrong.first_output_lost),
        "wraps_round": wrong.dx_by(wrong.output_wrapped),
        "one_channel": lambda dy, w, *rest: right_dx(dy[:, :1], w[:1], *rest),
        "last_product": wrong.last_product_of_pixel,
    },
    limit=owner_alone,
    costs=("atomic_lanes", "global_load_sectors_per_request"),
)


LONG_SUMS = {
    "long sums": ((3, 2, 13, 11), (2, 2, 3, 3), (3, 2, 13, 11), 1, 1),
    "two rounds of threads": ((1, 1, 16, 16), (1, 1, 2, 2), (1, 1, 15, 15), 1, 0),
}


def dw_inputs(rng, x, w, y, *geometry):
    """dy, x, stride, padding, the shape of w."""
    return whole_numbers(rng, *y), whole_numbers(rng, *x), *geometry, w


conv2d_dw_kernel = kernel_exercise(
    "gpu.conv2d_dw_kernel",
    launch=gradient_launch(THREADS),
    kernel=solutions.conv2d_dw_kernel,
    cases=cases_of(TELLING_SIZES | LONG_SUMS, dw_inputs),
    oracle=right_dw,
    wrong={  # product j of PQ for each image
        "thread_0_only": wrong.dw_adding(lambda j, PQ: j % THREADS == 0),
        "first_image_only": wrong.dw_adding(lambda j, PQ: j < PQ),
        "one_round_only": wrong.dw_adding(lambda j, PQ: j < THREADS),
        "whole_rounds_only": wrong.dw_adding(lambda j, PQ: j < j.size // THREADS * THREADS),
        "last_round_only": wrong.dw_adding(lambda j, PQ: j >= j.size - THREADS),
        "first_warp_only": wrong.dw_adding(lambda j, PQ: j % THREADS < 32),
        "no_step": wrong.dw_adding(lambda j, PQ: np.minimum(j + 1, THREADS)),
        "step_of_a_warp": wrong.dw_adding(lambda j, PQ: np.minimum(j // 32 + 1, THREADS // 32)),
        "step_too_short": wrong.dw_adding(lambda j, PQ: np.minimum(j // 64 + 1, THREADS // 64)),
        "step_too_long": wrong.dw_adding(lambda j, PQ: j % (2 * THREADS) < THREADS),
        "all_by_everybody": wrong.dw_adding(lambda j, PQ: THREADS),
    },
    limit=owner_alone,
    costs=("global_load_sectors_per_request", "barriers"),
)

# cols[crs, npq]: one thread for each element; blocks of 32 x 8


def gather_inputs(rng, x, w, y, *geometry):
    """x, R, S, stride, padding."""
    return whole_numbers(rng, *x), *w[2:], *geometry


def gather_launch(x, R, S, *geometry):
    """A thread for each element of the matrix."""
    N, C = x.shape[:2]
    P, Q = output_size(x.shape, R, S, *geometry)
    cols = np.zeros((C * R * S, N * P * Q), np.float32)
    grid = blocks(cols.shape[1], 32), blocks(cols.shape[0], 8)
    return grid, (32, 8), (cols,)


def pixel_of(kernel: Callable) -> Callable:
    """The device function `pixel` that a kernel, the learner's or ours, calls."""
    return kernel.py_func.__globals__["pixel"]


implicit_gemm_gather = kernel_exercise(
    "gpu.implicit_gemm_gather",
    launch=gather_launch,
    kernel=solutions.build,
    cases=cases_of(TELLING_SIZES, gather_inputs),
    oracle=matrix_by(),
    wrong={
        # a row as c, r, s
        "rows_rsc": matrix_by(rows=lambda i, C, R, S: (i % C, i // (S * C), i // C % S)),
        "rows_csr": matrix_by(rows=lambda i, C, R, S: (i // (R * S), i % R, i // R % S)),
        "rows_cut_wrongly": matrix_by(rows=lambda i, C, R, S: (i // (R * S), i // R % S, i % R)),
        "taps_not_cut": matrix_by(rows=lambda i, C, R, S: (i // (R * S), i // S, i % S)),
        # a column as n, p, q
        "columns_pqn": matrix_by(columns=lambda j, N, P, Q: (j % N, j // (Q * N), j // N % Q)),
        "columns_nqp": matrix_by(columns=lambda j, N, P, Q: (j // (P * Q), j % P, j // P % Q)),
        "columns_cut_wrongly": matrix_by(
            columns=lambda j, N, P, Q: (j // (P * Q), j // P % Q, j % P)
        ),
        "outputs_not_cut": matrix_by(columns=lambda j, N, P, Q: (j // (P * Q), j // Q, j % Q)),
        "first_image": matrix_by(columns=lambda j, N, P, Q: (0 * j, j // Q % P, j % Q)),
    },
    costs=("global_load_sectors_per_request", "traffic_bytes"),
)

EXERCISES = [conv2d_kernel, conv2d_dx_kernel, conv2d_dw_kernel, implicit_gemm_gather]
