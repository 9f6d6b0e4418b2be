"""Wrong solutions of the lesson, written as a learner would, and what each must be told.

RIGHT_ON gives inputs on which a wrong answer is right, where the exercise's cases have none.
"""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

# --- gpu.layer_cost

cost = partial(edit, "gpu.layer_cost")
multiply_adds_alone = cost("multiply_adds_alone", "2 * y.size", "y.size")
every_kernel = cost("every_kernel", "w[0].size", "w.size")
one_colour = cost("one_colour", "w[0].size", "w[0, 0].size")
a_tap_for_each_channel = cost("a_tap_for_each_channel", "w[0].size", "w.shape[1]")
outputs_alone = cost("outputs_alone", "2 * y.size * w[0].size", "2 * y.size")
as_many_places_as_pixels = cost(
    "as_many_places_as_pixels", "2 * y.size * w[0].size", "2 * x[:, 0].size * w.size"
)
pixels_times_weights = cost("pixels_times_weights", "2 * y.size * w[0].size", "2 * x.size * w.size")
of_the_first_image = cost("of_the_first_image", "2 * y.size", "2 * y[0].size")
with_a_bias_more = cost("with_a_bias_more", "w[0].size", "w[0].size + y.size")
numbers_moved = cost(
    "numbers_moved",
    "x.nbytes + w.nbytes + b.nbytes + y.nbytes",
    "x.size + w.size + b.size + y.size",
)
all_of_four_bytes = cost(
    "all_of_four_bytes",
    "x.nbytes + w.nbytes + b.nbytes + y.nbytes",
    "4 * (x.size + w.size + b.size + y.size)",
)
reads_alone = cost("reads_alone", " + y.nbytes", "")
no_weights = cost("no_weights", " + w.nbytes", "")
no_bias = cost("no_bias", " + b.nbytes", "")
weights_again = cost("weights_again", "w.nbytes + b.nbytes", "len(x) * (w.nbytes + b.nbytes)")
rows_of_im2col = cost("rows_of_im2col", "x.nbytes", "y[:, 0].size * w[0].nbytes")
reads_y_as_well = cost("reads_y_as_well", "y.nbytes", "2 * y.nbytes")
batch_of_two = cost("batch_of_two", "2 * y.size", "2 * y[:2].size")
as_floats = cost("as_floats", "return flops, moved", "return float(flops), float(moved)")


def cost_clears_y(x, w, b, y):
    flops = 2 * y.size * w[0].size
    y[...] = 0
    return flops, x.nbytes + w.nbytes + b.nbytes + y.nbytes


def cost_by_library(x, w, b, y):
    import torch

    taps = torch.tensor(w[0].shape).prod().item()
    return 2 * y.size * taps, x.nbytes + w.nbytes + b.nbytes + y.nbytes


_KEPT_COST = {}


def cost_of_the_first_type(x, w, b, y):
    moved = x.nbytes + w.nbytes + b.nbytes + y.nbytes
    return 2 * y.size * w[0].size, _KEPT_COST.setdefault(len(x), moved)


def cost_by_letters(x, w, b, y):
    (N, K, P, Q), (_, C, R, S) = y.shape, w.shape
    numbers = x.size + w.size + b.size + y.size
    return N * K * P * Q * (C * R * S + C * R * S), numbers * x.itemsize


# --- gpu.least_time

time = partial(edit, "gpu.least_time")
WHOLE = "np.sum(np.maximum(flops / peak, moved / bandwidth))"
all_at_once = time("all_at_once", WHOLE, "max(sum(flops) / peak, sum(moved) / bandwidth)")
fetched_then_computed = time(
    "fetched_then_computed", WHOLE, "sum(flops / peak + moved / bandwidth)"
)
larger_of_two_arrays = time("larger_of_two_arrays", "np.maximum", "max")
best_of_both = time("best_of_both", "np.maximum", "np.minimum")
peak_alone = time("peak_alone", WHOLE, "np.sum(flops / peak)")
bandwidth_alone = time("bandwidth_alone", WHOLE, "np.sum(moved / bandwidth)")
each_layer = time("each_layer", "np.sum(", "(")
slowest_layer = time("slowest_layer", "np.sum(", "np.max(")
average_layer = time("average_layer", "np.sum(", "np.mean(")
rates_mixed_up = time(
    "rates_mixed_up", "flops / peak, moved / bandwidth", "flops / bandwidth, moved / peak"
)
rates_multiplied = time(
    "rates_multiplied", "flops / peak, moved / bandwidth", "flops * peak, moved * bandwidth"
)
first_four_layers = time("first_four_layers", "bandwidth))", "bandwidth)[:4])")
in_half_the_digits = time("in_half_the_digits", "return seconds", "return np.float32(seconds)")


def time_changes_flops(flops, moved, peak, bandwidth):
    flops /= peak
    return np.sum(np.maximum(flops, moved / bandwidth))


