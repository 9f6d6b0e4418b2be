"""From the outcomes of a run to the first problem, where it shows, and its likely cause."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from labkit.checks.compare import Problem, as_array, close, problem_with
from labkit.checks.exercise import Case, Exercise
from labkit.checks.inputs import changed_input
from labkit.checks.run import Outcome

Outputs = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The first problem, the outcome it shows in, and how many cases are right."""

    problem: Problem
    outcome: Outcome
    right: int
    cause: str | None = None  # a sentence


def expected_outputs(exercise: Exercise, function: Callable, case: Case) -> Outputs:
    """What the oracle (or a misconception) returns for a case, as one array per output."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        returned = function(*copy.deepcopy(case.args), **copy.deepcopy(dict(case.kwargs)))
    values = tuple(returned) if len(exercise.outputs) > 1 else (returned,)
    if len(values) != len(exercise.outputs):
        raise ValueError(f"{exercise.id}: {len(values)} values for the outputs {exercise.outputs}.")
    arrays = tuple(map(np.array, values))
    if not all(array.dtype.kind in "biufc" for array in arrays):
        raise ValueError(f"{exercise.id}: an expected output is not made of numbers.")
    return arrays


def diagnose(
    exercise: Exercise, outcomes: list[Outcome], expected: list[Outputs]
) -> Diagnosis | None:
    """The first problem in the order of the cases, or None when every outcome is right."""
    problems = [problem_of(exercise, *pair) for pair in zip(outcomes, expected, strict=False)]
    first = next((i for i, problem in enumerate(problems) if problem is not None), None)
    if first is None:
        return None
    cause = None
    if problems[first].kind in ("value", "shape", "raised", "nan"):
        cause = likely_cause(exercise, outcomes, expected, problems[first])
    return Diagnosis(problems[first], outcomes[first], problems.count(None), cause)


def problem_of(exercise: Exercise, outcome: Outcome, expected: Outputs) -> Problem | None:
    """What is wrong with one outcome. A changed input comes first: it is often the cause of the
    rest.
    """
    if outcome.error is not None:
        return Problem("", kind="raised")
    if outcome.changed:
        return changed_input(exercise.oracle, outcome)
    values = returned_values(exercise, outcome.returned)
    if isinstance(values, Problem):
        return values
    for position, (name, got, want) in enumerate(
        zip(exercise.outputs, values, expected, strict=True)
    ):
        problem = problem_with(got, want, name, exercise.dtype, exercise.rtol, exercise.atol)
        if problem is not None:
            return replace(problem, output=position)
    return None


def returned_values(exercise: Exercise, returned: object) -> tuple | Problem:
    """One value per output, or the problem with their number."""
    names, count = exercise.outputs, len(exercise.outputs)
    if count == 1:
        if returned is None:
            return Problem("", kind="stub")
        if type(returned) is tuple and len(returned) == 1:
            cure = "Look for a comma at the end of the `return` line."
            return Problem(
                "The function returns a tuple with one value in it.", (cure,), kind="type"
            )
        return (returned,)
    wanted = f"{count} values: `{', '.join(names)}`"
    if returned is None:
        return Problem("", kind="stub")
    if not isinstance(returned, tuple | list):
        return Problem(f"The function returns one value; it should return {wanted}.", kind="count")
    values = tuple(returned)
    if len(values) != count:
        word = f"{len(values)} value{'s' * (len(values) != 1)}"
        return Problem(f"The function returns {word}; it should return {wanted}.", kind="count")
    return Problem("", kind="stub") if all(value is None for value in values) else values


def likely_cause(
    exercise: Exercise, outcomes: list[Outcome], expected: list[Outputs], problem: Problem
) -> str | None:
    """The sentence of the first misconception whose results are the learner's, case by case."""
    positions = range(len(exercise.outputs)) if problem.output is None else (problem.output,)
    for misconception in exercise.misconceptions:
        wrong = [_attempt(exercise, misconception.function, outcome.case) for outcome in outcomes]
        for position in positions:
            if _explains(exercise, wrong, outcomes, position):
                return f"Likely cause: {misconception.sentence}"
    return _pattern(exercise, outcomes, expected, problem)


def _attempt(exercise: Exercise, function: Callable, case: Case) -> Outputs | Exception:
    try:
        return expected_outputs(exercise, function, case)
    except Exception as error:  # some wrong ideas do not fit some shapes
        return error


def _explains(
    exercise: Exercise, wrong: list[Outputs | Exception], outcomes: list[Outcome], position: int
) -> bool:
    """Whether a wrong idea gives the learner's output in every case, at least once a value."""
    computed = False
    for idea, outcome in zip(wrong, outcomes, strict=True):
        if isinstance(idea, Exception):
            if type(idea) is not type(outcome.error):
                return False
            continue
        got = _output(exercise, outcome, position)
        if got is None or not _equal(exercise, got, idea[position]):
            return False
        computed = True
    return computed


def _output(exercise: Exercise, outcome: Outcome, position: int) -> np.ndarray | None:
    values = None if outcome.error is not None else returned_values(exercise, outcome.returned)
    return as_array(values[position]) if isinstance(values, tuple) else None


def _equal(exercise: Exercise, a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(close(a, b, exercise.rtol, exercise.atol).all())


def _pattern(
    exercise: Exercise, outcomes: list[Outcome], expected: list[Outputs], problem: Problem
) -> str | None:
    """Without a known misconception: what the wrong values have in common."""
    if problem.kind != "value":
        return None
    for outcome, wants in zip(outcomes, expected, strict=False):
        got, want = _output(exercise, outcome, problem.output), wants[problem.output]
        if got is None or got.size < 4 or got.shape != want.shape or _equal(exercise, got, want):
            continue
        if not got.any():
            return "All values are 0."
        if got.ndim == 2 and got.T.shape == want.shape and _equal(exercise, got.T, want):
            return "The values are those of the transpose."
        place = np.unravel_index(abs(want).argmax(), want.shape)
        with np.errstate(all="ignore"):
            factor = got[place] / want[place]
            if not np.isfinite(factor) or factor == 0 or not _equal(exercise, got / factor, want):
                return None
        factor = f"{factor:.4g}"
        return (
            "Every value has the wrong sign."
            if factor == "-1"
            else f"Every value is {factor} times what it should be."
        )
    return None
