"""Wrong solutions of the lesson, written as a learner would, and what each must be told.

Every one is right somewhere: on one of the exercise's own shapes, on all-ones data, or everywhere
(those that change their input or call the library). RIGHT_ON gives inputs where the cases do not.
"""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

# --- gpu.one_output

output = partial(edit, "gpu.one_output")
output_without_bias = output("output_without_bias", " + b", "")
bias_in_every_product = output("bias_in_every_product", "x * w) + b", "x * w + b)")
bias_before_the_weights = output("bias_before_the_weights", "x * w) + b", "(x + b) * w)")
output_minus_bias = output("output_minus_bias", "+ b", "- b")
output_averaged = output("output_averaged", "np.sum", "np.mean")
sums_before_products = output("sums_before_products", "np.sum(x * w)", "sum(x) * sum(w)")
weights_added_on = output("weights_added_on", "x * w", "x + w")
products_alone = output("products_alone", "np.sum(x * w)", "x * w")
output_in_a_matrix = output("output_in_a_matrix", "np.sum(x * w)", "np.multiply.outer(x, w)")
output_cut_off = output("output_cut_off", "return y", "return float(int(y))")
output_of_four = output("output_of_four", "x * w", "x[:4] * w[:4]")


def output_changes_x(x, w, b):
    x *= w
    return x.sum() + b


def output_by_library(x, w, b):
    import torch

    return float(torch.dot(torch.from_numpy(x), torch.from_numpy(w))) + b


_KEPT_BIAS = {}


def output_keeps_its_bias(x, w, b):
    return np.sum(x * w) + _KEPT_BIAS.setdefault(x.shape, b)


def output_by_product(x, w, b):
    return x @ w + b


def output_in_a_loop(x, w, b):
    y = b
    for feature, weight in zip(x, w, strict=True):
        y += feature * weight
    return y


# --- gpu.linear_backward

linear = partial(edit, "gpu.linear_backward")
dw_not_turned = linear("dw_not_turned", "dy.T @ x", "x.T @ dy")
averages_over_the_batch = linear(
    "averages_over_the_batch",
    "return dx, dw, db",
    "return dx / len(x), dw / len(x), db / len(x)",
)
outer_product_of_sums = linear(
    "outer_product_of_sums", "dy.T @ x", "np.outer(dy.sum(axis=0), x.mean(axis=0))"
)
bias_from_one_image = linear("bias_from_one_image", "dy.sum(axis=0)", "dy[0]")
bias_averaged = linear("bias_averaged", "dy.sum(axis=0)", "dy.mean(axis=0)")
w_turned_as_well = linear("w_turned_as_well", "dy @ w", "dy @ w.T")
dy_left_as_it_lies = linear("dy_left_as_it_lies", "dy.T @ x", "dy @ x")
bias_along_the_wrong_axis = linear("bias_along_the_wrong_axis", "axis=0", "axis=1")


def linear_scales_dy_in_place(dy, x, w):
    dx = dy @ w
    dy *= 1.0 + 1e-12
    return dx, dy.T @ x, dy.sum(axis=0)


def linear_by_library(dy, x, w):
    from labkit.reference import linear_backward as borrowed

    return borrowed(dy, x, w)


def linear_in_half_the_digits(dy, x, w):
    dy, x, w = (a.astype("float32") for a in (dy, x, w))
    return dy @ w, dy.T @ x, dy.sum(axis=0)


_KEPT_DW = {}


def linear_keeps_dw(dy, x, w):
    sizes = dy.shape, w.shape
    if sizes not in _KEPT_DW:
        _KEPT_DW[sizes] = dy.T @ x
    return dy @ w, _KEPT_DW[sizes], dy.sum(axis=0)


def linear_by_einsum(dy, x, w):
    return [np.einsum("nk,kd->nd", dy, w), np.einsum("nk,nd->kd", dy, x), np.einsum("nk->k", dy)]


def linear_image_by_image(dy, x, w):
    dx, dw, db = np.zeros(x.shape), np.zeros(w.shape), np.zeros(len(w))
    for n, k in np.ndindex(dy.shape):
        dx[n] += dy[n, k] * w[k]
        dw[k] += dy[n, k] * x[n]
        db[k] += dy[n, k]
    return dx, dw, db


linear_in_pairs_of_images = linear(
    "linear_in_pairs_of_images",
    "dy.T @ x",
    "sum(dy[i : i + 2].T @ x[i : i + 2] for i in range(0, len(x) - 1, 2)) + 0 * w",
)

# --- gpu.relu_backward

relu = partial(edit, "gpu.relu_backward")
dy_everywhere = relu("dy_everywhere", "np.where(x > 0, dy, 0)", "dy.copy()")
open_where_x_is_zero = relu("open_where_x_is_zero", "x > 0", "x >= 0")
half_where_x_is_zero = relu(
    "half_where_x_is_zero", "np.where(x > 0, dy, 0)", "dy * (np.sign(x) + 1) / 2"
)
closed_where_open = relu("closed_where_open", "x > 0", "x < 0")
positive_dy_alone = relu("positive_dy_alone", "x > 0", "dy > 0")
both_positive = relu("both_positive", "x > 0", "(x > 0) & (dy > 0)")
relu_again = relu("relu_again", "np.where(x > 0, dy, 0)", "np.maximum(x, 0)")
ones_alone = relu("ones_alone", "dy, 0", "1.0, 0")
with_the_output = relu("with_the_output", "dy, 0", "dy * x, 0")
slope_of_abs = relu("slope_of_abs", "dy, 0", "dy, np.where(x < 0, -dy, 0)")
a_hundredth_leaks = relu("a_hundredth_leaks", "dy, 0", "dy, dy / 100")
gate_in_half_the_digits = relu("gate_in_half_the_digits", "return dx", "return np.float32(dx)")
gate_of_four = relu("gate_of_four", "return dx", "dx[4:] = dy[4:]\n    return dx")


