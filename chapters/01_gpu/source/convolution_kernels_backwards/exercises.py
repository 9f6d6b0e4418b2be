"""The kernels of the lesson: the gradients of a convolution.

The cases are the sizes of x, w and y, then `geometry`: stride and padding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.convolutions import TELLING_SIZES
from labkit.gpu.judging import convolution_ties
from labkit.gpu.judging.convolution_gradients import input_gradient, weight_gradients
from labkit.gpu.judging.cost_limits import owner_alone
from labkit.gpu.judging.exercise_data import whole_numbers
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.convolution_kernels_backwards import solutions
from labkit_lessons.gpu.convolution_kernels_backwards.wrong import conv2d_dw_kernel as wrong_dw
from labkit_lessons.gpu.convolution_kernels_backwards.wrong import conv2d_dx_kernel as wrong_dx
from labkit_lessons.gpu.convolution_kernels_backwards.wrong.conv2d_dw_kernel import THREADS

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
        "padding_forgotten": wrong_dx.with_rule(convolution_ties.forgot_padding),
        "padding_down_alone": wrong_dx.with_rules(columns=convolution_ties.forgot_padding),
        "padding_right_alone": wrong_dx.with_rules(rows=convolution_ties.forgot_padding),
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


MISSED = ("inactive_lane", "divergent_barrier", "uninitialised")  # kinds of hazards
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


def missed_by_threads(profile: Any, hazard: Any, *arguments: Any) -> str | None:
    """The cause, where only some threads of a block or warp come to `block_sum`."""
    if "block_sum" not in hazard.what or hazard.kind not in MISSED:
        return None
    return (
        "`block_sum` stands under an `if`, or behind a `return`: every thread of the block must "
        "call it. Call it first, and let one thread write the sum."
    )


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
        "first_weight_only": wrong_dw.first_weight_only,
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
    cause=missed_by_threads,
    costs=("global_load_sectors_per_request", "barriers"),
)

EXERCISES = [conv2d_dx_kernel, conv2d_dw_kernel]
