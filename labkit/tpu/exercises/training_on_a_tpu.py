"""The exercises of lesson 02_tpu/4, training on a TPU: plain functions of arrays."""

from collections.abc import Callable

import numpy as np

from labkit.checks.items import LIBRARIES, cases_of, exercise
from labkit.provenance import counted
from labkit.tpu.traced import traced

# tpu.global_loss: per_image[n], weight[n] of one replica, total weight of all -> terms[n]

CONVERSIONS = ("numpy.array", "numpy.asarray", "numpy.ndarray.astype")  # of what operators gave


def some_images(rng: np.random.Generator, n: int, total: float) -> tuple:
    """Losses of both signs, and weights from 0, a filler, to n - 1."""
    weight = rng.permutation(np.arange(float(n))) if n > 1 else np.ones(1)
    return rng.normal(size=n), weight, total


def all_images_there_are(rng: np.random.Generator, n: int) -> tuple:
    per_image, weight, _ = some_images(rng, n, 0)
    return per_image, weight, float(weight.sum())


def tensors(rng: np.random.Generator, n: int, total: float) -> tuple:
    """The same as tensors, which is what the loop hands over."""
    return tuple(map(traced, some_images(rng, n, total)))


REPLICAS = {  # how the inputs are made, images of this replica, weight of all replicas
    "prime": (some_images, 7, 83.0),
    "all sizes 1": (some_images, 1, 1.0),
    "two images": (some_images, 2, 64.0),
    "the only replica": (all_images_there_are, 9),
    "ragged": (some_images, 10, 231.0),
    "many": (some_images, 40, 6001.0),
    "in the loop": (tensors, 5, 50.0),
}


def terms(per_image, weight, total):
    return per_image * weight / total


def mean_of_replica(per_image, weight, total):
    return per_image * weight / len(weight)


def own_weight(per_image, weight, total):
    return per_image * weight / weight.sum()


def fillers_count(per_image, weight, total):
    return per_image / total


def weighted_twice(per_image, weight, total):
    return per_image * weight * weight / total


def switched(per_image, weight, total):
    return per_image * (weight > 0) / total


def not_divided(per_image, weight, total):
    return per_image * weight


def divided_twice(per_image, weight, total):
    return per_image * weight / total / len(weight)


def all_images(per_image, weight, total):
    return per_image * weight / 64


def added_up(per_image, weight, total):
    return np.sum(per_image * weight / total)


def averaged(per_image, weight, total):
    return np.mean(per_image * weight / total)


loss = exercise(
    "tpu.global_loss",
    oracle=terms,
    cases=cases_of(REPLICAS, lambda rng, make, *sizes: make(rng, *sizes)),
    wrong={
        "mean_of_replica": mean_of_replica,
        "own_weight": own_weight,
        "fillers_count": fillers_count,
        "switched": switched,
        "weighted_twice": weighted_twice,
        "not_divided": not_divided,
        "divided_twice": divided_twice,
        "all_images": all_images,
        "added_up": added_up,
        "averaged": averaged,
    },
    outputs=("terms",),
    forbidden=(*LIBRARIES, *CONVERSIONS),
    cost=lambda: [("to send 545,098 gradients", counted(4 * 545_098, "B", "4 B each"))],
)

# tpu.synchronised_moments: means[R,C], variances[R,C] of R replicas with equally many values
# -> mean[C], variance[C] over all of them

CHANNELS = {  # replicas, channels
    "prime": (7, 5),
    "all sizes 1": (1, 1),
    "one replica": (1, 6),
    "one channel": (4, 1),
    "two replicas": (2, 9),
    "as many replicas as channels": (4, 4),
    "ragged": (3, 17),
    "eight replicas": (8, 64),
}


def moments_of(rng: np.random.Generator, R: int, C: int) -> tuple:
    return rng.normal(size=(R, C)), rng.uniform(0.5, 4, (R, C))


def joined(means, variances):
    return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)


def with_between(between: Callable) -> Callable:
    """The mean is right; `between(means)` stands where their variance belongs."""
    return lambda means, variances: (means.mean(axis=0), variances.mean(axis=0) + between(means))


def with_within(within: Callable) -> Callable:
    """The mean is right; `within(variances)` stands where their mean belongs."""
    return lambda means, variances: (means.mean(axis=0), within(variances) + means.var(axis=0))


def over_channels(means, variances):
    return means.mean(axis=1), variances.mean(axis=1) + means.var(axis=1)


def one_number(means, variances):
    return means.mean(), variances.mean() + means.var()


def each_with_the_next(means, variances):
    """Replica after replica is joined with all before it, as two equal halves."""
    mean, variance = means[0], variances[0]
    for m, v in zip(means[1:], variances[1:], strict=True):
        variance = (variance + v) / 2 + ((mean - m) / 2) ** 2
        mean = (mean + m) / 2
    return mean, variance


def not_squared(means, variances):
    mean = means.mean(axis=0)
    return mean, (variances + means**2).mean(axis=0) - mean


def swapped(means, variances):
    mean, variance = joined(means, variances)
    return variance, mean


