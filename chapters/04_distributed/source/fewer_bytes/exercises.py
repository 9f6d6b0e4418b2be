"""The exercises of lesson fewer_bytes: the largest numbers, and local steps."""

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic
from labkit_lessons.distributed.fewer_bytes import solutions

# --- distributed.top_k

Gradients = Sequence[tuple[np.ndarray, np.ndarray, int]]  # each rank's gradient, error and k
BYTES = 8  # of a float32 and of a place


def gradients(rng: np.random.Generator, ranks: int, size: int, k: int, zeros: int = 0) -> Gradients:
    """For each rank a gradient and an error [size], of both signs; all |sums| are different.

    zeros   so many numbers of both are 0: where more than size - k are, some travel, whichever
    """
    found = []
    for _ in range(ranks):
        gradient, error = _pair(rng, size)
        if zeros:
            places = rng.permutation(size)[:zeros]
            gradient[places] = error[places] = 0
        found.append((gradient, error, k))
    return found


def _pair(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Quarters of whole numbers: their sums are exact."""
    while True:
        drawn = rng.choice(2**16, 2 * size, replace=False) - 2**15
        gradient, error = drawn.reshape(2, size).astype(np.float32) / 4
        if len(np.unique(np.abs(gradient + error))) == size:
            return gradient, error


def largest(x: np.ndarray, k: int, by: Callable[[np.ndarray], np.ndarray] = np.abs) -> np.ndarray:
    """x with all but its k largest numbers set to 0."""
    found = np.zeros_like(x)
    places = np.argsort(by(x))[len(x) - k :]
    found[places] = x[places]
    return found


def mean_of(sent: Sequence[np.ndarray]) -> np.ndarray:
    """Over the ranks."""
    return sum(sent) / np.float32(len(sent))


def outcome(
    inputs: Gradients,
    sent: Callable[..., np.ndarray] = lambda gradient, error, k: largest(gradient + error, k),
    kept: Callable[..., np.ndarray] = lambda gradient, error, sent, mean: gradient + error - sent,
    mean: Callable[[Sequence[np.ndarray]], np.ndarray] = mean_of,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What all ranks return; each argument may be replaced by a wrong idea of it."""
    all_sent = [sent(*one) for one in inputs]
    total = mean(all_sent)
    pairs = zip(inputs, all_sent, strict=True)
    return [(total, kept(gradient, error, own, total)) for (gradient, error, _), own in pairs]


def at_own_places(inputs: Gradients) -> list[tuple[np.ndarray, np.ndarray]]:
    """As if a rank put all values that arrive at the places of its own ones."""
    found = []
    wanted = [gradient + error for gradient, error, _ in inputs]
    orders = [np.argsort(-np.abs(x))[:k] for x, (_, _, k) in zip(wanted, inputs, strict=True)]
    values = [x[places] for x, places in zip(wanted, orders, strict=True)]
    for x, places in zip(wanted, orders, strict=True):
        mean = np.zeros_like(x)
        mean[places] = mean_of(values)
        found.append((mean, x - largest(x, len(places))))
    return found


WRONG_TOP_K = SimpleNamespace(
    error_unused=lambda inputs: outcome(
        [(gradient, np.zeros_like(error), k) for gradient, error, k in inputs]
    ),
    signed=lambda inputs: outcome(inputs, lambda g, e, k: largest(g + e, k, by=lambda x: x)),
    by_gradient=lambda inputs: outcome(
        inputs, lambda g, e, k: np.where(largest(np.abs(g), k) > 0, g + e, 0)
    ),
    summed=partial(outcome, mean=sum),
    one_more=lambda inputs: outcome(
        inputs,
        lambda g, e, k: largest(g + e, min(k + 1, len(g))),
    ),
    one_less=lambda inputs: outcome(inputs, lambda g, e, k: largest(g + e, max(k - 1, 1))),
    smallest=lambda inputs: outcome(
        inputs, lambda g, e, k: largest(g + e, k, by=lambda x: -np.abs(x))
    ),
    magnitudes=lambda inputs: outcome(
        inputs,
        lambda g, e, k: np.abs(largest(g + e, k)),
        kept=lambda g, e, sent, mean: np.where(sent == 0, g + e, 0),
    ),
    values_of_gradient=lambda inputs: outcome(
        inputs,
        lambda g, e, k: np.where(largest(g + e, k) != 0, g, 0),
        kept=lambda g, e, sent, mean: np.where(sent == 0, g + e, 0),
    ),
    halved=partial(outcome, mean=lambda sent: sum(sent) / np.float32(2)),
    by_k=lambda inputs: outcome(
        inputs,
        mean=lambda sent: sum(sent) / np.float32(inputs[0][2]),
    ),
    own_only=lambda inputs: [(largest(g + e, k), g + e - largest(g + e, k)) for g, e, k in inputs],
    at_own_places=at_own_places,
    everything=lambda inputs: outcome(
        inputs, mean=lambda _: mean_of([g + e for g, e, _ in inputs])
    ),
    nothing_kept=partial(outcome, kept=lambda g, e, sent, mean: np.zeros_like(g)),
    without_old_error=partial(outcome, kept=lambda g, e, sent, mean: g - sent),
    gradient_elsewhere=partial(
        outcome,
        kept=lambda g, e, sent, mean: np.where(sent == 0, g, 0),
    ),
    kept_from_mean=partial(outcome, kept=lambda g, e, sent, mean: g + e - mean),
    sent_is_kept=partial(outcome, kept=lambda g, e, sent, mean: sent),
)


def only_the_largest(traffic: Traffic) -> str | None:
    """What is wrong where right results cost more than k values and k places from each rank."""
    k = traffic.inputs[0][2]
    others = traffic.ranks - 1
    by_torch = others * sum(call.bytes for call in traffic.collectives)  # to each of the others
    sent = traffic.most_sent + by_torch
    if others and sent == others * k * (BYTES + 4):
        return (
            "The result is right, but the places travel in 8 bytes each, as `topk` gives them: "
            "`.int()` makes 4 of them."
        )
    if sent > others * k * BYTES:
        wanted = np.sort(np.abs(sum(traffic.inputs[0][:2])))[::-1]
        tied = k < len(wanted) and wanted[k] == wanted[k - 1]
        cure = "of equal magnitudes, k travel at most." if tied else "gather only what is sent."
        return (
            f"The result is right, but one rank sends {sent:,} bytes, where {counted(k, 'value')} "
            f"and as many places for {counted(others, 'rank')} have {others * k * BYTES:,}: "
            f"{cure}"
        )
    return None


top_k = rank_exercise(
    "distributed.top_k",
    solution=solutions.top_k,
    cases=ranks_cases(
        {
            "two of five": (2, 5, 2),
            "one number": (1, 1, 1),
            "alone": (1, 9, 4),
            "prime": (3, 7, 1),
            "all of them": (2, 6, 6),
            "many": (4, 60, 5),
            "places above 255": (2, 300, 5),
            "equal magnitudes": (2, 9, 4, 7),
        },
        gradients,
    ),
    oracle=outcome,
    wrong=vars(WRONG_TOP_K),
    results=("mean", "error"),
    demand=only_the_largest,
    forbidden=("labkit.distributed.compression",),
)

# --- distributed.local_sgd

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


WRONG_LOCAL = SimpleNamespace(
    alone=lambda inputs: trained(inputs, lambda step, every, steps: False),
    every_step=lambda inputs: trained(inputs, lambda step, every, steps: True),
    only_at_the_end=lambda inputs: trained(inputs, lambda step, every, steps: step == steps - 1),
    and_at_the_end=lambda inputs: trained(
        inputs, lambda step, every, steps: (step + 1) % every == 0 or step == steps - 1
    ),
    too_early=lambda inputs: trained(inputs, lambda step, every, steps: step % every == 0),
    before_the_step=lambda inputs: trained(
        inputs, lambda step, every, steps: step % every == 0, before=True
    ),
    once=lambda inputs: trained(inputs, lambda step, every, steps: step + 1 == every),
    summed=partial(trained, average=sum),
    uphill=partial(trained, slope=-1.0),
    of_rank_0=partial(trained, average=lambda weights: weights[0]),
    every_second=lambda inputs: trained(inputs, lambda step, every, steps: step % 2 == 1),
    last_step_missing=lambda inputs: trained(
        [(w, x[:-1], y[:-1], rate, every) for w, x, y, rate, every in inputs]
    ),
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
            "two meetings": (2, 3, 4, 2),
            "one number": (1, 1, 1, 1),
            "each step": (2, 4, 3, 1),
            "prime": (3, 5, 7, 3),
            "no meeting": (2, 2, 3, 5),
            "many": (4, 6, 12, 4),
        },
        shards,
        types={"prime": "float64"},
    ),
    oracle=trained,
    wrong=vars(WRONG_LOCAL),
    results=("w",),
    demand=one_all_reduce_for_all,
    forbidden=("labkit_lessons.distributed.fewer_bytes.local_sgd",),
    rtol=1e-3,
    atol=1e-5,
)

EXERCISES = [top_k, local_sgd]
