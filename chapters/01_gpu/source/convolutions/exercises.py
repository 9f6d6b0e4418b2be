"""The exercises of lesson convolutions: a convolution, im2col, and the two gradients."""

import numpy as np

from labkit import convolutions
from labkit.checks.lesson_files import (
    FLOAT64,
    LIBRARIES,
    WINDOWS,
    by_own_name,
    cases_of,
    costs,
    exercise,
)
from labkit.convolutions import IN_FLOAT32, SAME_SHAPES, SQUARE_IMAGE, TELLING_SIZES
from labkit.gpu.judging.convolution_gradients import input_gradient, weight_gradients
from labkit.reference import conv2d
from labkit_lessons.gpu.convolutions import solutions
from labkit_lessons.gpu.convolutions.wrong import conv2d_backward_input as wrong_dx
from labkit_lessons.gpu.convolutions.wrong import conv2d_backward_weights as wrong_dw
from labkit_lessons.gpu.convolutions.wrong import conv2d_direct as wrong_y
from labkit_lessons.gpu.convolutions.wrong import im2col as wrong_cols


def normal(rng: np.random.Generator, size: tuple) -> np.ndarray:
    """float64."""
    return rng.normal(size=size)


def small_float32(rng: np.random.Generator, size: tuple) -> np.ndarray:
    """256ths, all different: their sums in float32 are the same in every order."""
    count = np.prod(size)
    numbers = rng.permutation(2 * count)[:count] - count
    return numbers.reshape(size).astype(np.float32) / np.float32(256)


SIZES = TELLING_SIZES | SQUARE_IMAGE | SAME_SHAPES
SIZES |= {name: (*sizes, small_float32) for name, sizes in IN_FLOAT32.items()}

# For the costs: the network's layers
CONV1 = 32 * 32 * 32 * 3 * 3 * 3  # multiply-adds, one image: K P Q times C R S
CONV2 = 2 * 32 * (64 * 16 * 16) * (32 * 3 * 3)  # FLOP of a gradient: 2 N K P Q times C R S
PIXELS = 32 * 16 * 16  # of its input, one image

# x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y; the sizes give x, w, y, stride, padding


def convolution_inputs(rng, x_shape, w_shape, y_shape, stride, padding, numbers=normal):
    """x, w, b, stride, padding."""
    K = w_shape[0]
    x = numbers(rng, x_shape)
    w = numbers(rng, w_shape)
    b = numbers(rng, K)
    return x, w, b, stride, padding


def convolved(x, w, b, stride=1, padding=0):
    """y[N,K,P,Q], in the dtype of x."""
    return conv2d(x, w, b, stride, padding).astype(x.dtype)


conv2d_direct = exercise(
    "gpu.conv2d_direct",
    oracle=convolved,
    cases=cases_of(SIZES, convolution_inputs),
    wrong=by_own_name(
        wrong_y.kernel_flipped,
        wrong_y.taps_swapped,
        wrong_y.stride_on_size_only,
        wrong_y.stride_down_alone,
        wrong_y.stride_right_alone,
        wrong_y.remembered_stride,
        wrong_y.remembered_geometry,
        wrong_y.square_windows,
        wrong_y.as_large_as_the_stride,
        wrong_y.as_float32,
        wrong_y.no_bias,
        wrong_y.unpadded,
        wrong_y.padding_subtracted,
        wrong_y.padding_added,
        wrong_y.positions_swapped,
        wrong_y.stride_in_the_window,
        wrong_y.one_inside,
        wrong_y.matrix_product,
        wrong_y.mean_of_the_window,
        wrong_y.first_channel,
        wrong_y.first_filter,
        wrong_y.first_image,
        wrong_y.bias_per_tap,
        wrong_y.window_summed_first,
    ),
    outputs=("y",),
    forbidden=LIBRARIES,
    cost=costs(
        ("first convolution of the network, one image", CONV1, "multiply-adds", "K P Q times C R S")
    ),
    # The lesson times what it is given: the loops, and not the fast reference.
    fallback=solutions.conv2d_direct,
    dtype="same",
    **FLOAT64,
)

# x[N,C,H,W], R, S, stride, padding -> cols[N P Q, C R S]


def im2col_inputs(rng, x_shape, w_shape, y_shape, stride, padding, numbers=normal):
    """x, R, S, stride, padding."""
    R, S = w_shape[2:]
    x = numbers(rng, x_shape)
    return x, R, S, stride, padding