together = exercise(
    "tpu.synchronised_moments",
    oracle=joined,
    cases=cases_of(CHANNELS, moments_of),
    wrong={
        "mean_of_variances": with_between(lambda means: 0),
        "variance_of_means": with_within(lambda variances: 0),
        "deviations_averaged": with_within(lambda variances: np.sqrt(variances).mean(axis=0) ** 2),
        "variances_added": with_within(lambda variances: variances.sum(axis=0)),
        "one_less": with_between(lambda means: means.var(axis=0, ddof=1)),
        "square_of_mean": with_between(lambda means: (means**2).mean(axis=0)),
        "square_added": with_between(lambda means: means.mean(axis=0) ** 2),
        "deviation_added": with_between(lambda means: means.std(axis=0)),
        "subtracted": with_between(lambda means: -means.var(axis=0)),
        "over_channels": over_channels,
        "one_number": one_number,
        "each_with_the_next": each_with_the_next,
        "not_squared": not_squared,
        "swapped": swapped,
    },
    outputs=("mean", "variance"),
    forbidden=LIBRARIES,
)

# tpu.next_batch: order[E,N], finished steps, batch -> rows[batch]. Steps of an epoch: N // batch

RUNS = {  # epochs, images, finished steps, batch
    "prime": (5, 13, 7, 3),
    "all sizes 1": (1, 1, 0, 1),
    "the last step of an epoch": (3, 10, 5, 4),
    "a new epoch": (2, 12, 3, 4),
    "a late epoch begins": (6, 17, 12, 5),
    "the first epoch": (4, 9, 2, 2),
    "one step an epoch": (4, 7, 2, 5),
    "a batch is an epoch": (3, 8, 1, 8),
    "batches of one": (3, 6, 11, 1),
    "many": (3, 70, 9, 16),
}


def run_of(rng: np.random.Generator, E: int, N: int, step: int, batch: int) -> tuple:
    """No image number stands twice in `order`, so that each place is known by its value."""
    order = rng.permutation(9 * E * N)[: E * N].reshape(E, N)
    return order, step, batch


def steps_of(order, batch):
    return order.shape[1] // batch


def rows_at(order, epoch, first, batch):
    return order[epoch, first : first + batch]


def following(order, step, batch):
    epoch, place = divmod(step, steps_of(order, batch))
    return rows_at(order, epoch, place * batch, batch)


def first_epoch(order, step, batch):
    return following(order, step % steps_of(order, batch), batch)


def epoch_begins_again(order, step, batch):
    return following(order, step - step % steps_of(order, batch), batch)


def remainder_kept(order, step, batch):
    return order.ravel()[step * batch : (step + 1) * batch]


def place_in_images(order, step, batch):
    epoch, first = divmod(step * batch, order.shape[1])
    return rows_at(order, epoch, first, batch)


def epoch_by_images(order, step, batch):
    """The epoch from the images shown, though each epoch drops some."""
    return rows_at(
        order, step * batch // order.shape[1], step % steps_of(order, batch) * batch, batch
    )


def epoch_too_late(order, step, batch):
    """The first step of an epoch still counts to the one before."""
    steps = steps_of(order, batch)
    epoch = max(step - 1, 0) // steps
    return rows_at(order, epoch, (step - epoch * steps) * batch, batch)


def rounded_up(order, step, batch):
    epoch, place = divmod(step, -(-order.shape[1] // batch))
    return rows_at(order, epoch, place * batch, batch)


def last_step_again(order, step, batch):
    return following(order, max(step - 1, 0), batch)


def one_skipped(order, step, batch):
    return following(order, step + 1, batch)


def places_of_one(order, step, batch):
    epoch, place = divmod(step, steps_of(order, batch))
    return rows_at(order, epoch, place, batch)


def runs_out(order, step, batch):
    return rows_at(order, 0, step * batch, batch)


def second_epoch_only(order, step, batch):
    """Counts one wrap and no more."""
    steps = steps_of(order, batch)
    if step < steps:
        return rows_at(order, 0, step * batch, batch)
    return rows_at(order, 1, (step - steps) * batch, batch)


def interleaved(order, step, batch):
    epoch, place = divmod(step, steps_of(order, batch))
    return order[epoch, place :: steps_of(order, batch)][:batch]


def places(order, step, batch):
    place = step % steps_of(order, batch)
    return np.arange(place * batch, (place + 1) * batch)


def step_as_epoch(order, step, batch):
    return rows_at(order, step, 0, batch)


def epoch_and_place_swapped(order, step, batch):
    place, epoch = divmod(step, steps_of(order, batch))
    return rows_at(order, epoch, place * batch, batch)


batches = exercise(
    "tpu.next_batch",
    oracle=following,
    cases=cases_of(RUNS, run_of),
    wrong={
        "first_epoch": first_epoch,
        "epoch_begins_again": epoch_begins_again,
        "remainder_kept": remainder_kept,
        "place_in_images": place_in_images,
        "epoch_by_images": epoch_by_images,
        "epoch_too_late": epoch_too_late,
        "rounded_up": rounded_up,
        "last_step_again": last_step_again,
        "one_skipped": one_skipped,
        "places_of_one": places_of_one,
        "runs_out": runs_out,
        "second_epoch_only": second_epoch_only,
        "interleaved": interleaved,
        "places": places,
        "step_as_epoch": step_as_epoch,
        "epoch_and_place_swapped": epoch_and_place_swapped,
    },
    outputs=("rows",),
    forbidden=LIBRARIES,
    dtype="int",
)

EXERCISES = [loss, together, batches]
