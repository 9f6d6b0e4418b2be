"""The kernels of the lesson: the three sums of a convolution, and a matrix that nobody builds.

The cases are the sizes of x, w and y, then `geometry`: stride and padding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.convolutions import TELLING_SIZES, im2col, output_size
from labkit.gpu.judging.convolution_gradients import input_gradient, weight_gradients
from labkit.gpu.judging.exercise_data import whole_numbers
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit.reference import conv2d
from labkit_lessons.gpu.convolution_kernels import solutions
from labkit_lessons.gpu.convolution_kernels.wrong import conv2d_dw_kernel as wrong_dw
from labkit_lessons.gpu.convolution_kernels.wrong import conv2d_dx_kernel as wrong_dx
from labkit_lessons.gpu.convolution_kernels.wrong import conv2d_kernel as wrong_y
from labkit_lessons.gpu.convolution_kernels.wrong import implicit_gemm_gather as wrong_cols
from labkit_lessons.gpu.convolution_kernels.wrong import shared
from labkit_lessons.gpu.convolution_kernels.wrong.conv2d_dw_kernel import THREADS


def owner_alone(profile: Any, kernel: Any, *inputs: Any) -> str | None:
    """Who owns a result collects it and writes it: nothing is added atomically."""
    if not (atomics := profile.counters["atomic_lanes"]):
        return None
    return (
        f"{atomics:,} additions are atomic. Here each result has an owner, who alone writes it: "
        "collect in a variable, and no addition needs to be atomic."
    )


# y[n,k,p,q]: one thread for each output; blocks of 128


def forward_inputs(rng, x_shape, w_shape, y_shape, *geometry):
    """x, w, b, stride, padding."""
    K = w_shape[0]
    b = whole_numbers(rng, K)
    x = whole_numbers(rng, *x_shape)
    w = whole_numbers(rng, *w_shape)
    return x, w, b, *geometry


def forward_launch(x, w, b, *geometry):
    """A thread for each output."""
    N = len(x)
    K, _, R, S = w.shape
    P, Q = output_size(x.shape, R, S, *geometry)
    y = np.zeros((N, K, P, Q), np.float32)
    return blocks(y.size, THREADS), THREADS, (y,)


conv2d_kernel = kernel_exercise(
    "gpu.conv2d_kernel",
    launch=forward_launch,
    kernel=solutions.conv2d_kernel,
    cases=cases_of(TELLING_SIZES, forward_inputs),
    oracle=conv2d,
    wrong={
        **by_own_name(
            wrong_y.bias_only,
            wrong_y.no_bias,
            wrong_y.bias_of_first,
            wrong_y.kernel_turned,
            wrong_y.taps_swapped,
            wrong_y.one_channel,
            wrong_y.last_product,
        ),
        "padding_forgotten": wrong_y.with_rule(shared.forgot_padding),
        "padding_added": wrong_y.with_rule(wrong_y.padding_added),
        "stride_forgotten": wrong_y.with_rule(wrong_y.forgot_stride),
        "stride_down_alone": wrong_y.with_rules(columns=wrong_y.forgot_stride),
        "stride_right_alone": wrong_y.with_rules(rows=wrong_y.forgot_stride),
        "padding_down_alone": wrong_y.with_rules(columns=shared.forgot_padding),
        "padding_right_alone": wrong_y.with_rules(rows=shared.forgot_padding),
        "nearest_pixel": wrong_y.with_rule(wrong_y.nearest_pixel),
        "stride_on_the_tap": wrong_y.with_rule(wrong_y.stride_on_the_tap),
        "first_pixel_lost": wrong_y.with_rule(wrong_y.first_pixel_lost),
        "wraps_round": wrong_y.with_rule(wrong_y.wrapped),
        "rows_wrap_round": wrong_y.with_rules(rows=wrong_y.wrapped),
        "columns_wrap_round": wrong_y.with_rules(columns=wrong_y.wrapped),
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
        grid = blocks(threads * gradient.size, THREADS)
        return grid, THREADS, (gradient,), arguments

    return launch


def dx_inputs(rng, x_shape, w_shape, y_shape, *geometry):
    """dy, w, stride, padding, the shape of x."""
    dy = whole_numbers(rng, *y_shape)
    w = whole_numbers(rng, *w_shape)
    return dy, w, *geometry, x_shape


def dx_of(dy, w, stride, padding, shape):
    """dx[N,C,H,W], of this shape."""
    return input_gradient(dy, w, shape, stride, padding)


conv2d_dx_kernel = kernel_exercise(
    "gpu.conv2d_dx_kernel",
    launch=gradient_launch(threads=1),
    kernel=solutions.conv2d_dx_kernel,
    cases=cases_of(TELLING_SIZES, dx_inputs),
    oracle=dx_of,
    wrong={
        "taps_turned": wrong_dx.taps_turned,
        "taps_swapped": wrong_dx.taps_swapped,
        "rest_ignored": wrong_dx.with_rule(wrong_dx.rest_ignored),
        "rest_of_columns_ignored": wrong_dx.with_rules(columns=wrong_dx.rest_ignored),
        "rest_of_rows_ignored": wrong_dx.with_rules(rows=wrong_dx.rest_ignored),
        "not_divided": wrong_dx.with_rule(wrong_dx.not_divided),
        "checked_but_not_divided": wrong_dx.with_rule(wrong_dx.checked_but_not_divided),
        "padding_forgotten": wrong_dx.with_rule(shared.forgot_padding),
        "padding_down_alone": wrong_dx.with_rules(columns=shared.forgot_padding),
        "padding_right_alone": wrong_dx.with_rules(rows=shared.forgot_padding),
        "forward_rule": wrong_dx.with_rule(wrong_dx.forward_rule),
        "first_output_lost": wrong_dx.with_rule(wrong_dx.first_output_lost),
        "wraps_round": wrong_dx.with_rule(wrong_dx.output_wrapped),
        "rows_wrap_round": wrong_dx.with_rules(rows=wrong_dx.output_wrapped),
        "columns_wrap_round": wrong_dx.with_rules(columns=wrong_dx.output_wrapped),
        "one_channel": wrong_dx.one_channel,
        "last_product": wrong_dx.last_product,
    },
    limit=owner_alone,
    costs=("atomic_lanes", "global_load_sectors_per_request"),
)


LONG_SUMS = {  # shapes of x, w and y, stride, padding
    "long sums": ((3, 2, 13, 11), (2, 2, 3, 3), (3, 2, 13, 11), 1, 1),
    "two rounds of threads": ((1, 1, 16, 16), (1, 1, 2, 2), (1, 1, 15, 15), 1, 0),
}


def dw_inputs(rng, x_shape, w_shape, y_shape, *geometry):
    """dy, x, stride, padding, the shape of w."""
    dy = whole_numbers(rng, *y_shape)
    x = whole_numbers(rng, *x_shape)
    return dy, x, *geometry, w_shape


def dw_of(dy, x, stride, padding, shape):
    """dw[K,C,R,S], of this shape."""
    R, S = shape[2:]
    dw, _ = weight_gradients(dy, x, R, S, stride, padding)
    return dw


conv2d_dw_kernel = kernel_exercise(
    "gpu.conv2d_dw_kernel",
    launch=gradient_launch(THREADS),
    kernel=solutions.conv2d_dw_kernel,
    cases=cases_of(TELLING_SIZES | LONG_SUMS, dw_inputs),
    oracle=dw_of,
    wrong={
        **by_own_name(
            wrong_dw.thread_0_only,
            wrong_dw.first_image_only,
            wrong_dw.first_product_missing,
            wrong_dw.last_product_missing,
            made=wrong_dw.adding,
        ),
        "counted_in_the_grid": wrong_dw.counted_in_the_grid,
        **by_own_name(
            wrong_dw.one_round_only,
            wrong_dw.whole_rounds_only,
            wrong_dw.last_round_only,
            wrong_dw.first_warp_only,
            wrong_dw.no_step,
            wrong_dw.step_of_a_warp,
            wrong_dw.step_too_short,
            wrong_dw.step_too_long,
            wrong_dw.all_by_everybody,
            made=wrong_dw.adding,
        ),
    },
    limit=owner_alone,
    costs=("global_load_sectors_per_request", "barriers"),
)

# cols[crs, npq]: one thread for each element; blocks of 32 x 8


def gather_inputs(rng, x_shape, w_shape, y_shape, *geometry):
    """x, R, S, stride, padding."""
    R, S = w_shape[2:]
    x = whole_numbers(rng, *x_shape)
    return x, R, S, *geometry


def gather_launch(x, R, S, *geometry):
    """A thread for each element of the matrix."""
    N, C = x.shape[:2]
    P, Q = output_size(x.shape, R, S, *geometry)
    rows = C * R * S
    columns = N * P * Q
    cols = np.zeros((rows, columns), np.float32)
    across = blocks(columns, 32)
    down = blocks(rows, 8)
    return (across, down), (32, 8), (cols,)


def pixel_of(kernel: Callable) -> Callable:
    """The device function `pixel` that a kernel, the learner's or ours, calls."""
    return kernel.py_func.__globals__["pixel"]


