"""Exercise distributed.ring_all_reduce: both halves, one after the other."""

from collections.abc import Sequence

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.the_ring import solutions
from labkit_lessons.distributed.the_ring.exercises.shared import (
    FORBIDDEN,
    chunks_of,
    ring_cost_limit,
    scattered,
    summed,
    tensor_bytes,
    tensors,
)


def everywhere(total: np.ndarray, inputs: Sequence[tuple]) -> list[np.ndarray]:
    """The same in every rank."""
    return [total] * len(inputs)


def partial(inputs: Sequence[tuple], rank: int, chunk: int, start: int = 1) -> np.ndarray:
    """What a rank has as a chunk after the first half; chunk k leaves rank k + start first."""
    parts = chunks_of(inputs)
    ranks = len(inputs)
    passed = [(chunk + start + k) % ranks for k in range((rank - chunk - start) % ranks + 1)]
    return sum(parts[one][chunk] for one in passed)


def last_step_missing(inputs: Sequence[tuple], start: int) -> list[np.ndarray]:
    """As if the last chunk did not come any more; start as above."""
    ranks = len(inputs)
    found = []
    for rank in range(ranks):
        parts = np.array_split(summed(inputs).ravel(), ranks)
        late = (rank + 2 - start) % ranks
        parts[late] = partial(inputs, rank, late, start)
        found.append(np.concatenate(parts).reshape(inputs[0][0].shape))
    return found


def last_sum_missing(inputs: Sequence[tuple], start: int) -> list[np.ndarray]:
    """As if the rank that a chunk comes to last did not add its own numbers; start as above."""
    ranks = len(inputs)
    parts = np.array_split(summed(inputs).ravel(), ranks)
    own = chunks_of(inputs)
    if ranks > 1:
        parts = [part - own[(k + start - 1) % ranks][k] for k, part in enumerate(parts)]
    return everywhere(np.concatenate(parts).reshape(inputs[0][0].shape), inputs)


def half(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if there were no second half."""
    ranks = range(len(inputs))
    shape = inputs[0][0].shape
    return [np.concatenate([partial(inputs, r, k) for k in ranks]).reshape(shape) for r in ranks]


def twice(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the second half added what arrives."""
    ranks = len(inputs)
    now = [[partial(inputs, rank, chunk) for chunk in range(ranks)] for rank in range(ranks)]
    for step in range(1, ranks):
        sent = [now[rank][(rank - step + 1) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            chunk = (rank - step) % ranks
            now[rank][chunk] = now[rank][chunk] + sent[rank - 1]
    return [np.concatenate(row).reshape(inputs[0][0].shape) for row in now]


def only_its_chunk(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the chunk of the sum were written into a tensor of zeros."""
    parts = scattered(inputs)
    return [
        np.concatenate([part if k == rank else 0 * part for k, part in enumerate(parts)]).reshape(
            inputs[0][0].shape
        )
        for rank in range(len(inputs))
    ]


def neighbour_only(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """The sum of two ranks."""
    if len(inputs) == 1:
        return [inputs[0][0]]
    return [inputs[rank][0] + inputs[rank - 1][0] for rank in range(len(inputs))]


ring_all_reduce = rank_exercise(
    "distributed.ring_all_reduce",
    solution=solutions.ring_all_reduce,
    cases=ranks_cases(
        {
            "one number": (1, 1),
            "two ranks": (2, 5),
            "three ranks": (3, 2, 4),
            "four ranks": (4, 5, 1, 3),
            "fewer numbers than ranks": (4, 2, 1),
            "a few long rows": (3, 4, 41, 1),
            "no numbers": (2, 0, 2, 5),
        },
        tensors,
        types={"three ranks": "float64", "four ranks": "int64"},
    ),
    oracle=lambda inputs: everywhere(summed(inputs), inputs),
    wrong={
        "own_only": lambda inputs: [x for (x,) in inputs],
        "averaged": lambda inputs: everywhere(summed(inputs) / len(inputs), inputs),
        "half": half,
        "twice": twice,
        "last_step_missing": lambda inputs: last_step_missing(inputs, start=1),
        "last_step_missing_of_textbooks": lambda inputs: last_step_missing(inputs, start=0),
        "last_sum_missing": lambda inputs: last_sum_missing(inputs, start=1),
        "last_sum_missing_of_textbooks": lambda inputs: last_sum_missing(inputs, start=0),
        "neighbour_only": neighbour_only,
        "only_its_chunk": only_its_chunk,
        "gathers_x": lambda inputs: everywhere(
            np.concatenate([own[rank] for rank, own in enumerate(chunks_of(inputs))]).reshape(
                inputs[0][0].shape
            ),
            inputs,
        ),
        "the_tutorials": lambda inputs: [x * (1 + (len(inputs) - 1) // 2) for (x,) in inputs],
    },
    demand=ring_cost_limit(
        steps=lambda ranks: 2 * (ranks - 1),
        total=lambda traffic: 2 * (traffic.ranks - 1) * tensor_bytes(traffic),
        what="A ring of whole tensors sends n (n - 1) S, and one with chunks 2 (n - 1) S.",
    ),
    forbidden=FORBIDDEN,
)
