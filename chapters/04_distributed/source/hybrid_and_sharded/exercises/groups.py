"""Exercise distributed.group_along: the ranks of a mesh that form a group along one side.

Dense: each wrong idea is another formula of places in the mesh.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.distributed.hybrid_and_sharded import solutions


def grid_of(lengths: np.ndarray) -> np.ndarray:
    """The ranks in a grid, the last side counting fastest."""
    return np.arange(prod(map(int, lengths))).reshape(lengths)


def stride_of(lengths: np.ndarray, side: int) -> int:
    """How far apart neighbours along a side are."""
    return prod(map(int, lengths[side + 1 :]))


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
    return rank + stride_of(lengths, side) * np.arange(lengths[side])


def own_first(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """This rank, and behind it the others of its group in their order."""
    group = right_group(rank, lengths, side)
    return np.append(rank, group[group != rank])


def without_itself(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The others of the group; alone, the rank itself."""
    group = right_group(rank, lengths, side)
    return group[group != rank] if len(group) > 1 else group


def more_or_less(count: int) -> Callable[[int, np.ndarray, int], np.ndarray]:
    """As if the side were longer by `count`, but of one place at least."""

    def idea(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
        first = right_group(rank, lengths, side)[0]
        length = max(1, lengths[side] + count)
        return first + stride_of(lengths, side) * np.arange(length)

    return idea


def from_place(
    place_of: Callable[[int, int, int], int],
) -> Callable[[int, np.ndarray, int], np.ndarray]:
    """As if a rank stood at place_of(rank, stride, length) along the side."""

    def idea(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
        stride, length = stride_of(lengths, side), int(lengths[side])
        return rank + stride * (np.arange(length) - place_of(rank, stride, length))

    return idea


def sides_behind_forgotten(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if the group began where the run of its strides begins: at place 0 of the sides behind."""
    stride, length = stride_of(lengths, side), int(lengths[side])
    return rank // (stride * length) * stride * length + stride * np.arange(length)


def to_its_end(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The right group, from this rank on."""
    group = right_group(rank, lengths, side)
    return group[group >= rank]


def around_the_mesh(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if the group began with this rank, and went on from the mesh's first behind its last."""
    return only_on(rank, lengths, side) % prod(map(int, lengths))


def by_length(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if the ranks from the first on were those below it plus the length."""
    first, length = right_group(rank, lengths, side)[0], int(lengths[side])
    return np.arange(first, first + length, stride_of(lengths, side))


def same_rest(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """All that stand at the same place of the sides behind this one."""
    stride = stride_of(lengths, side)
    return np.arange(rank % stride, prod(map(int, lengths)), stride)


def its_own_length_too(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if neighbours were as far apart as the side is long, times the stride."""
    stride, length = stride_of(lengths, side) * int(lengths[side]), int(lengths[side])
    return rank + stride * (np.arange(length) - rank // stride % length)


def no_stride(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The right first rank, and its neighbours."""
    return right_group(rank, lengths, side)[0] + np.arange(lengths[side])


def first_without_stride(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if the first were as many ranks before as its place says."""
    stride, length = stride_of(lengths, side), int(lengths[side])
    place = rank // stride % length
    return rank - place + stride * np.arange(length)


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
    refuse_no_function(answer)

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
        "no_stride": no_stride,
        "first_without_stride": first_without_stride,
        "place_by_stride": from_place(lambda rank, stride, length: rank % stride),
        "one_place_on": from_place(lambda rank, stride, length: rank // stride % length - 1),
        "places": lambda rank, lengths, side: np.arange(lengths[side]),
        "all_ranks": lambda rank, lengths, side: np.arange(prod(map(int, lengths))),
        **by_own_name(
            first_fastest,
            neighbours,
            others_alike,
            from_own,
            only_on,
            of_rank_0,
            own_first,
            to_its_end,
            around_the_mesh,
            by_length,
            same_rest,
            its_own_length_too,
            without_itself,
        ),
        "one_too_many": more_or_less(1),
        "one_too_few": more_or_less(-1),
        "place_by_length": from_place(lambda rank, stride, length: rank % length),
        "sides_before_forgotten": from_place(lambda rank, stride, length: rank // stride),
        "sides_behind_forgotten": sides_behind_forgotten,
    },
    dtype="int",
    adapter=judged_group,
    plain=lambda answer, rank, lengths, side: as_ranks(answer(rank, lengths.tolist(), side)),
    fallback=solutions.group_along,
    plain_python=True,
    outputs=("ranks",),
    shown=("lengths",),
    forbidden=(
        *LIBRARIES,
        "labkit.distributed.sharded",
        "labkit_lessons.distributed.hybrid_and_sharded",
    ),
)
