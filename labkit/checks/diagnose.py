"""From the outcomes of a run to the first problem, where it shows, and its likely cause."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from labkit.checks.compare import Problem, as_array, close, problem_with
from labkit.checks.exercise import Case, Exercise, Refused
from labkit.checks.render import Code
from labkit.checks.run import Outcome
from labkit.checks.source import Line
from labkit.checks.texts import argument_name, error_text, index_text, line_blocks, number_pair

Outputs = tuple[np.ndarray, ...]
Diagnosis = tuple[Problem, Outcome, int]  # the problem, where it shows, how many cases are right


def expected_outputs(exercise: Exercise, function: Callable, case: Case) -> Outputs:
    """What the oracle (or a misconception) returns for a case, as one array per output."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        returned = function(*copy.deepcopy(case.args), **copy.deepcopy(dict(case.kwargs)))
    return tuple(map(np.array, returned if len(exercise.outputs) > 1 else (returned,)))


def diagnose(
    exercise: Exercise, outcomes: list[Outcome], expected: list[Outputs]
) -> Diagnosis | None:
    """The first problem in the order of the cases, or None when every outcome is right."""
    problems = [problem_of(exercise, *pair) for pair in zip(outcomes, expected, strict=False)]
    first = next((i for i, problem in enumerate(problems) if problem is not None), None)
    if first is None:
        return None
    problem, right = problems[first], problems.count(None)
    if problem.kind == "value" and all(_is_zero(exercise, outcome) for outcome in outcomes):
        problem = Problem("stub", "every value is still 0")
    elif problem.kind in ("value", "shape", "raised", "nan"):
        cause = _misconception(exercise, outcomes, problem)
        if cause is None and problem.kind == "value":
            cause = _pattern(exercise, outcomes, expected, problem.output)
        if cause is not None:
            problem = replace(problem, details=(*problem.details, cause))
    return problem, outcomes[first], right


def problem_of(exercise: Exercise, outcome: Outcome, expected: Outputs) -> Problem | None:
    """What is wrong with one outcome; first a changed input, often the cause of the rest."""
    if outcome.error is not None:
        return raised(outcome.error, outcome.line)
    if outcome.changed:
        return changed_input(exercise, outcome)
    values = returned_values(exercise, outcome.returned)
    if isinstance(values, Problem):
        return values
    for i, (name, got, want) in enumerate(zip(exercise.outputs, values, expected, strict=True)):
        if (problem := problem_with(got, want, name, exercise)) is not None:
            return replace(problem, output=i)
    return None


def raised(error: BaseException, line: Line | None) -> Problem:
    if isinstance(error, SystemExit):
        headline = "The function ends the program: it calls `exit` or raises SystemExit."
        return Problem("raised", headline, tuple(line_blocks(line)))
    if isinstance(error, Refused):
        return Problem("refused", str(error))
    headline = f"The function raises {type(error).__name__}."
    return Problem("raised", headline, (Code(error_text(error)), *line_blocks(line)))


def changed_input(exercise: Exercise, outcome: Outcome) -> Problem:
    """The function writes into what it was given."""
    key, before, after = outcome.changed[0]
    name = argument_name(exercise.oracle, key)
    cure = "The caller still needs it. Work on a copy, `x.copy()`; `x += y` changes x in place."
    if exercise.adapter:
        cure = f"Write the result into `{exercise.outputs[0]}`; the inputs are only read."
    details = (cure,)
    if isinstance(before, np.ndarray) and before.shape == after.shape:
        different = ~((before == after) | ((before != before) & (after != after)))
        if different.any():
            index = tuple(np.argwhere(different)[0])
            was, now = number_pair(before[index], after[index])
            change = f"{index_text(name, index)} was {was} before the call and is {now} after it."
            details = (change, *details)
    return Problem("form", f"The function changes its input `{name}`.", details)


