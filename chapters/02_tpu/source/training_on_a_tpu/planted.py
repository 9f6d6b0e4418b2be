"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

# --- tpu.global_loss

edited = partial(edit, "tpu.global_loss")
TERMS = "per_image * weight / total"
mean_over_its_own_images = edited("mean_over_its_own_images", "/ total", "/ per_image.shape[0]")
mean_over_its_own_weight = edited("mean_over_its_own_weight", "/ total", "/ weight.sum()")
forgets_the_weights = edited("forgets_the_weights", " * weight", "")
counts_real_images = edited("counts_real_images", "* weight", "* (weight != 0)")
leaves_the_sum_to_others = edited("leaves_the_sum_to_others", " / total", "")
divides_by_both = edited("divides_by_both", "/ total", "/ (total * len(per_image))")
divides_by_all_64 = edited("divides_by_all_64", "/ total", "/ 64")
returns_the_sum = edited("returns_the_sum", TERMS, f"({TERMS}).sum()")
returns_the_mean = edited("returns_the_mean", TERMS, f"({TERMS}).mean()")


def terms_of_shares(per_image, weight, total):
    share = weight / total
    return share * per_image


def calls_numpy(per_image, weight, total):
    return np.divide(np.multiply(per_image, weight), total)


def makes_an_array(per_image, weight, total):
    return np.array(per_image * weight / total)


def makes_arrays_first(per_image, weight, total):
    return np.asarray(per_image) * np.asarray(weight) / total


def in_float32(per_image, weight, total):
    return (per_image * weight / total).astype(np.float32)


KEPT = {}  # what answers keep from call to call


def keeps_the_weights(per_image, weight, total):
    return per_image * KEPT.setdefault((weight.shape, type(total)), 1 * weight) / total


def rounds_down(per_image, weight, total):
    return per_image * weight // total


def terms_by_reciprocal(per_image, weight, total):
    return total**-1 * (weight * per_image)


def weighs_in_place(per_image, weight, total):
    per_image *= weight
    return per_image / total


def by_torch(per_image, weight, total):
    import torch

    return (torch.from_numpy(per_image) * torch.from_numpy(weight) / total).numpy()


# --- tpu.synchronised_moments

edited = partial(edit, "tpu.synchronised_moments")
between_first_and_last = edited(
    "between_first_and_last", "means.var(axis=0)", "((means[0] - means[-1]) / 2) ** 2"
)
MEAN = "means.mean(axis=0)"
INSIDE = "variances.mean(axis=0)"
BETWEEN = "means.var(axis=0)"
averages_both = edited("averages_both", f" + {BETWEEN}", "")
only_between_replicas = edited("only_between_replicas", f"{INSIDE} + ", "")
averages_deviations = edited("averages_deviations", INSIDE, "(variances**0.5).mean(axis=0) ** 2")
sums_the_variances = edited("sums_the_variances", INSIDE, "variances.sum(axis=0)")
unbiased = edited("unbiased", BETWEEN, "means.var(axis=0, ddof=1)")
second_moments = edited("second_moments", BETWEEN, "(means**2).mean(axis=0)")
adds_a_deviation = edited("adds_a_deviation", BETWEEN, "means.std(axis=0)")
takes_the_spread_away = edited("takes_the_spread_away", f"+ {BETWEEN}", f"- {BETWEEN}")
variance_first = edited(
    "variance_first", f"{MEAN}, {INSIDE} + {BETWEEN}", f"{INSIDE} + {BETWEEN}, {MEAN}"
)


between_is_a_sum = edited("between_is_a_sum", BETWEEN, "((means - means.mean(0)) ** 2).sum(0)")
between_is_a_distance = edited(
    "between_is_a_distance", BETWEEN, "abs(means - means.mean(0)).mean(0)"
)
joins_two = edited(
    "joins_two",
    MEAN,
    "means[:2].mean(0)",
    (f"{INSIDE} + {BETWEEN}", "variances[:2].mean(0) + means[:2].var(0)"),
)
whole_moments = edited("whole_moments", MEAN, "means.mean(axis=0).astype(int)")


def the_larger_part(means, variances):
    return means.mean(axis=0), np.maximum(variances.mean(axis=0), means.var(axis=0))


def keeps_the_means(means, variances):
    means = KEPT.setdefault(("means", means.shape), means.copy())
    return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)


def moments_by_mean_squares(means, variances):
    mean = sum(means) / len(means)
    return [mean, (variances + means * means).mean(axis=0) - mean * mean]


def moments_of_squares(means, variances):
    mean = means.mean(0)
    return mean, (variances + (means - mean) ** 2).mean(0)


