"""Ranks that each hand on a chunk: what a rank's wrong chunks still hold."""

from collections.abc import Iterator

import numpy as np

from labkit.checks.equality import Pair, close
from labkit.checks.items import Exercise

OWN = "in its wrong chunks, the rank's own numbers still stand: nothing came for them."
ZERO = "the wrong chunks, of as many as there are ranks, are still 0: nothing came for them."

TWICE = (
    "a chunk stands where another one belongs, and that one is nowhere: two ranks' chunks are "
    "written to the same place, and the later one stays."
)


def ranks_of(args: tuple) -> int:
    """How many ranks there are, where a case is the inputs of all; otherwise 0."""
    by_rank = args[0] if len(args) == 1 else None
    if isinstance(by_rank, tuple) and all(isinstance(one, tuple) for one in by_rank):
        return len(by_rank)
    return 0


def chunks_missing(
    exercise: Exercise, output: str, cases: list[tuple], pairs: list[Pair]
) -> str | None:
    """A sentence when of each wrong result whole chunks are wrong, and none came for them.

    output   "rank 2: total"
    cases    the arguments of each
    """
    rank = output.removeprefix("rank ").partition(":")[0]
    if not rank.isdigit() or not pairs:
        return None
    found = [set(_slips_in(exercise, int(rank), *one)) for one in zip(cases, pairs, strict=True)]
    for sentence in (OWN, TWICE, ZERO):
        if all(sentence in said for said in found):
            return sentence
    return None


def _slips_in(
    exercise: Exercise,
    rank: int,
    args: tuple,
    pair: Pair,
) -> Iterator[str]:
    """What holds of a wrong result, in which a chunk is right or stands in another's place."""
    ranks = ranks_of(args)
    if rank >= ranks or pair.got.shape != pair.want.shape:
        return
    right = np.array_split(close(pair.got, pair.want, exercise).ravel(), ranks)
    wrong = [n for n, chunk in enumerate(right) if not chunk.all()]
    got = np.array_split(pair.got.ravel(), ranks)
    want = np.array_split(pair.want.ravel(), ranks)
    if any(_stands_for_another(exercise, got, want, n) for n in wrong):
        yield TWICE
    if len(wrong) == sum(chunk.size > 0 for chunk in right):
        return
    if all(not got[n].any() for n in wrong):
        yield ZERO
    for own in args[0][rank]:
        if isinstance(own, np.ndarray) and own.size == pair.want.size:
            mine = np.array_split(own.ravel(), ranks)
            if all(close(got[n], mine[n], exercise).all() for n in wrong):
                yield OWN


def _stands_for_another(
    exercise: Exercise, got: list[np.ndarray], want: list[np.ndarray], place: int
) -> bool:
    """Whether a chunk begins as another one, and what belongs there stands in no place."""

    def same(one: np.ndarray, other: np.ndarray) -> bool:
        both = min(len(one), len(other))  # chunks differ by one number at most
        return both > 0 and bool(close(one[:both], other[:both], exercise).all())

    others = want[:place] + want[place + 1 :]
    is_another = any(same(got[place], other) for other in others)
    return is_another and not any(same(one, want[place]) for one in got if one.any())
