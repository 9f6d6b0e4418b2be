"""Exercise distributed.bytes_per_rank: ZeRO's table, and activations that are computed again."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import hybrid_and_sharded as solutions

Activations = Callable[[np.ndarray, np.ndarray], float]  # of kept and inside


def worst_moment(kept: np.ndarray, inside: np.ndarray) -> int:
    """Of backward: block b is computed again, and the inputs of blocks 0 to b are there."""
    return (np.cumsum(kept) + inside).max()


def all_blocks(kept: np.ndarray, inside: np.ndarray) -> int:
    """Without recomputing: what the blocks make, which has the inputs of the later ones in it."""
    return inside.sum()


def table_and(
    recomputed: Activations = worst_moment,
    first_cut: tuple[int, int, int] = (3, 2, 1),
    each: tuple[int, int, int] = (4, 4, 8),
    stored: Activations = all_blocks,
    cut_alone: bool = False,
    share: Callable[[int, int], float] = lambda size, ranks: size / ranks,
) -> Callable[..., float]:
    """ZeRO's table, each kind cut from some stage on, or in that one alone; and activations.

    share   what a rank holds of the bytes of a weight that are cut
    """

    def idea(weights, ranks, stage, kept, inside, recompute):
        activations = recomputed if recompute else stored
        total = float(activations(kept, inside))
        for first, size in zip(first_cut, each, strict=True):
            cut = stage == first if cut_alone else stage >= first
            total += weights * (share(size, ranks) if cut else size)
        return total

    return idea


def with_activations(change: Callable[..., float]) -> Callable[..., float]:
    """The right table, with change(activations, ranks, stage) for the right activations."""
    right = table_and()

    def idea(weights, ranks, stage, kept, inside, recompute):
        activations = right(0, ranks, stage, kept, inside, recompute)
        both = right(weights, ranks, stage, kept, inside, recompute)
        return both - activations + change(activations, ranks, stage)

    return idea


WRONG_BYTES = {
    "wrong_order": table_and(first_cut=(1, 2, 3)),
    "gradients_first": table_and(first_cut=(3, 1, 2)),
    "gradients_late": table_and(first_cut=(3, 3, 1)),
    "weights_early": table_and(first_cut=(2, 2, 1)),
    "own_kind_alone": table_and(cut_alone=True),
    "one_moment": table_and(each=(4, 4, 4)),
    "mixed_precision": table_and(each=(2, 2, 12)),
    "whole_bytes": table_and(share=lambda size, ranks: size // ranks),
    "never_recomputed": table_and(lambda kept, inside: inside.sum()),
    "always_recomputed": table_and(stored=worst_moment),
    "inputs_stored": table_and(stored=lambda kept, inside: kept.sum()),
    "largest_stored": table_and(stored=lambda kept, inside: inside.max()),
    "last_not_stored": table_and(stored=lambda kept, inside: inside[:-1].sum()),
    "all_moments": table_and(lambda kept, inside: (np.cumsum(kept) + inside).sum()),
    "own_input_alone": table_and(lambda kept, inside: (kept + inside).max()),
    "all_cut": table_and(first_cut=(1, 1, 1)),
    "no_activations": with_activations(lambda *_: 0),
    "activations_cut": with_activations(lambda size, ranks, stage: size / (ranks if stage else 1)),
    "activations_always_cut": with_activations(lambda size, ranks, stage: size / ranks),
    "activations_cut_in_3": with_activations(
        lambda size, ranks, stage: size / (ranks if stage == 3 else 1)
    ),
    "first_input_too": table_and(stored=lambda kept, inside: inside.sum() + kept[0]),
    "inputs_twice": table_and(stored=lambda kept, inside: inside.sum() + kept.sum()),
    "never_inside": table_and(lambda kept, inside: kept.sum()),
    "one_block": table_and(lambda kept, inside: inside.max()),
    "all_inputs": table_and(lambda kept, inside: kept.sum() + inside.max()),
    "all_inside": table_and(lambda kept, inside: kept.sum() + inside.sum()),
    "last_block": table_and(lambda kept, inside: kept.sum() + inside[-1]),
    "own_input_missing": table_and(lambda kept, inside: (np.cumsum(kept) - kept + inside).max()),
    "inputs_behind": table_and(lambda kept, inside: (np.cumsum(kept[::-1])[::-1] + inside).max()),
    "other_order": table_and(lambda kept, inside: (np.cumsum(kept[::-1]) + inside).max()),
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
    oracle=table_and(),
    cases=cases_of(
        {
            "plain data parallel": (4, 0, 3, 0, 0),
            "one block": (1, 3, 1, 0),
            "ZeRO-1": (2, 1, 4, 0, 1),
            "ZeRO-2, recomputed": (8, 2, 6, 1),
            "ZeRO-3": (7, 3, 5, 0),
            "ZeRO-3, recomputed": (64, 3, 32, 1, 3),
            "ZeRO-1, recomputed": (3, 1, 2, 1, 0),
            "no cut, recomputed": (16, 0, 4, 1, 2),
        },
        a_model,
    ),
    wrong=WRONG_BYTES,
    adapter=judged_bytes,
    plain=lambda answer, *inputs: judged_bytes(answer)(*inputs),
    fallback=solutions.bytes_per_rank,
    plain_python=True,
    shown=("kept", "inside"),
    forbidden=(*LIBRARIES, "labkit.distributed.sharded"),
)
