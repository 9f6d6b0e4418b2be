"""Exercise distributed.all_gather: the second half of a ring, in which chunks go round.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.the_ring import solutions
from labkit_lessons.distributed.the_ring.exercises.shared import (
    FORBIDDEN,
    SIZES,
    TYPES,
    distinct,
    gathered_bytes,
    ring_cost_limit,
)


def finished(rng: np.random.Generator, ranks: int, length: int) -> list[tuple[np.ndarray, int]]:
    """For each rank its chunk of one tensor, and the tensor's length."""
    return [(part, length) for part in np.array_split(distinct(rng, length), ranks)]


def whole(inputs: Sequence[tuple]) -> np.ndarray:
    """The tensor that the chunks are of."""
    return np.concatenate([part for part, _ in inputs])


def with_chunks(inputs: Sequence[tuple], chosen: Callable[[int], Sequence[int]]) -> list:
    """The tensor in each rank, with 0 where the chunks are none of chosen(rank)."""
    ranks = len(inputs)
    found = []
    for rank in range(ranks):
        parts = [part if k in chosen(rank) else 0 * part for k, (part, _) in enumerate(inputs)]
        found.append(np.concatenate(parts))
    return found


def in_order(inputs: Sequence[tuple], order: Callable[[int], Sequence[int]]) -> list:
    """The chunks in each rank behind each other, in order(rank)."""
    return [
        np.concatenate([inputs[k % len(inputs)][0] for k in order(rank)])
        for rank in range(len(inputs))
    ]


def neighbours_everywhere(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the rank before sent its own chunk in each step; cut or filled up with 0 to fit."""
    found = []
    for rank in range(len(inputs)):
        before = inputs[rank - 1][0]
        parts = []
        for k, (part, _) in enumerate(inputs):
            fits = np.resize(before, len(part)) if len(before) else 0 * part
            parts.append(part if k == rank else fits)
        found.append(np.concatenate(parts))
    return found


def mirrored(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if chunks went against their numbers: chunk r - k stands in the place r + k of rank r."""
    ranks = len(inputs)
    found = []
    for rank in range(ranks):
        parts = [inputs[(2 * rank - k) % ranks][0] for k in range(ranks)]
        fits = [np.resize(one, len(part)) for one, (part, _) in zip(parts, inputs, strict=True)]
        found.append(np.concatenate(fits))
    return found


all_gather = rank_exercise(
    "distributed.all_gather",
    solution=solutions.all_gather,
    cases=ranks_cases(SIZES, finished, TYPES),
    oracle=lambda inputs: [whole(inputs)] * len(inputs),
    wrong={
        "one_step": lambda inputs: with_chunks(inputs, lambda r: (r, (r - 1) % len(inputs))),
        "only_own": lambda inputs: with_chunks(inputs, lambda r: (r,)),
        "one_step_less": lambda inputs: with_chunks(
            inputs, lambda r: [(r - step) % len(inputs) for step in range(max(len(inputs) - 1, 1))]
        ),
        "one_too_early": lambda inputs: with_chunks(inputs, lambda r: range(len(inputs) == 1)),
        "mirrored": mirrored,
        "own_first": lambda inputs: in_order(inputs, lambda r: range(r, r + len(inputs))),
        "by_arrival": lambda inputs: in_order(inputs, lambda r: range(r, r - len(inputs), -1)),
        "neighbours_everywhere": neighbours_everywhere,
    },
    demand=ring_cost_limit(
        steps=lambda ranks: ranks - 1,
        total=lambda traffic: (traffic.ranks - 1) * gathered_bytes(traffic),
        what="In each step, a rank sends a single chunk.",
    ),
    forbidden=FORBIDDEN,
)
