"""A toy exercise in rank processes: the sum of all ranks' tensors, in every rank."""

import sys
from contextlib import contextmanager

import cloudpickle

from labkit import check
from labkit.checks import lesson_files
from labkit.checks.lesson_files import Texts
from labkit.checks.registry import registered
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases

SAID = {"mean": "The sum is divided by the ranks.", "own": "Each rank keeps its own numbers."}


def solution(rank, ranks, x):
    """The sum of all ranks' x."""
    from labkit.distributed.collectives import ring_all_reduce

    return ring_all_reduce(x)


def inputs(rng, ranks, n):
    """x[n] for each rank."""
    return [(rng.normal(size=n).astype("f4"),) for _ in range(ranks)]


def total(by_rank):
    """The oracle."""
    return [sum(x for (x,) in by_rank)] * len(by_rank)


CASES = {"one number": (1, 1), "two": (2, 3)}


def toy(monkeypatch, **fields):
    """The exercise "distributed.toy"; its fields can be replaced."""
    wrong = {
        "mean": lambda by_rank: [value / len(by_rank) for value in total(by_rank)],
        "own": lambda by_rank: [x for (x,) in by_rank],
    }
    defaults = {
        "solution": solution,
        "cases": ranks_cases(CASES, inputs),
        "oracle": total,
        "wrong": wrong,
    }
    made = defaults | fields
    said = {name: SAID.get(name, name) for name in made["wrong"]}
    monkeypatch.setattr(lesson_files, "texts", lambda id: Texts(id, ["Send.", "Receive."], said))
    return rank_exercise("distributed.toy", **made)


@contextmanager
def travels(answer):
    """Within the block, a test's functions travel by value, as those of a notebook do."""
    module = sys.modules.get(answer.__module__)
    if module is None:
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def feedback(exercise, answer, capsys):
    """What `check` says of an answer, on one line."""
    with registered(exercise), travels(answer):
        working = check(exercise.id, answer)
    said = " ".join(capsys.readouterr().out.replace("`", "").split())
    assert (working is answer) == said.startswith("Right"), said
    return said
