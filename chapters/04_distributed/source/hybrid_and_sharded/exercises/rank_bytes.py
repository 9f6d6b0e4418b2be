"""Exercise distributed.bytes_per_rank: ZeRO's table, and activations, which no stage cuts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.hybrid_and_sharded import solutions


def table_and(
    first_cut: tuple[int, int, int] = (3, 2, 1),
    each: tuple[int, int, int] = (4, 4, 8),
    held: Callable[[np.ndarray, int, int], float] = lambda sizes, ranks, stage: sizes.sum(),
    cut_alone: bool = False,
    share: Callable[[int, int], float] = lambda size, ranks: size / ranks,
) -> Callable[..., float]:
    """ZeRO's table, each kind cut from some stage on, or in that one alone; and activations.

    held    what a rank has of the bytes of each block's activations
    share   what a rank holds of the bytes of a weight that are cut
    """

    def idea(weights, ranks, stage, activations):
        total = float(held(activations, ranks, stage))
        for first, size in zip(first_cut, each, strict=True):
            cut = stage == first if cut_alone else stage >= first
            total += weights * (share(size, ranks) if cut else size)
        return total

    return idea


def in_hundredths(weights: int, ranks: int, stage: int, activations: np.ndarray) -> float:
    """As if the bytes of one weight were rounded to two places."""
    each = table_and()(weights, ranks, stage, 0 * activations) / weights
    return weights * round(each, 2) + float(activations.sum())


WRONG_BYTES = {
    "wrong_order": table_and(first_cut=(1, 2, 3)),
    "gradients_first": table_and(first_cut=(3, 1, 2)),
    "gradients_late": table_and(first_cut=(3, 3, 1)),
    "weights_early": table_and(first_cut=(2, 2, 1)),
    "own_kind_alone": table_and(cut_alone=True),
    "one_moment": table_and(each=(4, 4, 4)),
    "mixed_precision": table_and(each=(2, 2, 12)),
    "whole_bytes": table_and(share=lambda size, ranks: size // ranks),
    "in_hundredths": in_hundredths,
    "all_cut": table_and(first_cut=(1, 1, 1)),
    "weights_never_cut": table_and(first_cut=(4, 2, 1)),
    "moments_never_cut": table_and(first_cut=(3, 2, 4)),
    "others_share": table_and(share=lambda size, ranks: size - size / ranks),
    "count_of_blocks": table_and(held=lambda sizes, ranks, stage: len(sizes)),
    "largest_block": table_and(held=lambda sizes, ranks, stage: sizes.max()),
    "mean_block": table_and(held=lambda sizes, ranks, stage: sizes.mean()),
    "activations_as_numbers": table_and(held=lambda sizes, ranks, stage: 4 * sizes.sum()),
    "no_activations": table_and(held=lambda *_: 0),
    "activations_cut": table_and(
        held=lambda sizes, ranks, stage: sizes.sum() / (ranks if stage else 1)
    ),
    "activations_always_cut": table_and(held=lambda sizes, ranks, stage: sizes.sum() / ranks),
    "activations_cut_in_3": table_and(
        held=lambda sizes, ranks, stage: sizes.sum() / (ranks if stage == 3 else 1)
    ),
}


def judged_bytes(answer: object) -> Callable:
    """A function of the inputs whose result is a float; Refused where the answer gives none."""
    refuse_no_function(answer)

    def judged(*inputs: Any) -> float:
        result = answer(*inputs)
        if result is None:
            raise Unsolved("the function returns None")
        try:
            return float(result)
        except (TypeError, ValueError):
            raise Refused("The result is one number: bytes.") from None

    return judged


def a_model(rng: np.random.Generator, ranks: int, stage: int, blocks: int) -> tuple:
    """Multiples of the ranks as weights, odd where these are; activations of unlike blocks."""
    weights = ranks * (int(rng.integers(50, 5000)) | ranks % 2)
    return weights, ranks, stage, 4 * (200 + rng.permutation(6000)[:blocks])


bytes_per_rank = exercise(
    "distributed.bytes_per_rank",
    oracle=table_and(),
    cases=cases_of(
        {
            "plain data parallel": (4, 0, 3),
            "one block": (1, 3, 1),
            "ZeRO-1": (2, 1, 4),
            "ZeRO-2": (8, 2, 6),
            "ZeRO-3": (7, 3, 5),
            "ZeRO-3, many ranks": (64, 3, 32),
            "ZeRO-1, three ranks": (3, 1, 2),
            "no cut": (16, 0, 4),
        },
        a_model,
    ),
    wrong=WRONG_BYTES,
    adapter=judged_bytes,
    plain=lambda answer, *inputs: judged_bytes(answer)(*inputs),
    fallback=solutions.bytes_per_rank,
    plain_python=True,
    shown=("activations",),
    forbidden=(
        *LIBRARIES,
        "labkit.distributed.sharded",
        "labkit_lessons.distributed.hybrid_and_sharded",
    ),
)
