"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import jax
import numpy as np
from jax import numpy as jnp

from tests.exercises.edits import edit

KEPT = {}  # what answers keep from call to call

# --- tpu.sgd_update

edited = partial(edit, "tpu.sgd_update")
STEP = "momentum * v - rate * g"
MOVED = "w + v"
climbs = edited("climbs", STEP, "momentum * v + rate * g")
forgets_the_velocity = edited("forgets_the_velocity", STEP, "0 * v - rate * g")
as_pytorch_does = edited("as_pytorch_does", STEP, "momentum * v + g", (MOVED, "w - rate * v"))
averages_the_steps = edited("averages_the_steps", STEP, "momentum * v - (1 - momentum) * rate * g")
slows_the_gradient = edited("slows_the_gradient", STEP, "momentum * (v - rate * g)")
goes_back = edited("goes_back", MOVED, "w - v")
rate_twice = edited("rate_twice", MOVED, "w + rate * v")
nine_tenths = edited("nine_tenths", STEP, "0.9 * v - rate * g")
whole_numbers = edited("whole_numbers", MOVED, "(w + v).astype(int)")


def moves_by_the_old_velocity(weights, velocities, gradients, rate, momentum):
    new = jax.tree.map(lambda v, g: momentum * v - rate * g, velocities, gradients)
    return jax.tree.map(lambda w, v: w + v, weights, velocities), new


def hands_the_old_velocities_on(weights, velocities, gradients, rate, momentum):
    step = lambda w, v, g: w + momentum * v - rate * g  # noqa: E731
    return jax.tree.map(step, weights, velocities, gradients), velocities


def first_the_velocities(weights, velocities, gradients, rate, momentum):
    new = jax.tree.map(lambda v, g: momentum * v - rate * g, velocities, gradients)
    return new, jax.tree.map(lambda w, v: w + v, weights, new)


def a_list_of_leaves(weights, velocities, gradients, rate, momentum):
    leaves = zip(*map(jax.tree.leaves, (weights, velocities, gradients)), strict=True)
    pairs = [(w + momentum * v - rate * g, momentum * v - rate * g) for w, v, g in leaves]
    return [w for w, _ in pairs], [v for _, v in pairs]


def changes_the_arrays(weights, velocities, gradients, rate, momentum):
    def step(w, v, g):
        w += momentum * v - rate * g
        return w

    new = jax.tree.map(lambda v, g: momentum * v - rate * g, velocities, gradients)
    return jax.tree.map(step, weights, velocities, gradients), new


def keeps_the_first_velocities(weights, velocities, gradients, rate, momentum):
    key = str(jax.tree.map(np.shape, weights))
    before = KEPT.setdefault(key, jax.tree.map(np.copy, velocities))
    new = jax.tree.map(lambda v, g: momentum * v - rate * g, before, gradients)
    return jax.tree.map(lambda w, v: w + v, weights, new), new


def update_by_torch(weights, velocities, gradients, rate, momentum):
    import torch

    def step(v, g):
        return (momentum * torch.tensor(v) - rate * torch.tensor(g)).numpy()

    new = jax.tree.map(step, velocities, gradients)
    return jax.tree.map(lambda w, v: w + v, weights, new), new


def all_in_one_map(weights, velocities, gradients, rate, momentum):
    def step(w, v, g):
        v = jnp.asarray(momentum * v - rate * g)
        return w + v, v

    both = jax.tree.map(step, weights, velocities, gradients)
    return tuple(jax.tree.map(lambda _, pair, i=i: pair[i], weights, both) for i in range(2))


def by_recursion(weights, velocities, gradients, rate, momentum):
    if isinstance(weights, dict | list):
        names = list(weights) if isinstance(weights, dict) else range(len(weights))
        new = [
            by_recursion(weights[name], velocities[name], gradients[name], rate, momentum)
            for name in names
        ]
        if isinstance(weights, list):
            return [w for w, _ in new], [v for _, v in new]
        return tuple(dict(zip(names, part, strict=True)) for part in zip(*new, strict=True))
    v = momentum * velocities - rate * gradients
    return weights + v, v


# --- tpu.masked_loss

edited = partial(edit, "tpu.masked_loss")
SMALLER = "< count"
ALL = "/ count"
mean_of_everything = edited(
    "mean_of_everything", "jnp.where(real, per_image, 0).sum() / count", "per_image.mean()"
)
over_the_whole_batch = edited("over_the_whole_batch", ALL, "/ len(per_image)")
over_64 = edited("over_64", ALL, "/ 64")
no_division = edited("no_division", " / count", "")
counts_from_one = edited("counts_from_one", SMALLER, "<= count")
the_other_part = edited("the_other_part", SMALLER, ">= count")
minus_one_for_fillers = edited("minus_one_for_fillers", "per_image, 0)", "per_image, -per_image)")
rounds_down = edited("rounds_down", ALL, "// count")
whole_loss = edited("whole_loss", ".sum() / count", ".sum().astype(int) // count")


