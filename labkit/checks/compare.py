"""Compares what one call of a learner's function did with what was expected of it."""

from dataclasses import replace
from types import GeneratorType

import numpy as np

from labkit.checks.equality import as_array, first_index
from labkit.checks.expected import Outputs
from labkit.checks.items import (
    AnswerLimitExceeded,
    CostLimitExceeded,
    Exercise,
    NotJudged,
    Refused,
    Unsolved,
    Unsteady,
)
from labkit.checks.phrasing import (
    argument_name,
    counted,
    error_text,
    index_text,
    line_blocks,
    number_pair,
)
from labkit.checks.problem import Problem
from labkit.checks.render import Code
from labkit.checks.values import wrong_value
from labkit.checks.watch import CaseRun


def compare(exercise: Exercise, run: CaseRun, expected: Outputs) -> Problem | None:
    """The first thing that is wrong with one call; None if nothing.

    A changed input comes before the values, since it is often the cause of the rest.
    """
    if run.error is not None:
        return _raised(run)
    if run.changed:
        return _changed_input(exercise, run)
    values = _returned_values(exercise.outputs, run.returned)
    if isinstance(values, Problem):
        return values
    return (
        _wrong_output(exercise, values, expected) or _held_too_much(exercise, run) or _shared(run)
    )


def returned_arrays(exercise: Exercise, run: CaseRun) -> list[np.ndarray | None]:
    """The outputs of one call; None where there is none, or none made of numbers."""
    if run.error is None:
        values = _returned_values(exercise.outputs, run.returned)
        if isinstance(values, tuple):
            return [as_array(value) for value in values]
    return [None] * len(exercise.outputs)


def _raised(run: CaseRun) -> Problem:
    if isinstance(run.error, Refused):
        kinds = {Unsolved: "stub", Unsteady: "later", NotJudged: "unjudged"}
        kinds |= dict.fromkeys((CostLimitExceeded, AnswerLimitExceeded), "cost")
        kind = kinds.get(type(run.error), "refused")
        of_case = type(run.error) is not AnswerLimitExceeded
        return Problem(kind, str(run.error), run.error.details, of_case=of_case)
    where = line_blocks(run.line)
    if isinstance(run.error, SystemExit):
        headline = "The function ends the program: it calls `exit` or raises SystemExit."
        return Problem("raised", headline, tuple(where))
    headline = f"The function raises {type(run.error).__name__}."
    if isinstance(run.error, MemoryError):
        headline = "The function asks for more memory than there is: MemoryError."
    return Problem("raised", headline, (Code(error_text(run.error)), *where))


def _changed_input(exercise: Exercise, run: CaseRun) -> Problem:
    position, before, after = run.changed[0]
    name = argument_name(exercise.oracle, position)
    cure = (
        f"The caller still needs it. Work on a copy, `{name}.copy()`; "
        f"`{name} += 1` changes {name} in place."
    )
    if exercise.adapter and not exercise.plain_python:
        cure = f"Write the result into `{exercise.outputs[0]}`; the inputs are only read."
    details = (*_first_change(name, before, after), cure)
    return Problem("form", f"The function changes its input `{name}`.", details)


def _first_change(name: str, before: object, after: object) -> list[str]:
    """A sentence about the first element that changed, where the shape is still the same."""
    if not isinstance(before, np.ndarray) or before.shape != after.shape:
        return []
    both_nan = (before != before) & (after != after)
    different = ~((before == after) | both_nan)
    if not different.any():
        return []
    index = first_index(different)
    was, now = number_pair(before[index], after[index])
    return [f"{index_text(name, index)} was {was} before the call and is {now} after it."]


def _returned_values(names: tuple[str, ...], returned: object) -> tuple | Problem:
    """One value per output, or the problem with their number."""
    if returned is None:
        return Problem("stub", "the function returns None")
    if len(names) == 1:
        return _one_value(returned)
    if isinstance(returned, GeneratorType):
        headline = "The function is a generator; it should return its results."
        cure = "`yield` makes a generator of a function: hand the result back by `return`."
        return Problem("form", headline, (cure,))
    several = isinstance(returned, tuple | list)
    if not several or len(returned) != len(names):
        given = counted(len(returned), "value") if several else "one value"
        wanted = f"{len(names)} values: `{', '.join(names)}`"
        return Problem("form", f"The function returns {given}; it should return {wanted}.")
    if all(value is None for value in returned):
        listed = ", ".join(f"`{name}`" for name in names[:-1])
        return Problem("stub", f"{listed} and `{names[-1]}` are still None")
    return tuple(returned)


def _one_value(returned: object) -> tuple | Problem:
    if type(returned) is tuple and len(returned) == 1:
        headline = "The function returns a tuple with one value in it."
        return Problem("form", headline, ("Look for a comma at the end of the `return` line.",))
    return (returned,)


def _wrong_output(exercise: Exercise, values: tuple, expected: Outputs) -> Problem | None:
    """The problem of the first output that is wrong."""
    for position, value in enumerate(values):
        problem = wrong_value(value, expected[position], position, exercise)
        if problem is not None:
            return replace(problem, output=position)
    return None


def _held_too_much(exercise: Exercise, run: CaseRun) -> Problem | None:
    """The numbers are right, but the call held more memory than the exercise allows."""
    if exercise.memory is None:
        return None
    enough = exercise.memory(*run.case.args)
    if run.held <= enough:
        return None
    held = f"it holds {run.held:,} B of memory at a time, where {enough:,} B are enough."
    cause = "Likely cause: something is made as a whole of which only parts are asked for."
    return Problem("cost", f"The numbers are right, but {held}", (cause,))


def _shared(run: CaseRun) -> Problem | None:
    """The result lies in memory that a later call writes to again."""
    if not run.overwritten:
        return None
    headline = "A later call of the function changes the result of an earlier one."
    return Problem("form", headline, ("Make a new array in each call, and return that.",))
