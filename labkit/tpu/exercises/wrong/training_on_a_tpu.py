"""Wrong ideas of lesson 02_tpu/4: a loss, moments, a batch.

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np

# tpu.global_loss: per_image[n], weight[n] of one replica, total weight of all -> terms[n]


def mean_of_replica(per_image, weight, total):
    """Over the images of this replica."""
    return per_image * weight / len(weight)


def own_weight(per_image, weight, total):
    """Over the weight of this replica."""
    return per_image * weight / weight.sum()


def fillers_count(per_image, weight, total):
    """The weights are forgotten."""
    return per_image / total


def weighted_twice(per_image, weight, total):
    """The weights come in squared."""
    return per_image * weight * weight / total


def switched(per_image, weight, total):
    """Each weight above 0 is 1."""
    return per_image * (weight > 0) / total


def not_divided(per_image, weight, total):
    """The total is forgotten."""
    return per_image * weight


def divided_twice(per_image, weight, total):
    """Over the total, and over the images of this replica."""
    return per_image * weight / total / len(weight)


def all_images(per_image, weight, total):
    """Over the size of the lesson's batch."""
    return per_image * weight / 64


def added_up(per_image, weight, total):
    """The loop's sum."""
    return np.sum(per_image * weight / total)


def averaged(per_image, weight, total):
    """The mean of the terms."""
    return np.mean(per_image * weight / total)


# tpu.synchronised_moments: means[R,C], variances[R,C] -> mean[C], variance[C]


def with_between(between: Callable) -> Callable:
    """The mean is right; `between(means)` stands where their variance belongs."""

    def wrong(means, variances):
        inside = variances.mean(axis=0)
        return means.mean(axis=0), inside + between(means)

    return wrong


def with_inside(inside: Callable) -> Callable:
    """The mean is right; `inside(variances)` stands where their mean belongs."""

    def wrong(means, variances):
        between = means.var(axis=0)
        return means.mean(axis=0), inside(variances) + between

    return wrong


def deviations_averaged(variances):
    """The square of the mean deviation."""
    deviation = np.sqrt(variances).mean(axis=0)
    return deviation**2


def over_channels(means, variances):
    """Along the other axis."""
    variance = variances.mean(axis=1) + means.var(axis=1)
    return means.mean(axis=1), variance


def one_number(means, variances):
    """Along both axes."""
    variance = variances.mean() + means.var()
    return means.mean(), variance


def each_with_the_next(means, variances):
    """Replica after replica is joined with all before it, as two equal halves."""
    mean = means[0]
    variance = variances[0]
    for m, v in zip(means[1:], variances[1:], strict=True):
        inside = (variance + v) / 2
        between = ((mean - m) / 2) ** 2
        variance = inside + between
        mean = (mean + m) / 2
    return mean, variance


def not_squared(means, variances):
    """The mean square, without the mean."""
    mean = means.mean(axis=0)
    mean_square = (variances + means**2).mean(axis=0)
    return mean, mean_square - mean


def swapped(means, variances):
    """The variance comes first."""
    variance = variances.mean(axis=0) + means.var(axis=0)
    return variance, means.mean(axis=0)


# tpu.next_batch: order[E,N], finished steps, batch -> rows[batch]


def steps_of(order, batch):
    """The steps of an epoch, as they should be counted."""
    return order.shape[1] // batch


def rows_at(order, epoch, first, batch):
    """A batch of neighbours in the epoch's row."""
    return order[epoch, first : first + batch]


def batch_of(order, step, batch):
    """The images of this step, counted from 0; as it should be."""
    epoch, place = divmod(step, steps_of(order, batch))
    return rows_at(order, epoch, place * batch, batch)


def first_epoch(order, step, batch):
    """Every epoch has the order of the first."""
    place = step % steps_of(order, batch)
    return rows_at(order, 0, place * batch, batch)


def epoch_begins_again(order, step, batch):
    """The place in the epoch is forgotten."""
    epoch = step // steps_of(order, batch)
    return rows_at(order, epoch, 0, batch)


def remainder_kept(order, step, batch):
    """The epochs follow on one another, with all their images."""
    first = step * batch
    return order.ravel()[first : first + batch]


def place_in_images(order, step, batch):
    """An epoch has all its images."""
    N = order.shape[1]
    epoch, first = divmod(step * batch, N)
    return rows_at(order, epoch, first, batch)


def epoch_by_images(order, step, batch):
    """The epoch from the images shown, though each epoch drops some."""
    N = order.shape[1]
    epoch = step * batch // N
    place = step % steps_of(order, batch)
    return rows_at(order, epoch, place * batch, batch)


def epoch_too_late(order, step, batch):
    """The first step of an epoch still counts to the one before."""
    steps = steps_of(order, batch)
    epoch = max(step - 1, 0) // steps
    place = step - epoch * steps
    return rows_at(order, epoch, place * batch, batch)


def rounded_up(order, step, batch):
    """The images that fill no batch make a step."""
    steps = -(-order.shape[1] // batch)
    epoch, place = divmod(step, steps)
    return rows_at(order, epoch, place * batch, batch)


def last_step_again(order, step, batch):
    """The last finished step."""
    return batch_of(order, max(step - 1, 0), batch)


def one_skipped(order, step, batch):
    """The step after the next."""
    return batch_of(order, step + 1, batch)


def places_of_one(order, step, batch):
    """Batches begin one image apart."""
    epoch, place = divmod(step, steps_of(order, batch))
    return rows_at(order, epoch, place, batch)


def runs_out(order, step, batch):
    """Epoch 0 never ends."""
    return rows_at(order, 0, step * batch, batch)


def second_epoch_only(order, step, batch):
    """Counts one wrap and no more."""
    steps = steps_of(order, batch)
    if step < steps:
        return rows_at(order, 0, step * batch, batch)
    return rows_at(order, 1, (step - steps) * batch, batch)


def interleaved(order, step, batch):
    """The images of an epoch are dealt out to its steps."""
    steps = steps_of(order, batch)
    epoch, place = divmod(step, steps)
    return order[epoch, place::steps][:batch]


def places(order, step, batch):
    """Where the images stand."""
    place = step % steps_of(order, batch)
    first = place * batch
    return np.arange(first, first + batch)


def step_as_epoch(order, step, batch):
    """A row for each step."""
    return rows_at(order, step, 0, batch)


def epoch_and_place_swapped(order, step, batch):
    """divmod, read the wrong way round."""
    place, epoch = divmod(step, steps_of(order, batch))
    return rows_at(order, epoch, place * batch, batch)
