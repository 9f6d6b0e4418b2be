"""Wrong solutions of lesson training, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

# --- gpu.scaled_step


scaled = partial(edit, "gpu.scaled_step")
WIDE = "g.astype(np.float32) / scale"
FINITE = "np.isfinite(wide).all()"
as_it_came = scaled("as_it_came", WIDE, "g.astype(np.float32)")
scaled_again = scaled("scaled_again", WIDE, "g.astype(np.float32) * scale")
unscaled_twice = scaled("unscaled_twice", "lr * wide", "lr / scale * wide")
in_sixteen_bits = scaled("in_sixteen_bits", WIDE, "(g / np.float16(scale)).astype(np.float32)")
step_in_sixteen_bits = scaled("step_in_sixteen_bits", "lr * wide", "lr * g / scale")
stepped_in_any_case = scaled("stepped_in_any_case", f"if {FINITE}:", "if True:")
bad_ones_left_out = scaled(
    "bad_ones_left_out",
    f"    if {FINITE}:\n        new = p - lr * wide",
    "    new = np.where(np.isfinite(wide), p - lr * wide, p)",
)
bad_ones_replaced = scaled("bad_ones_replaced", WIDE, "np.nan_to_num(g).astype(np.float32) / scale")
without_infinities = scaled("without_infinities", FINITE, "not np.isinf(wide).any()")
without_nans = scaled("without_nans", FINITE, "not np.isnan(wide).any()")
climbed = scaled("climbed", "p - lr", "p + lr")
rate_left_out = scaled("rate_left_out", "lr * wide", "wide")
nothing_changed = scaled("nothing_changed", "new = p - lr * wide", "new = p")
subtracted_from_p = scaled("subtracted_from_p", "new = p - lr * wide", "p -= lr * wide")
weights_in_sixteen_bits = scaled(
    "weights_in_sixteen_bits",
    "new = p - lr * wide",
    "new = p.astype(np.float16) - (lr * wide).astype(np.float16)",
    ("return new", "return new.astype(np.float32)"),
)
scale_of_the_lesson = scaled("scale_of_the_lesson", "/ scale", "/ 1024")
_FIRST = {}


def scale_remembered(p, g, scale, lr):
    scale = _FIRST.setdefault(p.shape, scale)
    wide = g.astype(np.float32) / scale
    return p - lr * wide if np.isfinite(wide).all() else p.copy()


def by_torch(p, g, scale, lr):
    import torch

    wide = torch.from_numpy(g).float() / scale
    return (torch.from_numpy(p) - lr * wide).numpy() if wide.isfinite().all() else p.copy()


def rate_and_scale_together(p, g, scale, lr):
    if not np.all(np.isfinite(g)):
        return p
    return p - np.float32(lr / scale) * g.astype(np.float32)


def one_by_one(p, g, scale, lr):
    new = p.copy()
    for i in range(len(p)):
        if not np.isfinite(float(g[i])):
            return p
        new[i] = p[i] - lr * (float(g[i]) / scale)
    return new


# --- gpu.accumulate


accumulate = partial(edit, "gpu.accumulate")
in_two_digits = accumulate(
    "in_two_digits", "gradient * n / sum(sizes)", "gradient * round(n / sum(sizes), 2)"
)
SHARE = "gradient * n / sum(sizes)"
all_added = accumulate("all_added", SHARE, "gradient")
averaged = accumulate("averaged", SHARE, "gradient / len(sizes)")
as_if_all_were_full = accumulate("as_if_all_were_full", SHARE, "gradient * sizes[0] / sum(sizes)")
weight_of_the_last = accumulate("weight_of_the_last", SHARE, "gradient * sizes[-1] / sum(sizes)")
divided_by_all = accumulate("divided_by_all", SHARE, "gradient / sum(sizes)")
times_their_images = accumulate("times_their_images", SHARE, "gradient * n")
against_a_full_piece = accumulate("against_a_full_piece", SHARE, "gradient * n / sizes[0]")
against_a_full_piece_and_averaged = accumulate(
    "against_a_full_piece_and_averaged", SHARE, "gradient * n / sizes[0] / len(sizes)"
)
over_the_number_of_pieces = accumulate(
    "over_the_number_of_pieces", SHARE, "gradient * n / len(sizes)"
)
whole_shares = accumulate("whole_shares", SHARE, "gradient * (n // sum(sizes))")
share_upside_down = accumulate("share_upside_down", SHARE, "gradient * sum(sizes) / n")
replaced = accumulate("replaced", "total + ", "")
ends_after_one = accumulate("ends_after_one", "    return", "        return")
scaled_in_place = accumulate(
    "scaled_in_place",
    "total = total + gradient * n / sum(sizes)",
    "gradient *= n / sum(sizes)\n        total = total + gradient",
)


def as_a_product(gradients, sizes):
    return np.array(sizes) @ gradients / sum(sizes)


def divided_at_the_end(gradients, sizes):
    total = 0
    for gradient, n in zip(gradients, sizes, strict=True):
        total = total + n * gradient
    return total / sum(sizes)


def weighed_in_whole_numbers(gradients, sizes):
    images = np.array(sizes, np.int64)
    return (gradients * (images / images.sum())[:, None]).sum(axis=0)


_WEIGHTS = {}


def weights_by_shape(gradients, sizes):
    return _WEIGHTS.setdefault(gradients.shape, np.array(sizes) / sum(sizes)) @ gradients


def all_but_the_last(gradients, sizes):
    return np.array(sizes[:-1]) @ gradients[:-1] / sum(sizes)


def all_but_the_first(gradients, sizes):
    return np.array(sizes[1:]) @ gradients[1:] / sum(sizes)


def averaged_as_they_come(gradients, sizes):
    total = gradients[0]
    for gradient in gradients[1:]:
        total = (total + gradient) / 2
    return total


def weighed_as_they_come(gradients, sizes):
    total, met = 0, 0
    for gradient, n in zip(gradients, sizes, strict=True):
        met += n
        total = total + gradient * n / met
    return total


def by_the_library(gradients, sizes):
    return np.average(gradients, axis=0, weights=sizes)


PLANTED = {
    "gpu.scaled_step": [
        (as_it_came, "The scale is still in the gradient"),
        (scaled_again, "multiplied by the scale once more"),
        (unscaled_twice, "The scale is taken off twice"),
        (in_sixteen_bits, "The division is made in float16"),
        (step_in_sixteen_bits, "meet in float16"),
        (stepped_in_any_case, "The step is made in any case"),
        (bad_ones_left_out, "Only the weights whose own gradient"),
        (bad_ones_replaced, "replaced by"),
        (without_infinities, "A NaN goes through"),
        (without_nans, "An infinity goes through"),
        (climbed, "goes up the slope"),
        (rate_left_out, "The rate is missing"),
        (nothing_changed, "No step is ever made"),
        (subtracted_from_p, "changes its input"),
        (weights_in_sixteen_bits, "The weights are rounded to float16"),
        (scale_of_the_lesson, "that of 1024"),
        (scale_remembered, "that of an earlier call"),
        (by_torch, "torch"),
    ],
    "gpu.accumulate": [
        (all_added, "added as they are"),
        (averaged, "the mean of the pieces' means"),
        (as_if_all_were_full, "the weight of the first one"),
        (divided_by_all, "as if it were one image's"),
        (times_their_images, "the sum of all losses"),
        (weight_of_the_last, "the weight of the last one"),
        (against_a_full_piece, "weighed against the first piece"),
        (against_a_full_piece_and_averaged, "weighed against a full one"),
        (over_the_number_of_pieces, "by the number of pieces, not"),
        (whole_shares, "gives whole numbers"),
        (share_upside_down, "The weight is upside down"),
        (averaged_as_they_come, "averaged with all that came before"),
        (weighed_as_they_come, "against the images met so far"),
        (replaced, "Only the last piece counts"),
        (ends_after_one, "Only the first piece counts"),
        (weights_by_shape, "The weights are those of an earlier call"),
        (all_but_the_last, "The last piece is left out"),
        (all_but_the_first, "The first piece is left out"),
        (scaled_in_place, "changes its input gradients"),
        (by_the_library, "numpy.average"),
        (in_two_digits, "rounded to two digits"),
    ],
}
RIGHT_ON = {
    all_but_the_last: (np.float64([[1, 2], [3, 4], [0, 0]]), [3, 2, 2]),
    all_but_the_first: (np.float64([[0, 0], [1, 2], [3, 4]]), [3, 2, 2]),
}
ALSO_RIGHT = {
    "gpu.scaled_step": [rate_and_scale_together, one_by_one],
    "gpu.accumulate": [as_a_product, divided_at_the_end, weighed_in_whole_numbers],
}
