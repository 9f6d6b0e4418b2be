"""The exercises of lesson 01_gpu/1, gradients and convolutions: plain functions of arrays."""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit import convolutions, reference
from labkit.checks.items import LIBRARIES, WINDOWS, cases_of, exercise
from labkit.convolutions import TELLING_SIZES
from labkit.gpu.exercises.solutions import gradients_and_convolutions as solutions
from labkit.gpu.exercises.wrong import gradients_and_convolutions as wrong
from labkit.gpu.exercises.wrong.gradients_and_convolutions import (
    input_gradient,
    scatter,
    weight_gradients,
)
from labkit.provenance import counted
from labkit.reference import conv2d

FLOAT64 = {"rtol": 1e-9, "atol": 1e-12}  # the inputs are float64: rounding to float32 shows

# For the costs: the network's layers
FC1 = "2 per multiply-add; the network's first fully connected layer, 32 images"
CONV1 = 32 * 32 * 32 * 3 * 3 * 3  # multiply-adds, one image: K P Q times C R S
CONV2 = 2 * 32 * (64 * 16 * 16) * (32 * 3 * 3)  # FLOP of a gradient: 2 N K P Q times C R S
PIXELS = 32 * 16 * 16  # of its input, one image


def costs(*rows: tuple[str, float, str, str]) -> Callable:
    """Rows of (label, number, unit, how it is counted), for after the solution."""
    return lambda: [(label, counted(*count)) for label, *count in rows]


def normal(rng: np.random.Generator, *shapes: tuple | int) -> tuple[np.ndarray, ...]:
    """Arrays of normally distributed float64."""
    return tuple(rng.normal(size=shape) for shape in shapes)


# dy[N,K], x[N,D], w[K,D] -> dx, dw, db

linear_backward = exercise(
    "gpu.linear_backward",
    oracle=reference.linear_backward,
    cases=cases_of(
        {  # N, D, K
            "prime": (7, 5, 3),
            "all sizes 1": (1, 1, 1),
            "ragged": (9, 4, 17),
            "square": (4, 4, 4),
            "one image": (1, 6, 2),
            "one feature": (5, 1, 3),
            "one output": (6, 4, 1),
            "K = D": (5, 3, 3),
            "K = N": (3, 5, 3),
            "D = N": (4, 4, 6),
            "larger": (32, 20, 10),
        },
        lambda rng, N, D, K: normal(rng, (N, K), (N, D), (K, D)),
    ),
    wrong={
        "dw_transposed": partial(wrong.with_dw, lambda dy, x: x.T @ dy),
        "dy_not_turned": partial(wrong.with_dw, lambda dy, x: dy @ x),  # raises unless K = N
        "w_turned": lambda dy, x, w: (dy @ w.T, dy.T @ x, dy.sum(axis=0)),  # or K = D
        "db_mean": partial(wrong.with_db, lambda dy: dy.mean(axis=0)),
        "divided_by_n": lambda dy, x, w: wrong.divided(reference.linear_backward(dy, x, w), len(x)),
        "product_of_sums": partial(wrong.with_dw, wrong.product_of_sums),
        "db_of_first_image": partial(wrong.with_db, lambda dy: dy[0]),
        "db_over_outputs": partial(wrong.with_db, lambda dy: dy.sum(axis=1)),
        "db_one_number": partial(wrong.with_db, np.sum),
    },
    outputs=("dx", "dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(
        ("dw and dx together", 4 * 32 * 4096 * 128, "FLOP", FC1),
        ("bytes of w alone", 4 * 4096 * 128, "B", "4 bytes per number"),
    ),
    dtype="float64",
    **FLOAT64,
)

# x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y; the sizes give x, w, y, stride, padding

conv2d_direct = exercise(
    "gpu.conv2d_direct",
    oracle=conv2d,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (*normal(rng, x, w, w[0]), *how)),
    wrong={
        "kernel_flipped": lambda x, w, b, *how: conv2d(x, w[:, :, ::-1, ::-1], b, *how),
        "taps_swapped": wrong.taps_swapped,
        "stride_on_size_only": wrong.stride_on_size_only,
        "no_bias": lambda x, w, b, *how: conv2d(x, w, None, *how),
        "unpadded": lambda x, w, b, *how: wrong.conv2d_loops(x, x.shape, w, b, *how),  # may raise
        "padding_subtracted": partial(wrong.conv2d_by, corner=wrong.corner_moved_back),
        "padding_added": partial(wrong.conv2d_by, corner=wrong.corner_moved_on),
        "positions_swapped": partial(wrong.conv2d_by, corner=wrong.corner_turned),
        "stride_in_the_window": partial(wrong.conv2d_by, widened=True),
        "matrix_product": partial(wrong.conv2d_by, product=np.matmul),
        "mean_of_the_window": lambda x, w, b, *how: conv2d(x, w / w[0].size, b, *how),
        "first_channel": lambda x, w, b, *how: conv2d(x[:, :1], w[:, :1], b, *how),
        "first_filter": lambda x, w, b, *how: conv2d(x, 0 * w + w[:1], b, *how),
        "first_image": lambda x, w, b, *how: conv2d(0 * x + x[:1], w, b, *how),
        "bias_per_tap": lambda x, w, b, *how: conv2d(x, w, b * w[0].size, *how),
        "window_summed_first": wrong.window_summed_first,
    },
    outputs=("y",),
    forbidden=LIBRARIES,
    cost=costs(
        ("first convolution of the network, one image", CONV1, "multiply-adds", "K P Q times C R S")
    ),
    # The lesson times what it is given: the loops, and not the fast reference.
    fallback=solutions.conv2d_direct,
    **FLOAT64,
)

