"""Exercise distributed.reduce_scatter: the first half of a ring, in which chunks are added up."""

from collections.abc import Sequence

import numpy as np

from labkit.checks.lesson_files import by_own_name
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.the_ring import solutions
from labkit_lessons.distributed.the_ring.exercises.shared import (
    FORBIDDEN,
    SIZES,
    TYPES,
    chunks_of,
    ring_cost_limit,
    scattered,
    summed,
    tensor_bytes,
    tensors,
)


def next_chunk(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if chunk r left rank r in step 1."""
    parts = scattered(inputs)
    return parts[1:] + parts[:1]


def own_missing(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if what arrives last took the place of the rank's own numbers."""
    own = chunks_of(inputs)
    if len(inputs) == 1:
        return own[0]
    return [part - own[rank][rank] for rank, part in enumerate(scattered(inputs))]


def not_summed(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if every rank sent its own numbers in each step."""
    own = chunks_of(inputs)
    if len(inputs) == 1:
        return own[0]
    return [own[rank][rank] + own[rank - 1][rank] for rank in range(len(inputs))]


def replaced(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if what arrives took the place of the rank's numbers: the next one's go round."""
    own = chunks_of(inputs)
    return [own[(rank + 1) % len(inputs)][rank] for rank in range(len(inputs))]


def backwards(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if chunks went to the rank before: what is added to chunk r never comes to rank r."""
    own = chunks_of(inputs)
    ranks = len(inputs)
    now = [list(parts) for parts in own]
    for step in range(1, ranks):
        sent = [now[rank][(rank - step) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            chunk = (rank - step - 1) % ranks
            arrived = sent[(rank + 1) % ranks]
            if arrived.shape == now[rank][chunk].shape:
                now[rank][chunk] = now[rank][chunk] + arrived
    return [now[rank][rank] for rank in range(ranks)]


def equal_chunks(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the last chunk were the longer one."""
    total = summed(inputs).ravel()
    size = len(total) // len(inputs)
    places = [rank * size for rank in range(1, len(inputs))]
    return np.split(total, places)


def rest_left_out(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if only those numbers were there that make equal chunks."""
    total = summed(inputs).ravel()
    return np.split(total[: len(total) // len(inputs) * len(inputs)], len(inputs))


def last_shorter(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As `torch.chunk` and `split` cut: all chunks but the last ones are equally long."""
    total = summed(inputs).ravel()
    size = max(-(-len(total) // len(inputs)), 1)
    return [total[rank * size : (rank + 1) * size] for rank in range(len(inputs))]


reduce_scatter = rank_exercise(
    "distributed.reduce_scatter",
    solution=solutions.reduce_scatter,
    cases=ranks_cases(SIZES, tensors, TYPES),
    oracle=scattered,
    wrong={
        "next_chunk": next_chunk,
        "own_missing": own_missing,
        "not_summed": not_summed,
        "nothing_added": lambda inputs: [own[r] for r, own in enumerate(chunks_of(inputs))],
        **by_own_name(replaced, equal_chunks, last_shorter, rest_left_out, backwards),
        "averaged": lambda inputs: [part / len(inputs) for part in scattered(inputs)],
    },
    demand=ring_cost_limit(
        steps=lambda ranks: ranks - 1,
        total=lambda traffic: (traffic.ranks - 1) * tensor_bytes(traffic),
        what="In each step, a rank sends a single chunk.",
    ),
    forbidden=FORBIDDEN,
)
