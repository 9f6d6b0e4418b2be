"""Exercise distributed.bytes_per_rank: ZeRO's table, and activations that are computed again."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import hybrid_and_sharded as solutions


def table_and(
    activations: Callable[[np.ndarray, np.ndarray], float],
    first_cut: tuple[int, int, int] = (3, 2, 1),
    each: tuple[int, int, int] = (4, 4, 8),
) -> Callable[..., float]:
    """ZeRO's table, each kind cut from some stage on, and recomputed activations(kept, inside)."""

    def idea(weights, ranks, stage, kept, inside, recompute):
        total = float(activations(kept, inside) if recompute else inside.sum())
        for first, size in zip(first_cut, each, strict=True):
            total += weights * size / (ranks if stage >= first else 1)
        return total

    return idea


def worst_moment(kept: np.ndarray, inside: np.ndarray) -> int:
    """Of backward: block b is computed again, and the inputs of blocks 0 to b are there."""
    return (np.cumsum(kept) + inside).max()


def with_activations(change: Callable[..., float]) -> Callable[..., float]:
    """The right table, with change(activations, ranks, stage) for the right activations."""
    right = table_and(worst_moment)

    def idea(weights, ranks, stage, kept, inside, recompute):
        activations = right(0, ranks, stage, kept, inside, recompute)
        both = right(weights, ranks, stage, kept, inside, recompute)
        return both - activations + change(activations, ranks, stage)

    return idea


WRONG_BYTES = {
    "wrong_order": table_and(worst_moment, first_cut=(1, 2, 3)),
    "gradients_first": table_and(worst_moment, first_cut=(3, 1, 2)),
    "one_moment": table_and(worst_moment, each=(4, 4, 4)),
    "all_cut": table_and(worst_moment, first_cut=(1, 1, 1)),
    "no_activations": with_activations(lambda *_: 0),
    "activations_cut": with_activations(lambda size, ranks, stage: size / (ranks if stage else 1)),
    "never_inside": table_and(lambda kept, inside: kept.sum()),
    "one_block": table_and(lambda kept, inside: inside.max()),
    "all_inputs": table_and(lambda kept, inside: kept.sum() + inside.max()),
    "all_inside": table_and(lambda kept, inside: kept.sum() + inside.sum()),
    "last_block": table_and(lambda kept, inside: kept.sum() + inside[-1]),
}


def judged_bytes(answer: object) -> Callable:
    """A function of the inputs whose result is a float; Refused where the answer gives none."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(*inputs: Any) -> float:
        result = answer(*inputs)
        if result is None:
            raise Unsolved("the function returns None")
        try:
            return float(result)
        except (TypeError, ValueError):
            raise Refused("The result is one number: bytes.") from None

    return judged


def a_model(
    rng: np.random.Generator, ranks: int, stage: int, blocks: int, recompute: int, worst: int = -1
) -> tuple:
    """A multiple of the ranks as weights, and unlike blocks; `worst` makes the most."""
    weights = ranks * int(rng.integers(50, 5000))
    kept = 4 * (5 + rng.permutation(60)[:blocks])
    inside = 4 * (200 + rng.permutation(60)[:blocks])
    inside[worst] += 8 * kept.sum()
    return weights, ranks, stage, kept, inside, bool(recompute)


bytes_per_rank = exercise(
    "distributed.bytes_per_rank",
    oracle=table_and(worst_moment),
    cases=cases_of(
        {
            "plain data parallel": (4, 0, 3, 0),
            "one block": (1, 3, 1, 0),
            "ZeRO-1": (2, 1, 4, 0),
            "ZeRO-2, recomputed": (8, 2, 6, 1),
            "ZeRO-3": (7, 3, 5, 0),
            "ZeRO-3, recomputed": (64, 3, 32, 1, 3),
            "ZeRO-1, recomputed": (3, 1, 2, 1, 0),
            "no cut, recomputed": (16, 0, 9, 1, 4),
        },
        a_model,
    ),
    wrong=WRONG_BYTES,
    adapter=judged_bytes,
    plain=lambda answer, *inputs: judged_bytes(answer)(*inputs),
    fallback=solutions.bytes_per_rank,
    plain_python=True,
    forbidden=(*LIBRARIES, "labkit.distributed.sharded"),
)
