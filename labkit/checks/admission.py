"""What can be seen of a learner's function before it is called at all: can it be called?"""

import inspect
from collections.abc import Callable

from labkit.checks.course_version import is_course_version
from labkit.checks.items import Case, Exercise
from labkit.checks.phrasing import names_only, pointer
from labkit.checks.problem import Problem


def admission_problem(exercise: Exercise, f: object, cases: list[Case]) -> Problem | None:
    """Why `f` is not called: "stub" where it is the course's own version, otherwise "form"."""
    if is_course_version(f, exercise.id):
        headline = "This is the course's own version, which an earlier check handed on."
        return Problem(
            "stub", headline, ("Run the cell that defines your function, then this one.",)
        )
    call = f'`check("{exercise.id}", f)`'
    if f is None:
        headline = f"{call} needs your function; it was given None."
        return Problem("form", headline, (pointer(exercise),))
    if exercise.adapter is not None:  # it knows what it can launch
        return None
    if not callable(f):
        headline = f"{call} needs the function itself; it was given a value of type "
        headline += f"{type(f).__name__}."
        return Problem(
            "form", headline, ("Write the function's name without parentheses behind it.",)
        )
    if isinstance(f, type):
        return Problem("form", f"{call} needs a function; it was given the class {f.__name__}.")
    if inspect.iscoroutinefunction(f):
        return Problem("form", "The function is defined with `async def`; write `def`.")
    return _wrong_parameters(exercise, f, cases)


def _wrong_parameters(exercise: Exercise, f: Callable, cases: list[Case]) -> Problem | None:
    """The parameters do not take the arguments of some case."""
    try:
        parameters = inspect.signature(f)
        wanted = inspect.signature(exercise.oracle)
    except (TypeError, ValueError):  # functions written in C have none
        return None
    for case in cases:
        try:
            parameters.bind(*case.args)
        except TypeError as error:
            headline = f"The function cannot be called as `f{names_only(wanted)}`: {error}."
            yours = f"Yours is defined as `f{names_only(parameters)}`."
            return Problem("form", headline, (yours,))
    return None