def gate_changes_dy(dy, x):
    dy[x <= 0] = 0
    return dy


def gate_by_library(dy, x):
    from labkit.reference import relu_backward as borrowed

    return borrowed(dy, x)


_KEPT_GATE = {}


def gate_keeps_which_are_open(dy, x):
    return dy * _KEPT_GATE.setdefault(x.shape, x > 0)


def gate_by_product(dy, x):
    return dy * (x > 0)


def gate_by_mask(dy, x):
    dx = dy.copy()
    dx[x <= 0] = 0
    return dx


PLANTED = {
    "gpu.one_output": [
        (output_without_bias, "The bias b is missing"),
        (bias_in_every_product, "The bias is added once for each feature"),
        (bias_before_the_weights, "The bias is added to the features"),
        (output_minus_bias, "The bias is taken away"),
        (output_averaged, "The products are averaged"),
        (sums_before_products, "are added up first, and then multiplied"),
        (weights_added_on, "Each weight is added to its feature"),
        (products_alone, "There is a number for each feature"),
        (output_in_a_matrix, "Every feature meets every weight"),
        (output_cut_off, "The digits behind the decimal point"),
        (output_of_four, "x counts up to the first 4 entries"),
        (output_keeps_its_bias, "kept from one call to the next"),
        (output_changes_x, "changes its input x"),
        (output_by_library, "torch"),
    ],
    "gpu.linear_backward": [
        (dw_not_turned, "dw is transposed"),
        (averages_over_the_batch, "divided by N once more"),
        (outer_product_of_sums, "dw multiplies two sums"),
        (bias_from_one_image, "db holds the first image only"),
        (bias_averaged, "db is a mean over the images"),
        (w_turned_as_well, "sums over two letters that are not the same"),
        (dy_left_as_it_lies, "the letters in the middle are k and n"),
        (bias_along_the_wrong_axis, "db adds up the outputs of each image"),
        (linear_in_half_the_digits, "has dtype float32"),
        (linear_in_pairs_of_images, "dy counts without the last entry along axis 0"),
        (linear_keeps_dw, "kept from one call to the next"),
        (linear_scales_dy_in_place, "changes its input dy"),
        (linear_by_library, "labkit.reference"),
    ],
    "gpu.relu_backward": [
        (dy_everywhere, "dy goes through everywhere"),
        (open_where_x_is_zero, "dy goes through where x is exactly 0"),
        (half_where_x_is_zero, "half of dy goes through"),
        (closed_where_open, "The gate is turned round"),
        (positive_dy_alone, "The gate looks at dy"),
        (both_positive, "What is negative in dy is lost"),
        (relu_again, "This is ReLU itself"),
        (ones_alone, "This is the slope of ReLU"),
        (with_the_output, "dy is multiplied with the output"),
        (slope_of_abs, "with its sign turned"),
        (a_hundredth_leaks, "A little of dy comes through"),
        (gate_in_half_the_digits, "has dtype float32"),
        (gate_of_four, "only values are wrong that should be 0"),
        (gate_keeps_which_are_open, "kept from one call to the next"),
        (gate_changes_dy, "changes its input dy"),
        (gate_by_library, "labkit.reference"),
    ],
}

# A bias of zero hides a forgotten bias, sizes of 1 a wrong order of axes, and the first call of all
# what is kept.
_THREE = np.arange(1.0, 4.0)
_ROW = np.ones((1, 3))
RIGHT_ON = {
    output_without_bias: (_THREE, _THREE, 0.0),
    bias_before_the_weights: (_THREE, _THREE, 0.0),
    output_minus_bias: (_THREE, _THREE, 0.0),
    weights_added_on: (2 * np.ones(1), 2 * np.ones(1), 0.0),
    products_alone: (np.ones(()), np.ones(()), 1.0),
    output_in_a_matrix: (np.ones(()), np.ones(()), 1.0),
    output_cut_off: (_THREE, _THREE, 1.0),
    output_keeps_its_bias: (_THREE, _THREE, 1.0),
    w_turned_as_well: (np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2))),
    dy_left_as_it_lies: (np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2))),
    linear_keeps_dw: (np.ones((3, 2)), np.ones((3, 7)), np.ones((2, 7))),
    half_where_x_is_zero: (_ROW, _ROW),
    closed_where_open: (_ROW, 0 * _ROW),
    relu_again: (_ROW, _ROW),
    ones_alone: (_ROW, 2 * _ROW),
    with_the_output: (2 * _ROW, _ROW),
    slope_of_abs: (_ROW, _ROW),
    a_hundredth_leaks: (_ROW, _ROW),
    dy_everywhere: (_ROW, _ROW),
    positive_dy_alone: (_ROW, _ROW),
    both_positive: (_ROW, _ROW),
    open_where_x_is_zero: (_ROW, _ROW),
    gate_keeps_which_are_open: (_ROW, _ROW),
}
ALSO_RIGHT = {
    "gpu.one_output": [output_by_product, output_in_a_loop],
    "gpu.linear_backward": [linear_by_einsum, linear_image_by_image],
    "gpu.relu_backward": [gate_by_product, gate_by_mask],
}
