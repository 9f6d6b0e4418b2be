"""What `check` hands on when an answer is wrong: the course's own version of the function."""

import contextlib
import functools
import inspect
from collections.abc import Callable

import numpy as np

from labkit.checks.exercise import Exercise

_handed_out: dict[int, tuple[Callable, Exercise]] = {}  # by the function's id


def fallback(exercise: Exercise) -> Callable:
    """The exercise's fallback, or its oracle dressed as the learner's function."""
    function = exercise.fallback or _wrapped(exercise)
    _handed_out[id(function)] = (function, exercise)
    return function


def is_fallback(function: object, id_: str) -> bool:
    """Whether this very function was handed out for this exercise, by an earlier check."""
    known = _handed_out.get(id(function))
    return known is not None and known[0] is function and known[1].id == id_


def handed_out_codes() -> frozenset[int]:
    """Ids of the codes of all functions handed out: later exercises may use them."""
    functions = [f for function, item in _handed_out.values() for f in (function, item.oracle)]
    return frozenset(id(f.__code__) for f in functions if hasattr(f, "__code__"))


def _wrapped(exercise: Exercise) -> Callable:
    oracle, exact = exercise.oracle, _exact_dtype(exercise.dtype)

    def course_version(*args: object, **kwargs: object) -> object:
        returned = oracle(*args, **kwargs)
        if exact is None:
            return returned
        cast = functools.partial(np.asarray, dtype=exact)
        return tuple(map(cast, returned)) if len(exercise.outputs) > 1 else cast(returned)

    course_version.__name__ = course_version.__qualname__ = exercise.id.rpartition(".")[2]
    course_version.__doc__ = f"The course's own version of {exercise.id}, until yours is right."
    with contextlib.suppress(TypeError, ValueError):  # functions written in C have none
        course_version.__signature__ = inspect.signature(oracle)
    return course_version


def _exact_dtype(dtype: str | None) -> np.dtype | None:
    return None if dtype in (None, "any", "float", "int", "bool", "complex") else np.dtype(dtype)
