"""Exercise distributed.top_k: the largest numbers, and what is kept of the others.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import Traffic
from labkit_lessons.distributed.fewer_bytes import solutions

Gradients = Sequence[tuple[np.ndarray, np.ndarray, int]]  # each rank's gradient, error and k
BYTES = 8  # of a float32 and of a place


def gradients(rng: np.random.Generator, ranks: int, size: int, k: int, zeros: int = 0) -> Gradients:
    """For each rank a gradient and an error [size], of both signs; all |sums| are different.

    zeros   so many numbers of both are 0, at the same places in all ranks: where more than
            size - k are, some travel, whichever
    """
    found = []
    places = rng.permutation(size)[:zeros]
    for _ in range(ranks):
        gradient, error = _pair(rng, size)
        gradient[places] = error[places] = 0
        found.append((gradient, error, k))
    return found


def _pair(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Quarters of whole numbers: their sums are exact.

    Of very many, the largest magnitudes stand at places that 16 bits do not hold.
    """
    if size > 2**16:
        order = rng.permutation(size - 2)
        order = np.insert(order, [40_000, size - 1_000], [size - 2, size - 1])
        wanted = (order + 1).astype(np.float32) * rng.choice([-1, 1], size).astype(np.float32) / 4
        return 3 * wanted, -2 * wanted
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


def overwritten(sent: Sequence[np.ndarray]) -> np.ndarray:
    """As if of several numbers for a place the last rank's stayed alone."""
    mean = np.zeros_like(sent[0])
    for one in sent:
        mean = np.where(one != 0, one / np.float32(len(sent)), mean)
    return mean


def over_the_senders(sent: Sequence[np.ndarray]) -> np.ndarray:
    """As if each place were divided by how many ranks send it."""
    return sum(sent) / np.maximum(sum((one != 0).astype(np.float32) for one in sent), 1)


def in_16_bits(gradient: np.ndarray, error: np.ndarray, k: int) -> np.ndarray:
    """As if each number came to the place that 16 bits say, with a sign."""
    wanted = largest(gradient + error, k)
    found = np.zeros_like(wanted)
    places = np.flatnonzero(wanted)
    np.add.at(found, places.astype(np.int16), wanted[places])
    return found


WRONG_TOP_K = dict(
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
    overwritten=partial(outcome, mean=overwritten),
    over_the_senders=partial(outcome, mean=over_the_senders),
    in_16_bits=lambda inputs: outcome(
        inputs,
        in_16_bits,
        kept=lambda g, e, sent, mean: g + e - largest(g + e, inputs[0][2]),
    ),
    zero_where_sent=partial(
        outcome, kept=lambda g, e, sent, mean: np.where(mean != 0, 0, g + e).astype(np.float32)
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
            "The result is right, but the values or the places travel in 8 bytes each: `topk` "
            "gives places in 8 bytes, and `.int()` makes 4 of them."
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
    by_rank = [sum(one.source == rank for one in traffic.messages) for rank in range(traffic.ranks)]
    gathers = len(traffic.collectives) + math.ceil(max(by_rank) / max(others, 1))
    if others and gathers > 2:
        return (
            f"The result is right, but it takes {counted(gathers, 'gather')}: all values travel in "
            "one, and all places in another."
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
            "places above 65,535": (2, 70_000, 5),
            "equal magnitudes": (2, 9, 4, 7),
        },
        gradients,
        then=[(5, 1)],
    ),
    oracle=outcome,
    wrong=WRONG_TOP_K,
    results=("mean", "error"),
    demand=only_the_largest,
    forbidden=("labkit.distributed.gradients.compression",),
)
