"""Exercise distributed.local_sgd: steps alone, and a mean of the weights now and then."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import Traffic
from labkit_lessons.distributed.fewer_bytes import solutions
from labkit_lessons.distributed.fewer_bytes.exercises.top_k import mean_of

Shards = Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, float, int]]


def shards(rng: np.random.Generator, ranks: int, weights: int, steps: int, every: int) -> Shards:
    """w [weights], the same for all ranks; for each x [steps, weights] and y [steps]."""
    w = rng.normal(size=weights).astype(np.float32)
    rate = float(rng.uniform(0.05, 0.15))
    found = []
    for _ in range(ranks):
        x = rng.normal(size=(steps, weights)).astype(np.float32)
        y = 3 * rng.normal(size=steps).astype(np.float32)
        found.append((w, x, y, rate, every))
    return found


def trained(
    inputs: Shards,
    meets: Callable[[int, int, int], bool] = lambda step, every, steps: (step + 1) % every == 0,
    before: bool = False,
    average: Callable[[Sequence[np.ndarray]], np.ndarray] = mean_of,
    slope: float = 1.0,
) -> list[np.ndarray]:
    """The weights of all ranks; the arguments may be wrong ideas.

    meets   meets(step, every, steps): whether the ranks average in this step
    before  whether they do so before it
    """
    weights = [w.copy() for w, *_ in inputs]
    steps = len(inputs[0][2])
    for step in range(steps):
        due = meets(step, inputs[0][4], steps)
        if due and before:
            weights = [average(weights)] * len(inputs)
        weights = [_stepped(w, one, step, slope) for w, one in zip(weights, inputs, strict=True)]
        if due and not before:
            weights = [average(weights)] * len(inputs)
    return weights


def _stepped(w: np.ndarray, one: tuple, step: int, slope: float) -> np.ndarray:
    _, x, y, rate, _ = one
    return w - np.float32(slope * rate) * (x[step] @ w - y[step]) * x[step]


def gradients_averaged(inputs: Shards) -> list[np.ndarray]:
    """As if the mean were one of the gradients, where the ranks meet."""
    weights = [w.copy() for w, *_ in inputs]
    for step in range(len(inputs[0][2])):
        slopes = [
            (x[step] @ w - y[step]) * x[step]
            for w, (_, x, y, *_) in zip(weights, inputs, strict=True)
        ]
        if (step + 1) % inputs[0][4] == 0:
            slopes = [mean_of(slopes)] * len(inputs)
        rate = np.float32(inputs[0][3])
        weights = [w - rate * one for w, one in zip(weights, slopes, strict=True)]
    return weights


def from_the_first_weights(inputs: Shards) -> list[np.ndarray]:
    """As if each gradient were that at the weights that were given."""
    fixed = []
    for w, x, y, rate, every in inputs:
        slopes = (x @ w - y)[:, None] * x
        fixed.append((w, slopes, rate, every))
    weights = [w.copy() for w, *_ in fixed]
    for step in range(len(inputs[0][2])):
        weights = [
            w - np.float32(rate) * slopes[step]
            for w, (_, slopes, rate, _) in zip(weights, fixed, strict=True)
        ]
        if (step + 1) % inputs[0][4] == 0:
            weights = [mean_of(weights)] * len(inputs)
    return weights


WRONG_LOCAL = dict(
    alone=partial(trained, meets=lambda step, every, steps: False),
    every_step=partial(trained, meets=lambda step, every, steps: True),
    only_at_the_end=partial(trained, meets=lambda step, every, steps: step == steps - 1),
    and_at_the_end=partial(
        trained, meets=lambda step, every, steps: (step + 1) % every == 0 or step == steps - 1
    ),
    too_early=partial(trained, meets=lambda step, every, steps: step % every == 0),
    before_the_step=partial(
        trained, meets=lambda step, every, steps: step % every == 0, before=True
    ),
    once=partial(trained, meets=lambda step, every, steps: step + 1 == every),
    summed=partial(trained, average=sum),
    uphill=partial(trained, slope=-1.0),
    of_rank_0=partial(trained, average=lambda weights: weights[0]),
    every_second=partial(trained, meets=lambda step, every, steps: step % 2 == 1),
    last_step_missing=lambda inputs: trained(
        [(w, x[:-1], y[:-1], rate, every) for w, x, y, rate, every in inputs]
    ),
    first_step_missing=lambda inputs: trained(
        [(w, np.r_[0 * x[:1], x[1:]], y, rate, every) for w, x, y, rate, every in inputs]
    ),
    every_meetings=partial(
        trained, meets=lambda step, every, steps: (step + 1) % max(steps // every, 1) == 0
    ),
    one_too_early=partial(trained, meets=lambda step, every, steps: (step + 2) % every == 0),
    gradients_averaged=gradients_averaged,
    from_the_first_weights=from_the_first_weights,
    by_every=lambda inputs: trained(
        inputs, average=lambda weights: sum(weights) / np.float32(inputs[0][4])
    ),
    rate_by_every=lambda inputs: trained(inputs, slope=1 / inputs[0][4]),
    rate_by_ranks=lambda inputs: trained(inputs, slope=1 / len(inputs)),
    halved=partial(trained, average=lambda weights: sum(weights) / np.float32(2)),
)


def one_all_reduce_for_all(traffic: Traffic) -> str | None:
    """What is wrong where right results cost more than an all-reduce in each `every` steps."""
    w, _, y, _, every = traffic.inputs[0]
    meetings = len(y) // every
    if traffic.ranks > 1 and len(traffic.collectives) > meetings:
        return (
            f"The result is right, but the ranks call {counted(len(traffic.collectives), 'time')} "
            f"what they need {counted(meetings, 'time')}: once in {every} steps."
        )
    enough = meetings * 2 * (traffic.ranks - 1) * (w.nbytes / traffic.ranks + w.itemsize)
    if traffic.most_sent > enough:
        return (
            f"The result is right, but one rank sends {traffic.most_sent:,} bytes: more than "
            f"{counted(meetings, 'all-reduce')} of the weights, one in {every} steps."
        )
    most = meetings * 2 * traffic.ranks * (traffic.ranks - 1)  # of a ring
    if len(traffic.messages) > most:
        return (
            f"The result is right, but {counted(len(traffic.messages), 'message')} went between "
            f"the ranks, where {most} would do: one all-reduce of all weights in {every} steps."
        )
    return None


local_sgd = rank_exercise(
    "distributed.local_sgd",
    solution=solutions.local_sgd,
    cases=ranks_cases(
        {
            "two meetings": (2, 3, 5, 2),
            "one number": (1, 1, 1, 1),
            "each step": (2, 4, 3, 1),
            "prime": (3, 5, 7, 3),
            "no meeting": (2, 2, 3, 5),
            "many": (4, 6, 12, 4),
        },
        shards,
        types={"prime": "float64"},
        then=[(3, 5, 3)],
    ),
    oracle=trained,
    wrong=WRONG_LOCAL,
    results=("w",),
    demand=one_all_reduce_for_all,
    forbidden=("labkit_lessons.distributed.fewer_bytes.local_sgd",),
    rtol=1e-3,
    atol=1e-5,
)
