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
        (takes_them_away, "changes its input order"),
        (rows_by_torch, "torch"),
    ],
}

_MEANS, _SAME = np.array([[1.0], [3.0]]), np.array([[2.0], [2.0]])
_ONE = np.float64(2.0), np.float64(1.0), 8.0  # no array, so that the sum is the term
RIGHT_ON = {  # nothing varies inside a replica; all have the same mean; that mean is 0
    returns_the_sum: _ONE,
    returns_the_mean: _ONE,
    variance_first: (_SAME, _SAME),
    only_between_replicas: (_MEANS, 0 * _MEANS),
    unbiased: (_SAME, _MEANS),
    second_moments: (0 * _MEANS, _MEANS),
    skips_one: (np.array([[5, 5, 5], [5, 5, 5]]), 1, 1),
}

SOLVED = {
    "tpu.global_loss": lambda per_image, weight, total: weight / total * per_image,
    "tpu.synchronised_moments": lambda means, variances: (
        means.mean(0),
        (variances + (means - means.mean(0)) ** 2).mean(0),
    ),
    "tpu.next_batch": lambda order, step, batch: order[step // (order.shape[1] // batch)].reshape(
        -1
    )[step % (order.shape[1] // batch) * batch :][:batch],
}
