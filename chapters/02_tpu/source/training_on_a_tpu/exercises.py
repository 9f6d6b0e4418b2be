"""The exercises of lesson training_on_a_tpu: plain functions of arrays."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise, with_a_repeat
from labkit.provenance import Quantity, counted
from labkit_lessons.tpu.training_on_a_tpu.traced import traced
from labkit_lessons.tpu.training_on_a_tpu.wrong import global_loss as wrong_terms
from labkit_lessons.tpu.training_on_a_tpu.wrong import next_batch as wrong_rows
from labkit_lessons.tpu.training_on_a_tpu.wrong import synchronised_moments as wrong_moments

# tpu.global_loss: per_image[n], weight[n] of one replica, total weight of all -> terms[n]

CONVERSIONS = ("numpy.array", "numpy.asarray", "numpy.ndarray.astype")  # of what operators gave
GRADIENTS = 545_098  # of the course's network


def some_images(rng: np.random.Generator, n: int, total: float) -> tuple:
    """Losses of both signs, and weights from 0, a filler, to n - 1."""
    weight = rng.permutation(np.arange(float(n))) if n > 1 else np.ones(1)
    per_image = rng.normal(size=n)
    return per_image, weight, total


def all_images_there_are(rng: np.random.Generator, n: int) -> tuple:
    """The same, where no other replica has any."""
    per_image, weight, _ = some_images(rng, n, 0)
    return per_image, weight, float(weight.sum())


def total_of_each(rng: np.random.Generator, n: int, total: float) -> tuple:
    """The same, with the weight of all replicas n times."""
    per_image, weight, total = some_images(rng, n, total)
    return per_image, weight, np.full(n, total)


def tensors(rng: np.random.Generator, n: int, total: float) -> tuple:
    """The same as tensors, which is what the loop hands over."""
    return tuple(traced(value) for value in some_images(rng, n, total))


REPLICAS = {  # how the inputs are made, images of this replica, weight of all replicas
    "prime": (some_images, 7, 83.0),
    "all sizes 1": (some_images, 1, 1.0),
    "three images": (some_images, 3, 64.0),
    "the only replica": (all_images_there_are, 9),
    "equal totals, one for each image": (total_of_each, 7, 231.0),
    "equal totals of two images": (total_of_each, 2, 90.0),
    "equal totals of many": (total_of_each, 40, 6001.0),
    "in the loop": (tensors, 5, 50.0),
}


def terms(per_image, weight, total):
    """What each image adds to the mean of all."""
    return per_image * weight / total


def traffic() -> list[tuple[str, Quantity]]:
    """What the replicas exchange in a step."""
    label = f"to send {GRADIENTS:,} gradients"
    return [(label, counted(4 * GRADIENTS, "B", "4 B each"))]


global_loss = exercise(
    "tpu.global_loss",
    oracle=terms,
    cases=cases_of(REPLICAS, lambda rng, make, *sizes: make(rng, *sizes)),
    wrong=by_own_name(
        wrong_terms.mean_of_replica,
        wrong_terms.own_weight,
        wrong_terms.fillers_count,
        wrong_terms.switched,
        wrong_terms.weighted_twice,
        wrong_terms.not_divided,
        wrong_terms.divided_twice,
        wrong_terms.all_images,
        wrong_terms.added_up,
        wrong_terms.averaged,
    ),
    outputs=("terms",),
    forbidden=(*LIBRARIES, *CONVERSIONS),
    cost=traffic,
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
    """Means of both signs, and variances."""
    means = rng.normal(size=(R, C))
    variances = rng.uniform(0.5, 4, (R, C))
    return means, variances


def joined(means, variances):
    """The variance inside the replicas, and that between them."""
    inside = variances.mean(axis=0)
    between = means.var(axis=0)
    return means.mean(axis=0), inside + between


synchronised_moments = exercise(
    "tpu.synchronised_moments",
    oracle=joined,
    cases=cases_of(CHANNELS, moments_of),
    wrong={
        "mean_of_variances": wrong_moments.with_between(lambda means: 0),
        "variance_of_means": wrong_moments.with_inside(lambda variances: 0),
        "deviations_averaged": wrong_moments.with_inside(wrong_moments.deviations_averaged),
        "variances_added": wrong_moments.with_inside(lambda variances: variances.sum(axis=0)),
        "between_added": wrong_moments.with_between(lambda means: means.var(axis=0) * len(means)),
        "distances": wrong_moments.with_between(wrong_moments.distances),
        "larger_of_both": wrong_moments.larger_of_both,
        "first_two": lambda means, variances: joined(means[:2], variances[:2]),
        "one_less": wrong_moments.with_between(lambda means: means.var(axis=0, ddof=1)),
        "square_of_mean": wrong_moments.with_between(lambda means: (means**2).mean(axis=0)),
        "square_added": wrong_moments.with_between(lambda means: means.mean(axis=0) ** 2),
        "deviation_added": wrong_moments.with_between(lambda means: means.std(axis=0)),
        "subtracted": wrong_moments.with_between(lambda means: -means.var(axis=0)),
        **by_own_name(
            wrong_moments.over_channels,
            wrong_moments.one_number,
            wrong_moments.each_with_the_next,
            wrong_moments.not_squared,
            wrong_moments.swapped,
        ),
    },
    outputs=("mean", "variance"),
    forbidden=LIBRARIES,
)

# tpu.next_batch: order[E,N], finished steps, batch -> rows[batch]. Steps of an epoch: N // batch

RUNS = {  # epochs, images, finished steps, batch
    "prime": (5, 13, 7, 3),
    "all sizes 1": (1, 1, 0, 1),
    "prime, larger batches": (5, 13, 8, 4),
    "the last step of an epoch": (3, 10, 5, 4),
    "a new epoch": (2, 12, 3, 4),
    "a late epoch": (6, 17, 13, 5),
    "the first epoch": (4, 9, 2, 2),
    "one step an epoch": (4, 7, 2, 5),
    "a batch is an epoch": (3, 8, 1, 8),
    "batches of one": (3, 6, 11, 1),
    "many": (3, 70, 8, 18),
}


def run_of(rng: np.random.Generator, E: int, N: int, step: int, batch: int) -> tuple:
    """No image number stands twice in `order`, so that each place is known by its value."""
    numbers = rng.permutation(9 * E * N)
    order = numbers[: E * N].reshape(E, N)
    return order, step, batch


def following(order, step, batch):
    """The images of the step that comes after `step` finished ones."""
    steps = order.shape[1] // batch
    epoch, place = divmod(step, steps)
    first = place * batch
    return order[epoch, first : first + batch]


next_batch = exercise(
    "tpu.next_batch",
    oracle=following,
    cases=with_a_repeat(cases_of(RUNS, run_of)),
    wrong={
        **by_own_name(
            wrong_rows.first_epoch,
            wrong_rows.epoch_begins_again,
            wrong_rows.remainder_kept,
            wrong_rows.place_in_images,
            wrong_rows.epoch_by_images,
            wrong_rows.epoch_too_late,
            wrong_rows.rounded_up,
            wrong_rows.to_the_nearest,
        ),
        "last_step_again": lambda order, step, batch: following(order, max(step - 1, 0), batch),
        "one_skipped": lambda order, step, batch: following(order, step + 1, batch),
        **by_own_name(
            wrong_rows.places_of_one,
            wrong_rows.runs_out,
            wrong_rows.second_epoch_only,
            wrong_rows.interleaved,
            wrong_rows.place_by_images,
            wrong_rows.second_at_most,
            wrong_rows.two_in_turn,
            wrong_rows.first_images_dropped,
            wrong_rows.from_the_end,
        ),
        "sorted": lambda order, step, batch: np.sort(following(order, step, batch)),
        "places": wrong_rows.places,
        "step_as_epoch": wrong_rows.step_as_epoch,
        "epoch_and_place_swapped": wrong_rows.epoch_and_place_swapped,
    },
    outputs=("rows",),
    forbidden=LIBRARIES,
    dtype="int",
)

EXERCISES = [global_loss, synchronised_moments, next_batch]
