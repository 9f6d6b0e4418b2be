"""One call of a learner's function, on one case, and what happened in it. Judges nothing."""

import copy
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from traceback import walk_tb
from types import CoroutineType

import numpy as np

from labkit.checks.items import Case
from labkit.checks.watch.clock import Clock
from labkit.checks.watch.source import Line, learner_line

_MANY = 100  # outputs of a tuple that are copied


@dataclass
class CaseRun:
    """One case: what the function returned or raised, which inputs it changed, what it printed.

    returned     a copy, made at once; `original` is the very object
    line         of the learner's code, where the error was raised
    changed      (position, before, after) of each argument that the call changed
    overwritten  a later call changed what this one had returned
    held         bytes that the call held at a time, where they are counted
    """

    case: Case
    returned: object = None
    error: BaseException | None = None
    line: Line | None = None
    changed: tuple[tuple[int, object, object], ...] = ()
    prints: str = ""
    original: object = None
    overwritten: bool = False
    held: int = 0


def call(function: Callable, run: CaseRun, clock: Clock, seconds: float, weigh: bool) -> None:
    """Calls `function` on fresh copies of the case's arguments, and fills in the rest of `run`.

    seconds   processor time that our own solution needed for this case
    weigh     whether the memory is counted that the call holds at a time
    """
    args = copy.deepcopy(run.case.args)
    if weigh:
        tracemalloc.start()
    try:
        clock.start(seconds)
        run.returned = function(*args)
        clock.armed = False
    except BaseException as error:  # the learner's function may raise anything
        clock.armed = False
        run.error = error
        # A strike on the way out, behind the function's last line, has no line of its own.
        run.line = learner_line(reversed([*walk_tb(error.__traceback__)])) or clock.place
    clock.stop()
    if weigh:
        run.held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    _keep_returned(run)
    run.changed = _changed(run.case.args, args)


def _keep_returned(run: CaseRun) -> None:
    """Puts a copy in the place of what was returned; the original stays beside it."""
    if type(run.returned) is CoroutineType:
        run.returned.close()  # or Python warns that it was never awaited
        return
    run.original = run.returned
    run.returned = _own_copy(run.returned)


def _own_copy(returned: object) -> object:
    """Arrays are copied at once: the function may return the same buffer from every call."""
    if type(returned) is np.ndarray:
        return returned.copy()
    if type(returned) in (tuple, list) and len(returned) <= _MANY:
        return type(returned)(_array_copy(value) for value in returned)
    return returned


def _array_copy(value: object) -> object:
    return value.copy() if type(value) is np.ndarray else value


def _changed(before: tuple, after: tuple) -> tuple[tuple[int, object, object], ...]:
    """(position, before, after) of each argument that is not what it was."""
    found = []
    for position, (old, new) in enumerate(zip(before, after, strict=True)):
        if not same(old, new):
            found.append((position, old, new))
    return tuple(found)


def same(old: object, new: object) -> bool:
    """Whether an array, or a list or tuple of arrays, is unchanged bit by bit. Others pass."""
    if old is new:
        return True
    if type(old) is np.ndarray and old.dtype != object:
        alike = type(new) is np.ndarray and old.shape == new.shape and old.dtype == new.dtype
        return alike and old.tobytes() == new.tobytes()
    if type(old) in (list, tuple):
        return type(old) is type(new) and len(old) == len(new) and all(map(same, old, new))
    return True
