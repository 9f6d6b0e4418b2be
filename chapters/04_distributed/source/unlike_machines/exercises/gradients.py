"""Exercise gradient_and_speeds of lesson unlike_machines: its inputs, oracle and wrong ideas.

Dense: every idea has the same arguments, and is one formula of them.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.judging.traffic import Traffic

Shards = Sequence[tuple[np.ndarray, int, float, int]]  # of each rank: gradient, count, seconds, all
Outcome = Callable[[Shards], list[tuple[np.ndarray, np.ndarray]]]  # of each rank: what it returns
Number = Callable[..., float]
NUMBER = 4  # bytes


def shards(rng: np.random.Generator, ranks: int, size: int, *counts: int) -> Shards:
    """For each rank a gradient [size], its count and its seconds, and the count of all.

    A rank with 0 photographs has a gradient of zeros.
    """
    drawn = rng.permutation(2 * ranks * size + 1)[: ranks * size] - ranks * size
    seconds = rng.permutation(np.arange(1, 8))[:ranks] / 16
    found = []
    for rank, gradient in enumerate(drawn.reshape(ranks, size).astype(np.float32)):
        count = counts[rank]
        found.append((gradient * (count > 0), count, float(seconds[rank]), sum(counts)))
    return found


# The oracle, and ideas that differ from it in one place.


def share(count: int, batch: int) -> float:
    """The weight of a rank's gradient."""
    return count / batch


def per_second(count: int, seconds: float) -> float:
    """The speed of a rank."""
    return count / seconds


def outcome(weight: Number | None = share, speed: Number = per_second) -> Outcome:
    """What all ranks return; a weight of None is that of the plain mean."""

    def both(inputs: Shards) -> list[tuple[np.ndarray, np.ndarray]]:
        ranks = len(inputs)
        mean = _gradient_of_all(inputs, weight or (lambda count, batch: 1 / ranks))
        numbers = [_quietly(speed, n, seconds) for _, n, seconds, _ in inputs]
        return [(mean, np.array(numbers, "f4"))] * ranks

    return both


def _gradient_of_all(inputs: Shards, weight: Number) -> np.ndarray:
    """The sum of weight(count, batch) times gradient."""
    with np.errstate(invalid="ignore"):  # 0 times infinity
        return sum(gradient * _quietly(weight, n, batch) for gradient, n, _, batch in inputs)


def _quietly(function: Number, *numbers: float) -> np.float32:
    """Its result for NumPy's numbers, which may be divided by 0."""
    with np.errstate(divide="ignore"):
        return np.float32(function(*map(np.float64, numbers)))


