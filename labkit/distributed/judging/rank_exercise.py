"""Exercises whose answer runs in real rank processes: `f(rank, ranks, x)`, as `launch` runs it.

Every case starts its ranks anew. What they send each other goes through a referee in the checking
process (referee.py), which counts it, and knows when nothing can go on: then the learner reads who
waits where for whom. Guard and clock watch the function in each rank (refereed_rank.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.checks.items import (
    Case,
    Exercise,
)
from labkit.checks.lesson_files import exercise
from labkit.checks.phrasing import counted
from labkit.distributed.judging.rank_judge import ByRank, RankJudge, RepeatedInputs
from labkit.distributed.judging.rank_results import (
    MOST_RANKS,
    groups_of,
    names_of,
)
from labkit.distributed.judging.traffic import Traffic

if TYPE_CHECKING:
    pass


def rank_exercise(
    id: str,
    *,
    solution: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    oracle: Callable[[ByRank], Sequence[Any]],
    wrong: Mapping[str, Callable[[ByRank], Sequence[Any]]],
    demand: Callable[[Traffic], str | None] | None = None,
    results: tuple[str, ...] = ("result",),
    in_place: bool = False,
    given: Callable[..., tuple] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    **fields: Any,
) -> Exercise:
    """An `Exercise` whose function is called as f(rank, ranks, *inputs of the rank).

    solution  the lesson's own function, from what `labkit build` writes
    cases     from `ranks_cases`; NumPy arrays among the inputs reach the function as tensors
    oracle    oracle(inputs of all ranks) -> what each rank has to return: an array, a number, a
              list of arrays, or None where what the rank returns is not looked at
    wrong     a function like the oracle for each misconception
    demand    demand(traffic) -> what is wrong although all results are right, or None
    results   several names where the function returns several values, as a tuple in this order
    in_place  the function may change its inputs; where it returns None, its first input is what
              it returns
    given     given(*inputs of a rank) -> the function's arguments behind rank and ranks, where they
              are made in its process: a model from its weights
    fields    those of an `Exercise`, such as `forbidden`
    """
    tolerance = SimpleNamespace(rtol=rtol, atol=atol, dtype=fields.get("dtype"))
    forbidden = fields.get("forbidden", ())
    judge = RankJudge(solution, oracle, demand, results, in_place, given, forbidden, tolerance)
    return exercise(
        id,
        judge.prepared(oracle),
        cases,
        {name: judge.prepared(idea) for name, idea in wrong.items()},
        adapter=judge.adapter,
        plain=judge.plain,
        fallback=solution,
        plain_python=True,
        outputs=names_of(results),
        groups=groups_of(results),
        rtol=rtol,
        atol=atol,
        **fields,
    )


def ranks_cases(
    sizes: Mapping[str, tuple],
    inputs: Callable[..., ByRank],
    types: Mapping[str, str] | None = None,
    then: Sequence[tuple] = (),
) -> Callable[[np.random.Generator], Iterable[Case]]:
    """One case for each name: {"prime": (3, 7)} means 3 ranks, and inputs(rng, 3, 7).

    inputs  inputs(rng, ranks, *sizes) -> for each rank a tuple of what its function gets
    types   {"prime": "float64"}: in this case float32 arrays come in another type, and so have the
            results of the oracle to come
    then    sizes of further calls, for what may be kept by a part of the sizes: the same shapes
            with other counts, or as many numbers in other shapes

    At the end the first one of several ranks comes again: two calls in the same ranks, and those of
    `then`, with new data each, so that it shows what a function keeps from call to call.
    """

    def drawn(name: str, ranks: int, rng: np.random.Generator, *more: Any) -> ByRank:
        if not 1 <= ranks <= MOST_RANKS:
            raise ValueError(f"Case {name!r} has {ranks} ranks; 1 to {MOST_RANKS} are possible.")
        by_rank = tuple(map(tuple, inputs(rng, ranks, *more)))
        if len(by_rank) != ranks:
            raise ValueError(f"Case {name!r}: inputs for {len(by_rank)} ranks, not {ranks}.")
        return by_rank

    def cases(rng: np.random.Generator) -> Iterable[Case]:
        for name, (ranks, *more) in sizes.items():
            by_rank, shown = drawn(name, ranks, rng, *more), name
            if types and name in types:
                by_rank, shown = in_type(by_rank, types[name]), f"{name}, in {types[name]}"
            yield Case(f"{shown} ({counted(ranks, 'rank')})", (by_rank,))
        names = [name for name, (ranks, *_) in sizes.items() if ranks > 1]
        name = names[0] if names else next(iter(sizes))
        ranks, *more = sizes[name]
        again = RepeatedInputs(drawn(name, ranks, rng, *more))
        again.then = [drawn(name, ranks, rng, *sizes) for sizes in (more, *then)]
        yield Case(f"{name} again ({counted(ranks, 'rank')})", (again,))

    return cases


def in_type(value: Any, name: str) -> Any:
    """The same with float32 arrays in another type, and numbers that float32 cannot hold."""
    if isinstance(value, tuple | list):
        return type(value)(in_type(one, name) for one in value)
    if not isinstance(value, np.ndarray) or value.dtype != np.float32:
        return value
    if name == "int64":
        return np.rint(4 * value).astype(name) * (2**40 + 1)
    return value.astype(name) * (1 + 2**-30)