def returned_values(exercise: Exercise, returned: object) -> tuple | Problem:
    """One value per output, or the problem with their number."""
    names, count = exercise.outputs, len(exercise.outputs)
    if returned is None:
        return Problem("stub", "the function returns None")
    if count == 1:
        if type(returned) is tuple and len(returned) == 1:
            cure = "Look for a comma at the end of the `return` line."
            return Problem("form", "The function returns a tuple with one value in it.", (cure,))
        return (returned,)
    several = isinstance(returned, tuple | list)
    if not several or len(returned) != count:
        word = "one value" if not several else f"{len(returned)} value{'s' * (len(returned) != 1)}"
        wanted = f"{count} values: `{', '.join(names)}`"
        return Problem("form", f"The function returns {word}; it should return {wanted}.")
    if all(value is None for value in returned):
        listed = ", ".join(f"`{name}`" for name in names[:-1])
        return Problem("stub", f"{listed} and `{names[-1]}` are still None")
    return tuple(returned)


def _output(exercise: Exercise, outcome: Outcome, i: int) -> np.ndarray | None:
    """Output number `i`, where there is one and it is made of numbers."""
    values = None if outcome.error is not None else returned_values(exercise, outcome.returned)
    return as_array(values[i]) if isinstance(values, tuple) else None


def _is_zero(exercise: Exercise, outcome: Outcome) -> bool:
    """Whether all outputs are zeros: what a stub leaves that fills an array of zeros."""
    outputs = [_output(exercise, outcome, i) for i in range(len(exercise.outputs))]
    return all(output is not None and not output.any() for output in outputs)


def _misconception(exercise: Exercise, outcomes: list[Outcome], problem: Problem) -> str | None:
    """The sentence of the first misconception whose results are the learner's, case by case."""
    positions = range(len(exercise.outputs)) if problem.output is None else (problem.output,)
    for misconception in exercise.misconceptions:
        wrong = [_attempt(exercise, misconception.function, outcome.case) for outcome in outcomes]
        if any(_explains(exercise, wrong, outcomes, i) for i in positions):
            return f"Likely cause: {misconception.sentence}"
    return None


def _attempt(exercise: Exercise, function: Callable, case: Case) -> Outputs | Exception:
    try:
        return expected_outputs(exercise, function, case)
    except Exception as error:  # some wrong ideas do not fit some shapes
        return error


def _explains(
    exercise: Exercise, wrong: list[Outputs | Exception], outcomes: list[Outcome], i: int
) -> bool:
    """Whether a wrong idea gives the learner's output in every case, at least once a value."""
    judged = [pair for pair in zip(wrong, outcomes, strict=True) if not _refused(pair[1])]
    for idea, outcome in judged:
        if isinstance(idea, Exception):
            if type(idea) is not type(outcome.error):
                return False
        elif not _equal(exercise, _output(exercise, outcome, i), idea[i]):
            return False
    return not all(isinstance(idea, Exception) for idea, _ in judged)


def _refused(outcome: Outcome) -> bool:
    """A kernel that was stopped has no values: the case speaks for and against no wrong idea."""
    return isinstance(outcome.error, Refused)


def _equal(exercise: Exercise, a: np.ndarray | None, b: np.ndarray) -> bool:
    return a is not None and a.shape == b.shape and bool(close(a, b, exercise).all())


def _pattern(
    exercise: Exercise, outcomes: list[Outcome], expected: list[Outputs], i: int
) -> str | None:
    """Without a known misconception: what the wrong values of output `i` have in common."""
    for outcome, wants in zip(outcomes, expected, strict=False):
        got, want = _output(exercise, outcome, i), wants[i]
        if got is None or got.size < 4 or got.shape != want.shape or _equal(exercise, got, want):
            continue
        if got.ndim == 2 and exercise.adapter is None and _equal(exercise, got.T, want):
            return "The values are those of the transpose."
        place = np.unravel_index(abs(want).argmax(), want.shape)
        with np.errstate(all="ignore"):
            factor = got[place] / want[place]
            if not np.isfinite(factor) or factor == 0 or not _equal(exercise, got / factor, want):
                return None
        if f"{factor:.4g}" == "-1":
            return "Every value has the wrong sign."
        return f"Every value is {factor:.4g} times what it should be."
    return None
