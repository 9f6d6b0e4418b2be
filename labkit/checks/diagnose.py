"""From the outcomes of a run to the first problem, where it shows, and its likely cause.

The cause is sought first among the exercise's own misconceptions, then among the slips and
patterns that any exercise can show (`labkit.checks.causes`).
"""

from collections.abc import Callable
from dataclasses import replace
from types import GeneratorType

import numpy as np

from labkit.checks.causes import Trial, likely_cause
from labkit.checks.compare import Problem, as_array, equal, first, problem_with
from labkit.checks.exercise import Case, Exercise, Refused, TooDear, Unsolved
from labkit.checks.expected import Outputs, expected_outputs
from labkit.checks.phrasing import argument_name, error_text, index_text, line_blocks, number_pair
from labkit.checks.render import Code
from labkit.checks.watch.run import Outcome

Diagnosis = tuple[Problem, Outcome, int]  # the problem, where it shows, how many cases are right


def diagnose(
    exercise: Exercise, outcomes: list[Outcome], expected: list[Outputs]
) -> Diagnosis | None:
    """The first problem in the order of the cases, or None when every outcome is right.

    What is wrong comes before what is only too dear.
    """
    problems = [_problem_of(exercise, *pair) for pair in zip(outcomes, expected, strict=True)]
    found = [i for i, problem in enumerate(problems) if problem is not None]
    if not found:
        return None
    place = next((i for i in found if problems[i].kind != "cost"), found[0])
    problem, got = problems[place], [_arrays(exercise, outcome) for outcome in outcomes]
    if problem.kind == "value" and not any(a is None or a.any() for case in got for a in case):
        problem = Problem("stub", "every value is still 0")  # an array of zeros, never filled
    elif problem.kind in ("value", "shape", "raised", "nan"):
        cause = _misconception(exercise, outcomes, got, problem.output)
        cause = cause or likely_cause(exercise, _trials(outcomes, got, expected), problem.output)
        if cause is not None:
            details = (*problem.details, f"Likely cause: {cause}")
            problem = replace(problem, details=details)
    return problem, outcomes[place], problems.count(None)


def _trials(outcomes: list[Outcome], got: list[list], expected: list[Outputs]) -> list[Trial]:
    """The cases that can speak for or against a cause; a kernel that was stopped says nothing."""
    return [
        Trial(outcome.case, values, wanted, outcome.error is not None)
        for outcome, values, wanted in zip(outcomes, got, expected, strict=True)
        if not isinstance(outcome.error, Refused)
    ]


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
    if exercise.memory and outcome.held > (enough := exercise.memory(*outcome.case.args)):
        held = f"it holds {outcome.held:,} B of memory at a time, where {enough:,} B are enough."
        cause = "Likely cause: something is made as a whole of which only parts are asked for."
        return Problem("cost", f"The numbers are right, but {held}", (cause,))
    if outcome.overwritten:
        headline = "A later call of the function changes the result of an earlier one."
        return Problem("form", headline, ("Make a new array in each call, and return that.",))
    return None


def _raised(outcome: Outcome) -> Problem:
    error, where = outcome.error, line_blocks(outcome.line)
    if isinstance(error, Refused):
        kinds = {Unsolved: "stub", TooDear: "cost"}
        return Problem(kinds.get(type(error), "refused"), str(error))
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
    if isinstance(returned, GeneratorType):
        cure = "`yield` makes a generator of a function: hand the result back by `return`."
        return Problem(
            "form", "The function is a generator; it should return its results.", (cure,)
        )
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
        left, computed = set(positions), False
        for i in judged:
            idea = _attempt(exercise, misconception.function, outcomes[i].case)
            if isinstance(idea, Exception):
                left = left if type(idea) is type(outcomes[i].error) else set()
            else:
                computed = True
                left = {p for p in left if equal(got[i][p], idea[p], exercise)}
            if not left:
                break
        # After an exception no output is known to be the wrong one: then all must agree.
        if computed and (left if output is not None else left == set(positions)):
            return misconception.sentence
    return None


def _attempt(exercise: Exercise, function: Callable, case: Case) -> Outputs | Exception:
    try:
        return expected_outputs(exercise, function, case)
    except Exception as error:  # some wrong ideas do not fit some shapes
        return error
