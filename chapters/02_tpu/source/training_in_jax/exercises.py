"""The exercises of lesson training_in_jax: a tree is updated, and a short batch has a loss."""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of, exercise, with_a_repeat
from labkit_lessons.tpu.training_in_jax.traced_loss import compiled, masked_mean
from labkit_lessons.tpu.training_in_jax.trees import on_trees, updated
from labkit_lessons.tpu.training_in_jax.wrong import masked_loss as wrong_losses
from labkit_lessons.tpu.training_in_jax.wrong import sgd_update as wrong_updates

OTHERS = (  # JAX itself is what these two are about
    "torch",
    "tensorflow",
    "keras",
    "optax",
    "scipy",
    "labkit.reference",
    "labkit.convnet",
    "labkit.tpu",
)

# tpu.sgd_update: trees of weights, velocities and gradients, rate, momentum -> new weights and
# velocities. A case has them as three long vectors, and the form of tree that they are cut into.

TREES = {  # numbers in all leaves together, form
    "prime": (17, "layers"),
    "one number": (1, "one leaf"),
    "two leaves": (11, "two leaves"),
    "a list": (24, "list"),
    "three levels": (45, "deep"),
    "a flat dict": (131, "flat"),
}


def vectors(rng: np.random.Generator, n: int, form: str) -> tuple:
    """Weights, velocities and gradients of both signs; rate and momentum."""
    weights, velocities, gradients = rng.normal(size=(3, n))
    return weights, velocities, gradients, rng.uniform(0.1, 0.5), rng.uniform(0.3, 0.9), form


def sgd(weights, velocities, gradients, rate, momentum, form):
    """All leaves at once."""
    velocities = momentum * velocities - rate * gradients
    return weights + velocities, velocities


sgd_update = exercise(
    "tpu.sgd_update",
    oracle=sgd,
    cases=cases_of(TREES, vectors),
    wrong=by_own_name(
        wrong_updates.uphill,
        wrong_updates.no_momentum,
        wrong_updates.old_velocity,
        wrong_updates.velocities_kept,
        wrong_updates.velocity_without_rate,
        wrong_updates.averaged,
        wrong_updates.looks_ahead,
        wrong_updates.gradient_slowed_too,
        wrong_updates.rate_on_everything,
        wrong_updates.taken_away,
        wrong_updates.swapped,
        wrong_updates.always_nine_tenths,
    ),
    outputs=("weights", "velocities"),
    groups=(frozenset({0, 1}),),
    adapter=on_trees,
    plain=lambda answer, *given: on_trees(answer)(*given),
    fallback=updated,
    plain_python=True,
    stub=lambda weights, velocities, *rest: (weights, velocities),
    forbidden=OTHERS,
)

# tpu.masked_loss: losses[n] of a batch whose first `count` images are photographs -> their mean

BATCHES = {  # images, photographs among them
    "prime": (7, 5),
    "one photograph": (1, 1),
    "no fillers": (9, 9),
    "one of two": (2, 1),
    "one filler": (13, 12),
    "mostly fillers": (64, 3),
    "many": (257, 100),
}


def losses_of(rng: np.random.Generator, n: int, count: int) -> tuple:
    """Numbers of both signs."""
    return rng.normal(size=n), count


def mean_of_first(per_image, count):
    """The fillers stand at the end."""
    return per_image[:count].sum() / count


masked_loss = exercise(
    "tpu.masked_loss",
    oracle=mean_of_first,
    cases=with_a_repeat(cases_of(BATCHES, losses_of)),
    wrong=by_own_name(
        wrong_losses.fillers_count,
        wrong_losses.divided_by_all,
        wrong_losses.not_divided,
        wrong_losses.one_too_many,
        wrong_losses.first_left_out,
        wrong_losses.fillers_alone,
        wrong_losses.last_images,
        wrong_losses.fillers_subtracted,
        wrong_losses.for_each_image,
        wrong_losses.over_64,
    ),
    outputs=("loss",),
    adapter=compiled,
    plain=lambda answer, *given: answer(*given),  # as NumPy computes it
    fallback=masked_mean,
    plain_python=True,
    forbidden=OTHERS,
)

EXERCISES = [sgd_update, masked_loss]
