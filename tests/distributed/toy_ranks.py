"""A toy exercise in rank processes: the sum of all ranks' tensors, in every rank."""

import sys

import cloudpickle
import numpy as np

from labkit.checks import lesson_files
from labkit.checks.lesson_files import Texts
from labkit.checks.registry import registered
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases

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


CASES = {"one number": (1, 1), "two": (2, 3), "prime": (3, 7)}


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


def told(exercise, answer, capsys):
    """What `check` says of an answer, on one line."""
    from labkit import check

    by_value = sys.modules[answer.__module__]  # as a notebook's functions travel
    cloudpickle.register_pickle_by_value(by_value)
    with registered(exercise):
        working = check("distributed.toy", answer)
    said = " ".join(capsys.readouterr().out.replace("`", "").split())
    assert (working is answer) == said.startswith("Right"), said
    return said


def numbers(*sizes):
    """Seeded arrays of these sizes, one for each rank."""
    rng = np.random.default_rng(3)
    return tuple((rng.normal(size=size).astype("f4"),) for size in sizes)