# x[N,C,H,W], R, S, stride, padding -> cols[N P Q, C R S]

im2col = exercise(
    "gpu.im2col",
    oracle=convolutions.im2col,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (rng.normal(size=x), *w[2:], *how)),
    wrong={
        "channels_last": partial(wrong.im2col_in_order, (0, 2, 3, 4, 5, 1)),
        "taps_swapped": partial(wrong.im2col_in_order, (0, 2, 3, 1, 5, 4)),
        "taps_backwards": wrong.im2col_backwards,
        "no_transpose": partial(wrong.im2col_in_order, (0, 1, 2, 3, 4, 5)),
        "columns_first": partial(wrong.im2col_in_order, (0, 3, 2, 1, 4, 5)),
        "stride_one": wrong.im2col_stride_one,
        "axes_unmoved": partial(wrong.im2col_by_tap, axes=(0, 1, 2, 3)),
        "axes_back": partial(wrong.im2col_by_tap, axes=(0, 3, 1, 2)),
        "axes_turned": partial(wrong.im2col_by_tap, axes=(0, 3, 2, 1)),
        "slices_swapped": partial(wrong.im2col_by_tap, turned=True),
        "unpadded": partial(wrong.im2col_by_tap, image_of=lambda x, padding: x),
        "as_float32": lambda x, *how: convolutions.im2col(x.astype("float32"), *how),
    },
    outputs=("cols",),
    forbidden=(*LIBRARIES, WINDOWS),
    cost=costs(
        ("second convolution, one image: input", 4 * PIXELS, "B", "4 bytes per number"),
        ("the same as im2col rows", 36 * PIXELS, "B", "4 bytes per number, 9 taps"),
    ),
    **FLOAT64,
)

# dy[N,K,P,Q], x[N,C,H,W], R, S, stride, padding -> dw[K,C,R,S], db[K]

conv2d_backward_weights = exercise(
    "gpu.conv2d_backward_weights",
    oracle=weight_gradients,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (*normal(rng, y, x), *w[2:], *how)),
    wrong={
        "dy_not_transposed": wrong.dy_not_transposed,
        "product_turned": partial(wrong.changed_dw, lambda dw: dw.reshape(len(dw), -1).T),
        "dy_not_turned": wrong.dy_not_turned,
        "dw_flat": wrong.dw_flat,
        "dw_flipped": partial(wrong.changed_dw, lambda dw: dw[:, :, ::-1, ::-1]),
        "dw_channels_last": partial(wrong.changed_dw, lambda dw: dw.transpose(0, 2, 3, 1)),
        "columns_read_rsc": partial(wrong.changed_dw, wrong.channels_read_last),
        "windows_inside_alone": wrong.windows_inside_alone,
        "divided_by_n": lambda dy, x, *how: wrong.divided(weight_gradients(dy, x, *how), len(x)),
        "first_image": lambda dy, x, *how: weight_gradients(dy[:1], x[:1], *how),
        "db_mean": partial(wrong.changed_db, lambda dy: dy.mean(axis=(0, 2, 3))),
        "db_of_one_position": partial(wrong.changed_db, lambda dy: wrong.dy_rows(dy)[0]),
        "db_over_channels": partial(wrong.changed_db, lambda dy: wrong.dy_rows(dy).sum(axis=1)),
        "db_one_number": partial(wrong.changed_db, np.sum),
    },
    outputs=("dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(("dw of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
    **FLOAT64,
)

# dy[N,K,P,Q], w[K,C,R,S], x_shape, stride, padding -> dx[N,C,H,W]

conv2d_backward_input = exercise(
    "gpu.conv2d_backward_input",
    oracle=input_gradient,
    cases=cases_of(TELLING_SIZES, lambda rng, x, w, y, *how: (*normal(rng, y, w), x, *how)),
    wrong={
        "overwrites": partial(scatter, add=False),
        "mean_of_readers": wrong.mean_of_readers,
        "covered_pixels_alone": wrong.covered_pixels_alone,
        "axes_unmoved": partial(scatter, axes=(0, 1, 2, 3)),
        "axes_as_in_im2col": partial(scatter, axes=(0, 2, 3, 1)),
        "axes_turned": partial(scatter, axes=(0, 3, 2, 1)),
        "slices_swapped": partial(scatter, sideways=True),
        "taps_swapped": partial(scatter, turned=True),
        "not_cropped": partial(scatter, corner=0),
        "kernel_flipped": lambda dy, w, *how: input_gradient(dy, w[:, :, ::-1, ::-1], *how),
        "stride_one": lambda dy, w, x_shape, stride, padding: scatter(dy, w, x_shape, 1, padding),
        "first_output_channel": lambda dy, w, *how: input_gradient(dy[:, :1], w[:1], *how),
    },
    outputs=("dx",),
    forbidden=LIBRARIES,
    cost=costs(("dx of the second convolution, 32 images", CONV2, "FLOP", "2 per multiply-add")),
    **FLOAT64,
)

EXERCISES = [
    linear_backward,
    conv2d_direct,
    im2col,
    conv2d_backward_weights,
    conv2d_backward_input,
]