def gathered(x, R, S, stride, padding):
    """cols[C R S, N P Q]."""
    rows = im2col(x, R, S, stride, padding)
    return rows.T.copy()


implicit_gemm_gather = kernel_exercise(
    "gpu.implicit_gemm_gather",
    launch=gather_launch,
    kernel=solutions.build,
    cases=cases_of(TELLING_SIZES, gather_inputs),
    oracle=gathered,
    wrong={
        "rows_rsc": wrong_cols.matrix_by(rows=wrong_cols.first_counts_fastest),
        "rows_csr": wrong_cols.matrix_by(rows=wrong_cols.second_counts_fastest),
        "rows_cut_wrongly": wrong_cols.matrix_by(rows=wrong_cols.cut_wrongly),
        "taps_not_cut": wrong_cols.matrix_by(rows=wrong_cols.not_cut),
        "taps_turned": wrong_cols.matrix_by(rows=wrong_cols.taps_turned),
        "columns_pqn": wrong_cols.matrix_by(columns=wrong_cols.first_counts_fastest),
        "columns_nqp": wrong_cols.matrix_by(columns=wrong_cols.second_counts_fastest),
        "columns_cut_wrongly": wrong_cols.matrix_by(columns=wrong_cols.cut_wrongly),
        "outputs_not_cut": wrong_cols.matrix_by(columns=wrong_cols.not_cut),
        "first_image": wrong_cols.matrix_by(columns=wrong_cols.first_image),
    },
    costs=("global_load_sectors_per_request", "traffic_bytes"),
)

EXERCISES = [conv2d_kernel, conv2d_dx_kernel, conv2d_dw_kernel, implicit_gemm_gather]