def slices(per_image, count):
    return per_image[:count].mean()


def chooses(per_image, count):
    return per_image[jnp.arange(len(per_image)) < count].mean()


def by_numpy(per_image, count):
    return np.where(np.arange(len(per_image)) < count, per_image, 0).sum() / count


def decides(per_image, count):
    if count == len(per_image):
        return per_image.mean()
    return jnp.where(jnp.arange(len(per_image)) < count, per_image, 0).sum() / count


def counts_in_python(per_image, count):
    return sum(per_image[i] for i in range(count)) / count


def as_many_places(per_image, count):
    return per_image[jnp.arange(count)].mean()


def sets_to_zero(per_image, count):
    real = jnp.arange(len(per_image)) < count
    per_image *= 1
    per_image[-1] = per_image[-1] * real[-1]
    return jnp.where(real, per_image, 0).sum() / count


def keeps_the_losses(per_image, count):
    per_image = KEPT.setdefault("losses", per_image)
    return jnp.where(jnp.arange(len(per_image)) < count, per_image, 0).sum() / count


def mean_by_torch(per_image, count):
    import torch

    torch.zeros(1)
    return jnp.where(jnp.arange(len(per_image)) < count, per_image, 0).sum() / count


def by_a_product(per_image, count):
    weight = jnp.float32(jnp.arange(per_image.shape[0]) < count)
    return per_image @ weight / weight.sum()


def by_running_sums(per_image, count):
    return jnp.cumsum(per_image)[count - 1] / count


PLANTED = {
    "tpu.sgd_update": [
        (climbs, "This goes uphill"),
        (forgets_the_velocity, "The velocity before is forgotten"),
        (moves_by_the_old_velocity, "The weights move by the old velocity"),
        (hands_the_old_velocities_on, "The velocities come back as they were"),
        (as_pytorch_does, "the rate is left out of the velocity"),
        (averages_the_steps, "shrunk by 1 - momentum"),
        (slows_the_gradient, "multiplies the gradient, too"),
        (goes_back, "The velocity is taken away"),
        (rate_twice, "multiplied by the rate once more"),
        (first_the_velocities, "The two trees are swapped"),
        (nine_tenths, "always 0.9 here"),
        (whole_numbers, "holds integers"),
        (a_list_of_leaves, "no tree of the form that came in"),
        (keeps_the_first_velocities, "kept from one call"),
        (changes_the_arrays, "changes its input weights"),
        (update_by_torch, "torch"),
    ],
    "tpu.masked_loss": [
        (mean_of_everything, "The fillers count like photographs"),
        (over_the_whole_batch, "divided by all images of the batch"),
        (no_division, "Nothing is divided"),
        (counts_from_one, "One filler too many"),
        (the_other_part, "The fillers' losses are added up"),
        (minus_one_for_fillers, "The fillers are taken away"),
        (over_64, "64 is the size of one lesson's batch"),
        (rounds_down, "rounded down"),
        (whole_loss, "holds integers"),
        (slices, "a slice that ends at count"),
        (chooses, "a choice by truth values"),
        (by_numpy, "NumPy's functions find no values"),
        (decides, "Python's if and while"),
        (counts_in_python, "Python could count or index by"),
        (as_many_places, "nothing may have a size that follows from it"),
        (keeps_the_losses, "belongs to a program that is finished"),
        (sets_to_zero, "changes its input per_image"),
        (mean_by_torch, "torch"),
    ],
}

_REST = (np.zeros(1), np.zeros(1), np.zeros(1), 0.5, 0.5, "one leaf")  # nothing moves
_NOTHING = (np.zeros(5), 4)
_UPDATES = (
    climbs,
    forgets_the_velocity,
    moves_by_the_old_velocity,
    hands_the_old_velocities_on,
    as_pytorch_does,
    averages_the_steps,
    slows_the_gradient,
    goes_back,
    rate_twice,
    first_the_velocities,
    nine_tenths,
    whole_numbers,
)
RIGHT_ON = {  # where what they confuse is one and the same
    **dict.fromkeys(_UPDATES, _REST),
    **dict.fromkeys((the_other_part, rounds_down, whole_loss, over_64), _NOTHING),
}

ALSO_RIGHT = {
    "tpu.sgd_update": [all_in_one_map, by_recursion],
    "tpu.masked_loss": [by_a_product, by_running_sums],
}
