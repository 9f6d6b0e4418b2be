"""The kernels of the lesson: a convolution, and a matrix that nobody builds.

The cases are the sizes of x, w and y, then `geometry`: stride and padding.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.convolutions import TELLING_SIZES, im2col, output_size
from labkit.gpu.judging import convolution_ties
from labkit.gpu.judging.cost_limits import owner_alone
from labkit.gpu.judging.exercise_data import whole_numbers
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit.reference import conv2d
from labkit_lessons.gpu.convolution_kernels import solutions
from labkit_lessons.gpu.convolution_kernels.wrong import conv2d_kernel as wrong_y
from labkit_lessons.gpu.convolution_kernels.wrong import implicit_gemm_gather as wrong_cols

THREADS = 128  # of a block

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
        "padding_forgotten": wrong_y.with_rule(convolution_ties.forgot_padding),
        "padding_added": wrong_y.with_rule(wrong_y.padding_added),
        "stride_forgotten": wrong_y.with_rule(wrong_y.forgot_stride),
        "stride_down_alone": wrong_y.with_rules(columns=wrong_y.forgot_stride),
        "stride_right_alone": wrong_y.with_rules(rows=wrong_y.forgot_stride),
        "padding_down_alone": wrong_y.with_rules(columns=convolution_ties.forgot_padding),
        "padding_right_alone": wrong_y.with_rules(rows=convolution_ties.forgot_padding),
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
        "taps_of_the_example": wrong_cols.matrix_by(rows=wrong_cols.taps_of_the_example),
        "channel_of_the_example": wrong_cols.matrix_by(rows=wrong_cols.channel_of_the_example),
        "row_of_the_example": wrong_cols.matrix_by(rows=wrong_cols.row_of_the_example),
        "first_image": wrong_cols.matrix_by(columns=wrong_cols.first_image),
    },
    costs=("global_load_sectors_per_request", "traffic_bytes"),
)

EXERCISES = [conv2d_kernel, implicit_gemm_gather]
