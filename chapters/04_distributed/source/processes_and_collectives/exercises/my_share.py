"""Exercise distributed.my_share: rank, ranks, x [n, ...] -> the elements that this rank takes.

It is called without processes: a share needs no message. The lesson launches it.
"""

import math

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of, exercise
from labkit_lessons.distributed.processes_and_collectives import solutions
from labkit_lessons.distributed.processes_and_collectives.wrong import my_share as wrong_share


def whole_numbers(
    rng: np.random.Generator, rank: int, ranks: int, *shape: int
) -> tuple[int, int, np.ndarray]:
    """A rank, how many there are, and x: whole numbers, all different."""
    size = math.prod(shape)
    numbers = rng.permutation(10 * size)[:size]
    return rank, ranks, numbers.reshape(shape)


my_share = exercise(
    "distributed.my_share",
    oracle=lambda rank, ranks, x: x[rank::ranks],
    cases=cases_of(
        {  # rank, ranks, shape of x
            "rank 1 of 3": (1, 3, 7),
            "all sizes 1": (0, 1, 1),
            "rank 0": (0, 3, 8),
            "the last rank": (4, 5, 13),
            "a multiple": (2, 3, 12),
            "rows": (3, 4, 10, 3),
            "wide rows": (1, 2, 5, 8),
            "one column": (2, 5, 11, 1),
            "fewer elements than ranks": (3, 4, 2),
            "many": (5, 7, 100),
        },
        whole_numbers,
    ),
    wrong=by_own_name(
        wrong_share.neighbours,
        wrong_share.neighbours_alone,
        wrong_share.from_the_start,
        wrong_share.one_element,
        wrong_share.ends_after_one,
        wrong_share.all_from_rank,
        wrong_share.up_to_ranks,
        wrong_share.swapped,
        wrong_share.step_of_rank,
        wrong_share.counted_from_1,
        wrong_share.one_before,
        wrong_share.everything,
        wrong_share.by_value,
        wrong_share.with_zeros,
    ),
    outputs=("share",),
    fallback=solutions.my_share,
    forbidden=("torch", "labkit.distributed"),
)
