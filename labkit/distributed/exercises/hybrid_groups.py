"""Exercise distributed.group_along: the ranks of a mesh that form a group along one side."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import hybrid_and_sharded as solutions


def grid_of(lengths: np.ndarray) -> np.ndarray:
    """The ranks in a grid, the last side counting fastest."""
    return np.arange(prod(map(int, lengths))).reshape(lengths)


def line_of(grid: np.ndarray, rank: int, side: int) -> np.ndarray:
    """The line through a rank along a side."""
    place = [int(index[0]) for index in np.nonzero(grid == rank)]
    place[side] = slice(None)
    return grid[tuple(place)].ravel()


def right_group(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The oracle."""
    return line_of(grid_of(lengths), rank, side)


def first_fastest(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if the first side counted fastest."""
    return line_of(grid_of(lengths[::-1]).T, rank, side)


def neighbours(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if every group were a run of consecutive ranks."""
    length = lengths[side]
    return rank // length * length + np.arange(length)


def others_alike(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The ranks that stand at the same place of this side."""
    grid = grid_of(lengths)
    return grid.take(int(np.nonzero(grid == rank)[side][0]), axis=side).ravel()


def from_own(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The right group, from this rank on and around."""
    group = right_group(rank, lengths, side)
    return np.roll(group, -int(np.nonzero(group == rank)[0][0]))


def only_on(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if this rank were the first of its group."""
    return rank + prod(lengths[side + 1 :]) * np.arange(lengths[side])


def of_rank_0(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The group that rank 0 is in."""
    return right_group(0, lengths, side)


def as_ranks(result: Any) -> np.ndarray:
    """A list of ranks as an array; Refused where it is none."""
    if result is None:
        raise Unsolved("the function returns None")
    if isinstance(result, set | frozenset):
        raise Refused("The ranks come in their order, and a set has none.")
    try:
        ranks = np.array([int(rank) for rank in result], dtype=int)
    except (TypeError, ValueError):
        raise Refused("The result is a list of ranks, as in [1, 4].") from None
    if not len(ranks):
        raise Unsolved("the function returns no ranks")
    return ranks


def judged_group(answer: object) -> Callable:
    """A function of the inputs that hands `lengths` on as a list; the learner's group as an array.

    Refused where the answer is no function, or changes that list.
    """
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
        given = lengths.tolist()
        ranks = as_ranks(answer(rank, given, side))
        if given != lengths.tolist():
            raise Refused("The function changes its input `lengths`.")
        return ranks

    return judged


def a_place(rng: np.random.Generator, lengths: tuple[int, ...], side: int) -> tuple:
    """A rank of the mesh, not one of the first ones where there are others."""
    ranks = prod(lengths)
    return int(rng.integers(ranks // 2, ranks)), np.array(lengths), side


group_along = exercise(
    "distributed.group_along",
    oracle=right_group,
    cases=cases_of(
        {
            "data of 2 x 3": ((2, 3), 0),
            "tensor of 2 x 3": ((2, 3), 1),
            "one rank": ((1,), 0),
            "prime": ((7,), 0),
            "a side of one": ((4, 1, 5), 1),
            "the middle of three": ((2, 3, 4), 1),
            "the first of three": ((3, 2, 5), 0),
            "the last of four": ((2, 1, 3, 4), 3),
            "the second of five": ((2, 4, 1, 3, 5), 1),
            "1,024 ranks": ((128, 8), 0),
        },
        a_place,
    ),
    wrong={
        "first_fastest": first_fastest,
        "neighbours": neighbours,
        "others_alike": others_alike,
        "from_own": from_own,
        "only_on": only_on,
        "of_rank_0": of_rank_0,
    },
    dtype="int",
    adapter=judged_group,
    plain=lambda answer, rank, lengths, side: as_ranks(answer(rank, lengths.tolist(), side)),
    fallback=solutions.group_along,
    plain_python=True,
    outputs=("ranks",),
    forbidden=(*LIBRARIES, "labkit.distributed.sharded"),
)