def time_by_library(flops, moved, peak, bandwidth):
    import torch

    both = torch.maximum(torch.from_numpy(flops) / peak, torch.from_numpy(moved) / bandwidth)
    return float(both.sum())


_KEPT_PEAK = {}


def time_keeps_the_peak(flops, moved, peak, bandwidth):
    peak = _KEPT_PEAK.setdefault(len(flops), peak)
    return np.sum(np.maximum(flops / peak, moved / bandwidth))


def time_by_the_ridge(flops, moved, peak, bandwidth):
    total = 0.0
    for f, m in zip(flops, moved, strict=True):
        total += f / min(peak, f / m * bandwidth)
    return total


PLANTED = {
    "gpu.layer_cost": [
        (multiply_adds_alone, "A multiply-add counts as one FLOP"),
        (every_kernel, "K is counted twice"),
        (one_colour, "The sum over the channels is missing"),
        (a_tap_for_each_channel, "The taps are missing"),
        (outputs_alone, "Each output counts as one multiply-add"),
        (as_many_places_as_pixels, "There is an output for each pixel"),
        (pixels_times_weights, "Every number of x is multiplied with every weight"),
        (of_the_first_image, "Only one image is counted"),
        (with_a_bias_more, "The bias costs an addition"),
        (numbers_moved, "These are numbers, not bytes"),
        (all_of_four_bytes, "Every number counts as 4 bytes"),
        (reads_alone, "What is written is missing"),
        (no_weights, "The weights are missing"),
        (no_bias, "The bias is missing"),
        (weights_again, "once for each image"),
        (rows_of_im2col, "the matrix of im2col"),
        (reads_y_as_well, "y counts twice"),
        (batch_of_two, "flops is 12960; it should be 19440"),
        (cost_of_the_first_type, "moved is 32; it should be 346"),
        (cost_clears_y, "changes its input y"),
        (cost_by_library, "torch"),
    ],
    "gpu.least_time": [
        (all_at_once, "are added up before they are compared"),
        (fetched_then_computed, "Computing and fetching come"),
        (larger_of_two_arrays, "np.maximum compares place by place"),
        (best_of_both, "the shorter of the two"),
        (peak_alone, "The bytes take no time"),
        (bandwidth_alone, "The arithmetic takes no time"),
        (each_layer, "There is a time for each layer"),
        (slowest_layer, "Only the longest layer"),
        (average_layer, "The layers' times are averaged"),
        (rates_mixed_up, "have changed places"),
        (rates_multiplied, "multiplied with the rates"),
        (first_four_layers, "where the length of flops is at most 2"),
        (in_half_the_digits, "computed or kept in float32"),
        (time_keeps_the_peak, "kept from one call to the next"),
        (time_changes_flops, "changes its input flops"),
        (time_by_library, "torch"),
    ],
}

# Arrays without a number in them cost nothing, rates of 1 change nothing.
_ONE = np.ones((1, 1, 1, 1), np.float32)
_NONE, _B, _BYTE = _ONE[:0], np.ones(1, np.float32), np.ones((1, 1, 1, 1), np.int8)
_NINE = np.ones((9, 1, 1, 1), np.float32)
_TWO = np.array([2.0, 3.0])
RIGHT_ON = {
    multiply_adds_alone: (_NONE, _ONE, _B, _NONE),
    outputs_alone: (_ONE, _ONE, _B, _ONE),
    with_a_bias_more: (_NONE, _ONE, _B, _NONE),
    numbers_moved: (_BYTE, _BYTE, _BYTE[0, 0, 0], _BYTE),
    reads_alone: (_NONE, _ONE, _B, _NONE),
    no_weights: (_ONE[:, :0], _ONE[:, :0], _B, _ONE),
    no_bias: (_ONE, _ONE, _B[:0], _ONE),
    reads_y_as_well: (_NONE, _ONE, _B, _NONE),
    cost_of_the_first_type: (_NINE, _ONE, _B, _NINE),
    larger_of_two_arrays: (_TWO[:1], _TWO[1:], 1.0, 1.0),
    fetched_then_computed: (0 * _TWO, _TWO, 1.0, 1.0),
    best_of_both: (_TWO, _TWO, 1.0, 1.0),
    each_layer: (_TWO[0], _TWO[1], 1.0, 1.0),
    rates_mixed_up: (_TWO, 2 * _TWO, 3.0, 3.0),
    rates_multiplied: (_TWO, 2 * _TWO, 1.0, 1.0),
    in_half_the_digits: (_TWO, 2 * _TWO, 1.0, 1.0),
    time_keeps_the_peak: (np.ones(3), np.ones(3), 2.0, 3.0),
}
ALSO_RIGHT = {
    "gpu.layer_cost": [cost_by_letters, as_floats],
    "gpu.least_time": [time_by_the_ridge],
}