def changed(change: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Outcome:
    """change(gradient, speeds, rank, own shard) of what is right, in each rank."""

    def both(inputs: Shards) -> list[tuple[np.ndarray, np.ndarray]]:
        right = outcome()(inputs)
        return [change(*right[rank], rank, own) for rank, own in enumerate(inputs)]

    return both


def _own_speed_alone(gradient: np.ndarray, speeds: np.ndarray, rank: int, own: tuple) -> tuple:
    """The others' places stay 0."""
    return gradient, np.where(np.arange(len(speeds)) == rank, speeds, 0)


def _own_part_alone(gradient: np.ndarray, speeds: np.ndarray, rank: int, own: tuple) -> tuple:
    """The gradient has not travelled."""
    mine, count, _, batch = own
    return mine * np.float32(count / batch), speeds


def _sum_everywhere(gradient: np.ndarray, speeds: np.ndarray, rank: int, own: tuple) -> tuple:
    return gradient, np.full_like(speeds, speeds.sum())


def _sum_in_place_0(gradient: np.ndarray, speeds: np.ndarray, rank: int, own: tuple) -> tuple:
    return gradient, np.where(np.arange(len(speeds)) == 0, speeds.sum(), 0)


def _mean(gradient: np.ndarray, speeds: np.ndarray, rank: int, own: tuple) -> tuple:
    return gradient, speeds / np.float32(len(speeds))


def _cut_at_the_wrong_end(gradient: np.ndarray, speeds: np.ndarray, rank: int, own: tuple) -> tuple:
    """Joined as speeds and gradient, and cut as gradient and speeds."""
    joined = np.concatenate([speeds, gradient])
    return joined[: len(gradient)], joined[len(gradient) :]


def speeds_with_batch(speed: Number) -> Outcome:
    """The right gradient, and speed(count, seconds, batch) in place of the speeds."""

    def both(inputs: Shards) -> list[tuple[np.ndarray, np.ndarray]]:
        batch = inputs[0][3]
        return outcome(speed=lambda count, seconds: speed(count, seconds, batch))(inputs)

    return both


WRONG_OUTCOMES: dict[str, Outcome] = {
    "plain_mean": outcome(weight=None),
    "unweighted": outcome(weight=lambda count, batch: 1),
    "by_ranks": lambda inputs: outcome(weight=lambda count, batch: count / len(inputs))(inputs),
    "times_ranks": lambda inputs: outcome(weight=lambda count, batch: count * len(inputs) / batch)(
        inputs
    ),
    "undivided": outcome(weight=lambda count, batch: count),
    "inverse_weight": outcome(weight=lambda count, batch: batch / count),
    "seconds_each": outcome(speed=lambda count, seconds: seconds / count),
    "only_seconds": outcome(speed=lambda count, seconds: seconds),
    "only_counts": outcome(speed=lambda count, seconds: count),
    "steps_per_second": outcome(speed=lambda count, seconds: 1 / seconds),
    "weighted_speeds": speeds_with_batch(lambda n, seconds, batch: n / seconds * n / batch),
    "shares_for_speeds": speeds_with_batch(lambda n, seconds, batch: n / batch),
    "speeds_by_batch": speeds_with_batch(lambda n, seconds, batch: n / seconds / batch),
    "batch_per_second": speeds_with_batch(lambda n, seconds, batch: batch / seconds),
    "own_alone": changed(_own_speed_alone),
    "all_alike": changed(_sum_everywhere),
    "all_in_place_0": changed(_sum_in_place_0),
    "mean_speeds": changed(_mean),
    "own_share": changed(_own_part_alone),
    "cut_at_the_wrong_end": changed(_cut_at_the_wrong_end),
}


# What it may cost.


def one_small_all_reduce(traffic: Traffic) -> str | None:
    """What is wrong where right results take several all-reduces, or one that is too large."""
    if traffic.ranks == 1:
        return None
    return _no_all_reduce(traffic) or _several(traffic) or _too_large(traffic)


def _no_all_reduce(traffic: Traffic) -> str | None:
    """Chunks of an all-reduce are short; gathered numbers are sent whole."""
    numbers = len(traffic.inputs[0][0]) + traffic.ranks
    chunk = NUMBER * math.ceil(numbers / traffic.ranks)
    gathered = [call.name for call in traffic.collectives if call.name != "all_reduce"]
    if gathered or max((m.bytes for m in traffic.messages), default=0) > 2 * chunk:
        name = gathered[0] if gathered else "this"
        return (
            f"The result is right, but {name} sends every rank's numbers whole to others: an "
            "all-reduce sums them on their way."
        )
    return None


def _several(traffic: Traffic) -> str | None:
    around = 2 * (traffic.ranks - 1)  # messages of each rank in a ring
    by_rank = [sum(m.source == rank for m in traffic.messages) for rank in range(traffic.ranks)]
    calls = len(traffic.collectives) + math.ceil(max(by_rank) / around)
    if calls > 1:
        return (
            f"The result is right, but it takes {counted(calls, 'all-reduce')}: let the speeds "
            "travel behind the gradient, in one tensor."
        )
    return None


def _too_large(traffic: Traffic) -> str | None:
    """As if the gradient were there twice, or the numbers were wider."""
    gradient = len(traffic.inputs[0][0])
    numbers = gradient + traffic.ranks
    needed = NUMBER * numbers
    too_large = needed + NUMBER * gradient if gradient > traffic.ranks else 2 * needed
    around = 2 * (traffic.ranks - 1)  # times that a ring carries the whole tensor
    used = traffic.bytes // around + sum(one.bytes for one in traffic.collectives)
    if used >= too_large:
        return (
            f"The result is right, but the all-reduce is of {used:,} B, where {needed:,} B are "
            f"enough: {numbers} numbers of float32, each of them once."
        )
    return None
