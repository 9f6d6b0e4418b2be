"""The exercises of lesson 02_tpu/4, training on a TPU: plain functions of arrays."""

import numpy as np

from labkit.checks.cases.common import LIBRARIES
from labkit.checks.lessons import cases_of, exercise
from labkit.checks.traced import traced
from labkit.provenance import counted

# per_image[n], weight[n] of one replica, total weight of all replicas -> terms[n]


def weights_of(rng, n, total, given=lambda value: value) -> tuple:
    """A replica's losses and weights; `total` 0 stands for a replica that has the whole batch."""
    weight = rng.permutation(np.arange(1.0, n + 1)) if n > 1 else np.ones(1)
    return tuple(map(given, (rng.uniform(0.5, 4, n), weight, total or float(weight.sum()))))


loss = exercise(
    "tpu.global_loss",
    oracle=lambda per_image, weight, total: per_image * weight / total,
    cases=cases_of(  # images of this replica, weight of all
        {"prime": (7, 83.0), "all sizes 1": (1, 1.0), "two images": (2, 64.0)}
        | {"one replica": (9, 0), "ragged": (10, 231.0)}
        | {"in the loop": (1, 8.0, traced), "many": (40, 6001.0)},
        weights_of,
    ),
    wrong={
        "mean_of_replica": lambda per_image, weight, total: per_image * weight / len(weight),
        "own_weight": lambda per_image, weight, total: per_image * weight / weight.sum(),
        "fillers_count": lambda per_image, weight, total: per_image / total,
        "not_divided": lambda per_image, weight, total: per_image * weight,
        "divided_twice": lambda p, weight, total: p * weight / total / len(weight),
        "all_images": lambda per_image, weight, total: per_image * weight / 64,
        "added_up": lambda p, weight, total: np.sum(p * weight / total),
        "averaged": lambda p, weight, total: np.mean(p * weight / total),
    },
    outputs=("terms",),
    forbidden=LIBRARIES,
    cost=lambda: [("to send 545,098 gradients", counted(4 * 545_098, "B", "4 B each"))],
)

# means[R,C], variances[R,C] of R replicas with equally many values -> mean[C], variance[C]


def moments(means, variances, between=lambda means: means.var(axis=0)):
    return means.mean(axis=0), variances.mean(axis=0) + between(means)


together = exercise(
    "tpu.synchronised_moments",
    oracle=lambda means, variances: moments(means, variances),
    cases=cases_of(  # replicas, channels
        {"prime": (7, 5), "all sizes 1": (1, 1), "one replica": (1, 6), "one channel": (4, 1)}
        | {"ragged": (3, 17), "eight replicas": (8, 64)},
        lambda rng, R, C: (rng.normal(size=(R, C)), rng.uniform(0.5, 4, (R, C))),
    ),
    wrong={
        "mean_of_variances": lambda m, v: moments(m, v, lambda m: 0),
        "variance_of_means": lambda m, v: moments(m, 0 * v),
        "deviations_averaged": lambda m, v: moments(m, np.sqrt(v).mean(axis=0, keepdims=True) ** 2),
        "one_less": lambda m, v: moments(m, v, lambda m: m.var(axis=0, ddof=1)),
        "square_of_mean": lambda m, v: moments(m, v, lambda m: (m**2).mean(axis=0)),
        "deviation_added": lambda m, v: moments(m, v, lambda m: m.std(axis=0)),
        "swapped": lambda m, v: moments(m, v)[::-1],
    },
    outputs=("mean", "variance"),
    forbidden=LIBRARIES,
)

# order[E,N], finished steps, batch -> rows[batch]


def following(order, step, batch, per_epoch=0, apart=0):
    epoch, place = divmod(step, per_epoch or order.shape[1] // batch)
    return order[epoch, place * (apart or batch) :][:batch]


batches = exercise(
    "tpu.next_batch",
    oracle=lambda order, step, batch: following(order, step, batch),
    cases=cases_of(  # epochs, images, finished steps, batch
        {"prime": (5, 13, 7, 3), "all sizes 1": (1, 1, 0, 1), "ragged": (3, 10, 5, 4)}
        | {"a new epoch": (2, 12, 3, 4), "first epoch": (4, 9, 2, 2), "many": (3, 70, 9, 16)},
        lambda rng, E, N, *given: (rng.permutation(9 * E * N)[: E * N].reshape(E, N), *given),
    ),
    wrong={
        "first_epoch": lambda o, at, n: following(o, at % (o.shape[1] // n), n),
        "epoch_begins_again": lambda o, at, n: following(o, at - at % (o.shape[1] // n), n),
        "remainder_kept": lambda order, step, batch: order.ravel()[step * batch :][:batch],
        "rounded_up": lambda o, at, n: following(o, at, n, -(-o.shape[1] // n)),
        "last_step_again": lambda order, step, batch: following(order, max(step - 1, 0), batch),
        "places_of_one": lambda order, step, batch: following(order, step, batch, apart=1),
        "runs_out": lambda order, step, batch: order[0, step * batch : (step + 1) * batch],
        "one_skipped": lambda order, step, batch: following(order, step + 1, batch),
    },
    outputs=("rows",),
    forbidden=LIBRARIES,
)

EXERCISES = [loss, together, batches]