def along_the_channels(means, variances):
    return means.mean(axis=1), variances.mean(axis=1) + means.var(axis=1)


def forgets_the_axis(means, variances):
    return means.mean(), variances.mean() + means.var()


def centres_in_place(means, variances):
    mean = means.mean(axis=0)
    means -= mean
    return mean, (variances + means**2).mean(axis=0)


def moments_by_torch(means, variances):
    import torch

    means, variances = torch.from_numpy(means), torch.from_numpy(variances)
    mean = means.mean(0)
    return mean.numpy(), (variances.mean(0) + ((means - mean) ** 2).mean(0)).numpy()


# --- tpu.next_batch

edited = partial(edit, "tpu.next_batch")
place = {"at": 0}


def keeps_its_own_place(order, step, batch):
    if step == 0 or place["at"] + batch > order.shape[1]:
        place["at"] = 0
    place["at"] += batch
    return order[step // (order.shape[1] // batch), place["at"] - batch : place["at"]]


STEPS = "order.shape[1] // batch"
ROWS = "order[epoch, place * batch : (place + 1) * batch]"
always_epoch_zero = edited("always_epoch_zero", "order[epoch,", "order[0,")
from_the_start_of_the_epoch = edited("from_the_start_of_the_epoch", ROWS, "order[epoch, :batch]")
one_long_list = edited("one_long_list", ROWS, "order.flatten()[step * batch : (step + 1) * batch]")
leaves_epoch_zero_at_its_end = edited(
    "leaves_epoch_zero_at_its_end", ROWS, "order[0, step * batch : (step + 1) * batch]"
)
a_row_for_each_step = edited("a_row_for_each_step", ROWS, "order[step, :batch]")
forgets_the_batch = edited("forgets_the_batch", ROWS, "order[epoch, place : place + batch]")
rows_as_floats = edited("rows_as_floats", ROWS, f"{ROWS}.astype(float)")
counts_the_last_short_batch = edited("counts_the_last_short_batch", STEPS, f"-(-{STEPS})")
counts_a_batch_half_full = edited(
    "counts_a_batch_half_full", STEPS, "round(order.shape[1] / batch)"
)
repeats_the_last = edited("repeats_the_last", "divmod(step,", "divmod(max(step - 1, 0),")
skips_one = edited("skips_one", "divmod(step,", "divmod(step + 1,")
divmod_the_other_way = edited("divmod_the_other_way", "epoch, place =", "place, epoch =")


def rows_of_whole_epochs(order, step, batch):
    shown = order.shape[1] - order.shape[1] % batch  # images of an epoch
    first = step * batch
    return order[first // shown].reshape(-1)[first % shown :][:batch]


def image_by_image(order, step, batch):
    epoch = step * batch // order.shape[1]
    first = step * batch - epoch * order.shape[1]
    return order[epoch, first : first + batch]


def wraps_once(order, step, batch):
    steps = order.shape[1] // batch
    epoch = 0
    if step >= steps:
        epoch, step = 1, step - steps
    return order[epoch, step * batch : (step + 1) * batch]


def places_among_all_images(order, step, batch):
    epoch = step // (order.shape[1] // batch)
    return order[epoch, step * batch % order.shape[1] :][:batch]


def second_epoch_for_ever(order, step, batch):
    epoch, place = divmod(step, order.shape[1] // batch)
    return order[min(epoch, 1), place * batch : (place + 1) * batch]


def drops_the_first_images(order, step, batch):
    epoch, place = divmod(step, order.shape[1] // batch)
    return order[epoch, order.shape[1] % batch :].reshape(-1, batch)[place]


def keeps_the_rows(order, step, batch):
    epoch, place = divmod(step, order.shape[1] // batch)
    rows = order[epoch, place * batch : (place + 1) * batch]
    return KEPT.setdefault((order.shape, step, batch), rows.copy())


def rows_by_reshaping(order, step, batch):
    steps = order.shape[1] // batch
    return order[:, : steps * batch].reshape(-1, batch)[step].astype(np.int32)


def takes_them_away(order, step, batch):
    epoch, place = divmod(step, order.shape[1] // batch)
    rows = order[epoch, place * batch : (place + 1) * batch].copy()
    order[epoch, place * batch : (place + 1) * batch] = -1
    return rows


def rows_by_torch(order, step, batch):
    import torch

    epoch, place = divmod(step, order.shape[1] // batch)
    return torch.from_numpy(order)[epoch].split(batch)[place].numpy()


PLANTED = {
    "tpu.global_loss": [
        (mean_over_its_own_images, "the number of images on this replica"),
        (mean_over_its_own_weight, "the weight of this replica alone"),
        (forgets_the_weights, "a filler must count nothing"),
        (leaves_the_sum_to_others, "Nothing is divided"),
        (divides_by_both, "once is enough"),
        (divides_by_all_64, "which counts the fillers too"),
        (returns_the_sum, "One number comes back, the sum"),
        (returns_the_mean, "One number comes back, a mean"),
        (calls_numpy, "NumPy's functions and methods do not work there"),
        (makes_an_array, "numpy.array"),
        (makes_arrays_first, "numpy.asarray"),
        (in_float32, "numpy.ndarray.astype"),
        (counts_real_images, "only switch images on and off"),
        (keeps_the_weights, "something is kept from one call"),
        (rounds_down, "rounded down to whole numbers"),
        (weighs_in_place, "changes its input per_image"),
        (by_torch, "torch"),
    ],
    "tpu.synchronised_moments": [
        (averages_both, "This is the mean of the variances"),
        (only_between_replicas, "the variance of the means alone"),
        (averages_deviations, "Standard deviations are averaged"),
        (unbiased, "divided by R - 1"),
        (second_moments, "the square of the mean of all must be taken away"),
        (adds_a_deviation, "is added to variances, which are squares"),
        (sums_the_variances, "The variances inside the replicas are added up"),
        (takes_the_spread_away, "The variance of the means is taken away"),
        (along_the_channels, "taken over the channels"),
        (forgets_the_axis, "One mean of everything"),
        (variance_first, "The two results are swapped"),
        (between_is_a_sum, "squared distances between the means are added up"),
        (between_is_a_distance, "The distances between the means are not squared"),
        (the_larger_part, "The larger one of two parts"),
        (joins_two, "Only the first two replicas"),
        (whole_moments, "mean holds integers"),
        (keeps_the_means, "something is kept from one call"),
        (centres_in_place, "changes its input means"),
        (moments_by_torch, "torch"),
        (between_first_and_last, "along axis 0 is at most 2"),
    ],
    "tpu.next_batch": [
        (always_epoch_zero, "always come from the first epoch's order"),
        (from_the_start_of_the_epoch, "The epoch begins again"),
        (one_long_list, "read as one long list"),
        (counts_the_last_short_batch, "are rounded up"),
        (counts_a_batch_half_full, "rounded to the nearest number"),
        (repeats_the_last, "is made again"),
        (skips_one, "One step is left out"),
        (forgets_the_batch, "neighbouring batches overlap"),
        (leaves_epoch_zero_at_its_end, "This stays in epoch 0"),
        (image_by_image, "The steps are counted in images"),
        (wraps_once, "but not that of the next"),
        (a_row_for_each_step, "Each step takes a row of its own"),
        (divmod_the_other_way, "Epoch and place are swapped"),
        (rows_as_floats, "it should hold integers"),
        (places_among_all_images, "found from all its images"),
        (second_epoch_for_ever, "takes the second row of order"),
        (drops_the_first_images, "left out at the beginning of the row"),
        (keeps_the_rows, "kept from one call to the next"),
        (takes_them_away, "changes its input order"),
        (rows_by_torch, "torch"),
        (keeps_its_own_place, "two calls with the same arguments give different results"),
    ],
}

_MEANS = np.array([[1.0], [3.0]])
_SAME = np.array([[2.0], [2.0]])
_ONE = np.float64(2.0), np.float64(1.0), 8.0  # no array, so that the sum is the term
RIGHT_ON = {  # where what they confuse is one and the same
    keeps_the_weights: (np.ones(4), np.ones(4), 9.0),
    rounds_down: (np.zeros(3), np.ones(3), 9.0),
    the_larger_part: (_SAME, _MEANS),
    keeps_the_means: (np.ones((2, 2)), np.ones((2, 2))),
    whole_moments: (np.ones((2, 2)), np.ones((2, 2))),
    keeps_the_rows: (np.array([[5, 2, 7]]), 0, 2),
    returns_the_sum: _ONE,
    returns_the_mean: _ONE,
    variance_first: (_SAME, _SAME),
    only_between_replicas: (_MEANS, 0 * _MEANS),
    unbiased: (_SAME, _MEANS),
    second_moments: (0 * _MEANS, _MEANS),
    forgets_the_axis: (_MEANS[:, 0], _SAME[:, 0]),
    skips_one: (np.array([[5, 5, 5], [5, 5, 5]]), 1, 1),
    a_row_for_each_step: (np.array([[5, 2, 7]]), 0, 2),
}

ALSO_RIGHT = {
    "tpu.global_loss": [terms_of_shares, terms_by_reciprocal],
    "tpu.synchronised_moments": [moments_of_squares, moments_by_mean_squares],
    "tpu.next_batch": [rows_of_whole_epochs, rows_by_reshaping],
}