im2col = exercise(
    "gpu.im2col",
    oracle=convolutions.im2col,
    cases=cases_of(SIZES, im2col_inputs),
    wrong={
        "channels_last": wrong_cols.channels_last,
        "taps_swapped": wrong_cols.taps_swapped,
        "taps_backwards": wrong_cols.taps_backwards,
        "no_transpose": wrong_cols.no_transpose,
        "columns_first": wrong_cols.columns_first,
        "stride_one": wrong_cols.stride_one,
        "one_inside": wrong_cols.one_inside,
        "rows_for_columns": wrong_cols.rows_for_columns,
        "stride_down_alone": wrong_cols.stride_down_alone,
        "stride_right_alone": wrong_cols.stride_right_alone,
        "two_strides_alone": wrong_cols.two_strides_alone,
        "remembered_stride": wrong_cols.remembered_stride,
        "remembered_geometry": wrong_cols.remembered_geometry,
        "axes_unmoved": wrong_cols.axes_unmoved,
        "axes_back": wrong_cols.axes_back,
        "axes_turned": wrong_cols.axes_turned,
        "slices_swapped": wrong_cols.slices_swapped,
        "unpadded": wrong_cols.unpadded,
        "as_float32": wrong_cols.as_float32,
    },
    outputs=("cols",),
    forbidden=(*LIBRARIES, WINDOWS),
    cost=costs(
        ("second convolution, one image: input", 4 * PIXELS, "B", "4 bytes per number"),
        ("the same as im2col rows", 36 * PIXELS, "B", "4 bytes per number, 9 taps"),
    ),
    dtype="same",
    **FLOAT64,
)

# dy[N,K,P,Q], x[N,C,H,W], R, S, stride, padding -> dw[K,C,R,S], db[K]


def weight_gradient_inputs(rng, x_shape, w_shape, y_shape, stride, padding, numbers=normal):
    """dy, x, R, S, stride, padding."""
    R, S = w_shape[2:]
    dy = numbers(rng, y_shape)
    x = numbers(rng, x_shape)
    return dy, x, R, S, stride, padding


conv2d_backward_weights = exercise(
    "gpu.conv2d_backward_weights",
    oracle=weight_gradients,
    cases=cases_of(SIZES, weight_gradient_inputs),
    wrong={
        "dy_not_transposed": wrong_dw.dy_not_transposed,
        "product_turned": wrong_dw.with_dw(wrong_dw.product_turned),
        "dy_not_turned": wrong_dw.dy_not_turned,
        "dw_flat": wrong_dw.dw_flat,
        "dw_flipped": wrong_dw.with_dw(wrong_dw.flipped),
        "dw_channels_last": wrong_dw.with_dw(wrong_dw.channels_last),
        "columns_read_rsc": wrong_dw.with_dw(wrong_dw.channels_read_last),
        "remembered_geometry": wrong_dw.remembered_geometry,
        "as_float32": wrong_dw.with_dw(wrong_dw.as_float32),
        "windows_inside_alone": wrong_dw.windows_inside_alone,
        "divided_by_n": wrong_dw.divided_by_n,
        "first_image": wrong_dw.first_image,
        "db_mean": wrong_dw.with_db(wrong_dw.mean_over_positions),
        "db_of_one_position": wrong_dw.with_db(wrong_dw.first_position),
        "db_over_channels": wrong_dw.with_db(wrong_dw.sum_over_channels),
        "db_over_images": wrong_dw.with_db(wrong_dw.sum_over_images),
        "db_one_number": wrong_dw.with_db(np.sum),
    },
    outputs=("dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(("dw of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
    dtype="same",
    **FLOAT64,
)

# dy[N,K,P,Q], w[K,C,R,S], x_shape, stride, padding -> dx[N,C,H,W]


def input_gradient_inputs(rng, x_shape, w_shape, y_shape, stride, padding, numbers=normal):
    """dy, w, x_shape, stride, padding."""
    dy = numbers(rng, y_shape)
    w = numbers(rng, w_shape)
    return dy, w, x_shape, stride, padding


conv2d_backward_input = exercise(
    "gpu.conv2d_backward_input",
    oracle=input_gradient,
    cases=cases_of(SIZES, input_gradient_inputs),
    wrong=by_own_name(
        wrong_dx.overwrites,
        wrong_dx.mean_of_readers,
        wrong_dx.covered_pixels_alone,
        wrong_dx.axes_unmoved,
        wrong_dx.axes_as_in_im2col,
        wrong_dx.axes_turned,
        wrong_dx.slices_swapped,
        wrong_dx.taps_swapped,
        wrong_dx.not_cropped,
        wrong_dx.kernel_flipped,
        wrong_dx.columns_read_rsc,
        wrong_dx.convolution,
        wrong_dx.stride_one,
        wrong_dx.stride_down_alone,
        wrong_dx.stride_right_alone,
        wrong_dx.two_strides_alone,
        wrong_dx.as_float32,
        wrong_dx.remembered_stride,
        wrong_dx.remembered_geometry,
        wrong_dx.last_window_alone,
        wrong_dx.axes_reshaped,
        wrong_dx.first_output_channel,
    ),
    outputs=("dx",),
    forbidden=LIBRARIES,
    cost=costs(("dx of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
    dtype="same",
    **FLOAT64,
)

EXERCISES = [conv2d_direct, im2col, conv2d_backward_weights, conv2d_backward_input]
