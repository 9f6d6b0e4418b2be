"""Wrong solutions of lesson 02_tpu/4, written as a learner would, and what each must be told."""

import numpy as np

# --- tpu.global_loss


def mean_over_its_own_images(per_image, weight, total):
    n = per_image.shape[0]
    return per_image * weight / n


def mean_over_its_own_weight(per_image, weight, total):
    return per_image * (weight / np.sum(weight))


def forgets_the_weights(per_image, weight, total):
    return per_image / total


def leaves_the_sum_to_others(per_image, weight, total):
    return weight * per_image


def divides_by_both(per_image, weight, total):
    return weight * per_image / (total * len(per_image))


def divides_by_all_64(per_image, weight, total):
    return per_image * weight / 64


def returns_the_sum(per_image, weight, total):
    return (per_image * weight / total).sum()


def returns_the_mean(per_image, weight, total):
    return np.mean(per_image * weight) / total


def calls_numpy(per_image, weight, total):
    return np.divide(np.multiply(per_image, weight), total)


def makes_an_array(per_image, weight, total):
    return np.array(per_image * weight / total)


def makes_arrays_first(per_image, weight, total):
    return np.asarray(per_image) * np.asarray(weight) / total


def in_float32(per_image, weight, total):
    return (per_image * weight / total).astype(np.float32)


def counts_real_images(per_image, weight, total):
    return per_image * (weight != 0) / total


def weighs_in_place(per_image, weight, total):
    per_image *= weight
    return per_image / total


def by_torch(per_image, weight, total):
    import torch

    return (torch.from_numpy(per_image) * torch.from_numpy(weight) / total).numpy()


# --- tpu.synchronised_moments


def averages_both(means, variances):
    return np.mean(means, axis=0), np.mean(variances, axis=0)


def only_between_replicas(means, variances):
    return np.mean(means, axis=0), np.var(means, axis=0)


def averages_deviations(means, variances):
    deviation = np.mean(variances**0.5, axis=0)
    return np.mean(means, axis=0), deviation**2 + np.var(means, axis=0)


def unbiased(means, variances):
    return np.mean(means, axis=0), np.mean(variances, axis=0) + np.var(means, axis=0, ddof=1)


def second_moments(means, variances):
    return means.mean(0), (variances + means * means).mean(0)


def adds_a_deviation(means, variances):
    return means.mean(axis=0), variances.mean(axis=0) + means.std(axis=0)


def sums_the_variances(means, variances):
    return means.mean(axis=0), np.sum(variances, axis=0) + means.var(axis=0)


def takes_the_spread_away(means, variances):
    return means.mean(axis=0), variances.mean(axis=0) - means.var(axis=0)


def along_the_channels(means, variances):
    return means.mean(axis=1), variances.mean(axis=1) + means.var(axis=1)


def forgets_the_axis(means, variances):
    return means.mean(), variances.mean() + means.var()


def variance_first(means, variances):
    return variances.mean(axis=0) + means.var(axis=0), means.mean(axis=0)


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


def always_epoch_zero(order, step, batch):
    first = step % (order.shape[1] // batch) * batch
    return order[0, first : first + batch]


def from_the_start_of_the_epoch(order, step, batch):
    return order[step // (order.shape[1] // batch), :batch]


def one_long_list(order, step, batch):
    return order.flatten()[batch * step : batch * step + batch]


def counts_the_last_short_batch(order, step, batch):
    steps = int(np.ceil(order.shape[1] / batch))
    first = step % steps * batch
    return order[step // steps, first : first + batch]


def repeats_the_last(order, step, batch):
    epoch, place = divmod(step - 1 if step else 0, order.shape[1] // batch)
    return order[epoch, place * batch : place * batch + batch]


def skips_one(order, step, batch):
    epoch, place = divmod(step + 1, order.shape[1] // batch)
    return order[epoch, place * batch : place * batch + batch]


def forgets_the_batch(order, step, batch):
    epoch, place = divmod(step, order.shape[1] // batch)
    return order[epoch, place : place + batch]


def leaves_epoch_zero_at_its_end(order, step, batch):
    return order[0, batch * step : batch * step + batch]


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


def a_row_for_each_step(order, step, batch):
    return order[step][:batch]


def divmod_the_other_way(order, step, batch):
    place, epoch = divmod(step, order.shape[1] // batch)
    return order[epoch, place * batch : (place + 1) * batch]


def rows_as_floats(order, step, batch):
    rows = np.zeros(batch)
    epoch, place = divmod(step, order.shape[1] // batch)
    rows[:] = order[epoch, place * batch : (place + 1) * batch]
    return rows


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
        (centres_in_place, "changes its input means"),
        (moments_by_torch, "torch"),
    ],
    "tpu.next_batch": [
        (always_epoch_zero, "always come from the first epoch's order"),
        (from_the_start_of_the_epoch, "The epoch begins again"),
        (one_long_list, "read as one long list"),
        (counts_the_last_short_batch, "are rounded up"),
        (repeats_the_last, "is made again"),
        (skips_one, "One step is left out"),
        (forgets_the_batch, "neighbouring batches overlap"),
        (leaves_epoch_zero_at_its_end, "This stays in epoch 0"),
        (image_by_image, "The steps are counted in images"),
        (wraps_once, "but not that of the next"),
        (a_row_for_each_step, "Each step takes a row of its own"),
        (divmod_the_other_way, "Epoch and place are swapped"),
        (rows_as_floats, "it should hold integers"),
        (takes_them_away, "changes its input order"),
        (rows_by_torch, "torch"),
    ],
}

_MEANS = np.array([[1.0], [3.0]])
_SAME = np.array([[2.0], [2.0]])
_ONE = np.float64(2.0), np.float64(1.0), 8.0  # no array, so that the sum is the term
RIGHT_ON = {  # where what they confuse is one and the same
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


def terms(per_image, weight, total):
    return weight / total * per_image


def moments(means, variances):
    mean = means.mean(0)
    return mean, (variances + (means - mean) ** 2).mean(0)


def rows(order, step, batch):
    whole = order.shape[1] - order.shape[1] % batch  # images that an epoch shows
    first = step * batch
    return order[first // whole].reshape(-1)[first % whole :][:batch]


SOLVED = {
    "tpu.global_loss": terms,
    "tpu.synchronised_moments": moments,
    "tpu.next_batch": rows,
}
