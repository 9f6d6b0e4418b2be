"""Exercise distributed.weighted_average: shards of unlike sizes.

Dense: each wrong idea is a quotient, with something else above or below.
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.data_parallel_by_hand import solutions

Shards = Sequence[tuple[np.ndarray, int]]  # each rank's mean gradient, and its count


def shards(rng: np.random.Generator, ranks: int, size: int, *counts: int) -> Shards:
    """For each rank a gradient [size], all numbers different, and a count; of none, it is nan."""
    drawn = rng.permutation(2 * ranks * size + 1)[: ranks * size] - ranks * size
    found = []
    for gradient, count in zip(drawn.reshape(ranks, size), counts, strict=True):
        found.append((gradient.astype(np.float32) if count else np.full(size, np.nan, "f4"), count))
    return found


def filled(inputs: Shards) -> list[tuple[np.ndarray, int]]:
    """Of those ranks that have photographs."""
    return [(gradient, count) for gradient, count in inputs if count]


def weighted(inputs: Shards) -> np.ndarray:
    """The sum of gradient times count, over the ranks that have any."""
    return sum(gradient * np.float32(count) for gradient, count in filled(inputs))


def photographs(inputs: Shards) -> int:
    """Of all ranks."""
    return sum(count for _, count in inputs)


def everywhere(idea: object) -> object:
    """The same result in all ranks."""
    return lambda inputs: [idea(inputs)] * len(inputs)


def quotient(total: Callable[[Shards], np.ndarray], number: Callable[[Shards], int]) -> object:
    """total(inputs) divided by number(inputs), in all ranks."""
    return everywhere(lambda inputs: total(inputs) / np.float32(number(inputs)))


def sum_of_filled(inputs: Shards) -> np.ndarray:
    """The sum of the gradients, without their counts."""
    return sum(gradient for gradient, _ in filled(inputs))


def by_own_count(inputs: Shards) -> list[np.ndarray]:
    """As if each rank divided by its own count; by 0, it is infinite."""
    with np.errstate(all="ignore"):
        return [weighted(inputs) / np.float32(count) for _, count in inputs]


WRONG_WEIGHTS = dict(
    mean_of_means=quotient(lambda inputs: sum(g for g, _ in inputs), len),
    mean_of_some=quotient(sum_of_filled, lambda inputs: len(filled(inputs))),
    zeros_count=quotient(sum_of_filled, len),
    times_nan=quotient(lambda inputs: sum(g * np.float32(n) for g, n in inputs), photographs),
    undivided=everywhere(weighted),
    of_filled=quotient(weighted, lambda inputs: len(filled(inputs))),
    by_ranks_too=quotient(weighted, lambda inputs: photographs(inputs) * len(inputs)),
    empty_as_one=quotient(weighted, lambda inputs: sum(max(count, 1) for _, count in inputs)),
    squared=quotient(
        lambda inputs: weighted([(gradient * np.float32(n), n) for gradient, n in inputs]),
        photographs,
    ),
    nothing_for_empty=lambda inputs: [
        weighted(inputs) / np.float32(photographs(inputs)) if count else np.zeros_like(gradient)
        for gradient, count in inputs
    ],
    by_ranks=quotient(weighted, len),
    sum_by_count=quotient(sum_of_filled, photographs),
    own_count=by_own_count,
    own_part=lambda inputs: [
        gradient * np.float32(count / photographs(inputs)) if count else np.zeros_like(gradient)
        for gradient, count in inputs
    ],
)

weighted_average = rank_exercise(
    "distributed.weighted_average",
    solution=solutions.weighted_average,
    cases=ranks_cases(
        {
            "three and one": (2, 5, 3, 1),
            "one number": (2, 1, 2, 5),
            "alone": (1, 3, 4),
            "prime": (3, 7, 1, 6, 4),
            "an empty rank": (3, 1, 5, 0, 2),
            "equal shards, the last one empty": (4, 6, 3, 3, 3, 0),  # its nan are all equal
            "equal shards, the first one empty": (3, 4, 0, 7, 7),
            "ragged": (4, 33, 40_000, 30_000, 2, 1),  # more in all than 16 bits hold
        },
        shards,
        types={"prime": "float64"},
        then=[(5, 2, 4)],
    ),
    oracle=quotient(weighted, photographs),
    wrong=WRONG_WEIGHTS,
)
