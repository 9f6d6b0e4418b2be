"""From the outcomes of a run to the first problem, where it shows, and its likely cause."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from labkit.checks.compare import Problem, as_array, equal, first, problem_with
from labkit.checks.exercise import Case, Exercise, Refused, Unsolved
from labkit.checks.render import Code
from labkit.checks.run import Outcome
from labkit.checks.texts import argument_name, error_text, index_text, line_blocks, number_pair

Outputs = tuple[np.ndarray, ...]
Diagnosis = tuple[Problem, Outcome, int]  # the problem, where it shows, how many cases are right


def expected_outputs(exercise: Exercise, function: Callable, case: Case) -> Outputs:
    """What the oracle (or a misconception) returns for a case, as one array per output."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        returned = function(*copy.deepcopy(case.args))
    return tuple(map(np.array, returned if len(exercise.outputs) > 1 else (returned,)))


def diagnose(exercise: Exercise, outcomes: list[Outcome]) -> Diagnosis | None:
    """The first problem in the order of the cases, or None when every outcome is right."""
    expected = [expected_outputs(exercise, exercise.oracle, outcome.case) for outcome in outcomes]
    problems = [_problem_of(exercise, *pair) for pair in zip(outcomes, expected, strict=True)]
    place = next((i for i, problem in enumerate(problems) if problem is not None), None)
    if place is None:
        return None
    problem, got = problems[place], [_arrays(exercise, outcome) for outcome in outcomes]
    if problem.kind == "value" and not any(a is None or a.any() for case in got for a in case):
        problem = Problem("stub", "every value is still 0")  # an array of zeros, never filled
    elif problem.kind in ("value", "shape", "raised", "nan"):
        cause = _misconception(exercise, outcomes, got, problem.output)
        if cause is None and problem.kind == "value":
            i = problem.output
            cause = _pattern(exercise, [(a[i], b[i]) for a, b in zip(got, expected, strict=True)])
        if cause is not None:
            problem = replace(problem, details=(*problem.details, cause))
    return problem, outcomes[place], problems.count(None)


def _problem_of(exercise: Exercise, outcome: Outcome, expected: Outputs) -> Problem | None:
    """What is wrong with one outcome; first a changed input, often the cause of the rest."""
    if outcome.error is not None:
        return _raised(outcome)
    if outcome.changed:
        return _changed_input(exercise, outcome)
    values = _returned_values(exercise.outputs, outcome.returned)
    if isinstance(values, Problem):
        return values
    for i, (name, got, want) in enumerate(zip(exercise.outputs, values, expected, strict=True)):
        if (problem := problem_with(got, want, name, exercise)) is not None:
            return replace(problem, output=i)
    return None


def _raised(outcome: Outcome) -> Problem:
    error, where = outcome.error, line_blocks(outcome.line)
    if isinstance(error, Refused):
        return Problem("stub" if isinstance(error, Unsolved) else "refused", str(error))
    if isinstance(error, SystemExit):
        headline = "The function ends the program: it calls `exit` or raises SystemExit."
        return Problem("raised", headline, where)
    headline = f"The function raises {type(error).__name__}."
    return Problem("raised", headline, (Code(error_text(error)), *where))


def _changed_input(exercise: Exercise, outcome: Outcome) -> Problem:
    key, before, after = outcome.changed[0]
    name = argument_name(exercise.oracle, key)
    details = (
        "The caller still needs it. Work on a copy, `x.copy()`; `x += y` changes x in place.",
    )
    if exercise.adapter:
        details = (f"Write the result into `{exercise.outputs[0]}`; the inputs are only read.",)
    if isinstance(before, np.ndarray) and before.shape == after.shape:
        different = ~((before == after) | ((before != before) & (after != after)))
        if different.any():
            index = first(different)
            was, now = number_pair(before[index], after[index])
            change = f"{index_text(name, index)} was {was} before the call and is {now} after it."
            details = (change, *details)
    return Problem("form", f"The function changes its input `{name}`.", details)


def _returned_values(names: tuple[str, ...], returned: object) -> tuple | Problem:
    """One value per output, or the problem with their number."""
    if returned is None:
        return Problem("stub", "the function returns None")
    if len(names) == 1:
        if type(returned) is tuple and len(returned) == 1:
            cure = "Look for a comma at the end of the `return` line."
            return Problem("form", "The function returns a tuple with one value in it.", (cure,))
        return (returned,)
    several = isinstance(returned, tuple | list)
    if not several or len(returned) != len(names):
        word = "one value" if not several else f"{len(returned)} value{'s' * (len(returned) != 1)}"
        wanted = f"{len(names)} values: `{', '.join(names)}`"
        return Problem("form", f"The function returns {word}; it should return {wanted}.")
    if all(value is None for value in returned):
        listed = ", ".join(f"`{name}`" for name in names[:-1])
        return Problem("stub", f"{listed} and `{names[-1]}` are still None")
    return tuple(returned)


def _arrays(exercise: Exercise, outcome: Outcome) -> list[np.ndarray | None]:
    """The outputs of one case; None where there is none, or none made of numbers."""
    if outcome.error is None:
        values = _returned_values(exercise.outputs, outcome.returned)
        if isinstance(values, tuple):
            return [as_array(value) for value in values]
    return [None] * len(exercise.outputs)


def _misconception(
    exercise: Exercise, outcomes: list[Outcome], got: list[list], output: int | None
) -> str | None:
    """The sentence of the first misconception whose results are the learner's, case by case."""
    # A kernel that was stopped has no values: its case speaks for and against no wrong idea.
    judged = [i for i, outcome in enumerate(outcomes) if not isinstance(outcome.error, Refused)]
    positions = range(len(exercise.outputs)) if output is None else (output,)
    for misconception in exercise.misconceptions:
        ideas = {i: _attempt(exercise, misconception.function, outcomes[i].case) for i in judged}
        if all(isinstance(idea, Exception) for idea in ideas.values()):
            continue
        for position in positions:
            if all(
                type(idea) is type(outcomes[i].error)
                if isinstance(idea, Exception)
                else equal(got[i][position], idea[position], exercise)
                for i, idea in ideas.items()
            ):
                return f"Likely cause: {misconception.sentence}"
    return None


def _attempt(exercise: Exercise, function: Callable, case: Case) -> Outputs | Exception:
    try:
        return expected_outputs(exercise, function, case)
    except Exception as error:  # some wrong ideas do not fit some shapes
        return error


def _pattern(exercise: Exercise, pairs: list[tuple[np.ndarray | None, np.ndarray]]) -> str | None:
    """Without a known misconception: what the wrong values (got, expected) have in common."""
    for got, want in pairs:
        if got is None or got.size < 4 or got.shape != want.shape or equal(got, want, exercise):
            continue
        if got.ndim == 2 and exercise.adapter is None and equal(got.T, want, exercise):
            return "The values are those of the transpose."
        place = np.unravel_index(abs(want).argmax(), want.shape)
        with np.errstate(all="ignore"):
            factor = got[place] / want[place]
            if not np.isfinite(factor) or not equal(got / factor, want, exercise):
                return None
        if f"{factor:.4g}" == "-1":
            return "Every value has the wrong sign."
        return f"Every value is {factor:.4g} times what it should be."
    return None
