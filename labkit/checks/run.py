"""Runs a learner's function on every case of an exercise and notes what happened. Judges nothing.

Each case gets fresh copies of its inputs. What the function prints is kept aside, warnings are
silenced, the clock limits the time and the guard watches for forbidden calls.
"""

import copy
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CoroutineType

import numpy as np

from labkit.checks.clock import Clock, TimeUp
from labkit.checks.escapes import Escape
from labkit.checks.exercise import Case
from labkit.checks.guard import Guard
from labkit.checks.source import Line, raising_line

_copy, _array_equal_bytes = copy.deepcopy, np.ndarray.tobytes


@dataclass
class Outcome:
    """One case: what the function returned or raised, which inputs it changed, what it printed."""

    case: Case
    returned: object = None
    error: BaseException | None = None
    line: Line | None = None  # of the learner's code, where the error was raised
    changed: tuple[tuple[int | str, object, object], ...] = ()  # (argument, before, after)
    prints: str = ""


@dataclass
class Run:
    """All outcomes until the run ended.

    expired: the time was up; idle: while the function waited; interrupted: the learner pressed
    Ctrl-C.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    expired: bool = False
    idle: bool = False
    interrupted: bool = False


def run_cases(function: Callable, cases: list[Case], guard: Guard, clock: Clock) -> Run:
    """Calls `function` on each case; stops early when the time is up or the run is interrupted."""
    run = Run()
    prints = _Prints()

    def job() -> None:
        for case in cases:
            outcome = Outcome(case)
            run.outcomes.append(outcome)
            with guard.profile(_call.__code__):
                going_on = _call(function, outcome, clock, run)
            outcome.prints = prints.take()
            if not going_on:
                return

    with guard.stand_ins(), _aside(prints), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock.run(job)
    run.expired, run.idle = clock.expired, clock.idle
    if run.expired and run.outcomes:
        run.outcomes[-1].prints = run.outcomes[-1].prints or prints.take()
    return run


def _call(function: Callable, outcome: Outcome, clock: Clock, run: Run) -> bool:
    """One call; whether to go on with the next case."""
    args, kwargs = _copy(outcome.case.args), _copy(dict(outcome.case.kwargs))
    try:
        clock.start()
        outcome.returned = function(*args, **kwargs)
        clock.armed = False
    except BaseException as error:  # the learner's function may raise anything
        clock.armed = False
        outcome.error = error
    clock.stop()
    if outcome.error is not None:
        outcome.line = raising_line(outcome.error.__traceback__)
    if isinstance(outcome.error, TimeUp | Escape | KeyboardInterrupt):
        run.interrupted = isinstance(outcome.error, KeyboardInterrupt)
        return False
    if type(outcome.returned) is CoroutineType:
        outcome.returned.close()  # or Python warns that it was never awaited
    elif outcome.error is None:
        outcome.returned = _own_copy(outcome.returned)
    before = [*enumerate(outcome.case.args), *outcome.case.kwargs.items()]
    after = [*args, *kwargs.values()]
    outcome.changed = tuple(
        (key, old, new) for (key, old), new in zip(before, after, strict=True) if not same(old, new)
    )
    return not clock.expired


def _own_copy(returned: object) -> object:
    """Arrays are copied at once: the function may return the same buffer from every call."""
    if type(returned) in (tuple, list):
        return type(returned)(map(_own_copy, returned)) if len(returned) <= 100 else returned
    return returned.copy() if type(returned) is np.ndarray else returned


def same(old: object, new: object) -> bool:
    """Whether an input is unchanged, bit by bit. Objects that are no plain data pass."""
    if type(old) is not type(new):
        return False
    if isinstance(old, np.ndarray):
        if old.shape != new.shape or old.dtype != new.dtype:
            return False
        return _array_equal_bytes(old) == _array_equal_bytes(new)
    if type(old) in (list, tuple):
        return len(old) == len(new) and all(map(same, old, new))
    if type(old) is dict:
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    if type(old) in (int, float, complex, str, bytes, bool):
        return old == new or old != old
    return True


@contextmanager
def _aside(prints: "_Prints") -> Iterator[None]:
    before, sys.stdout = sys.stdout, prints
    try:
        yield
    finally:
        sys.stdout = before


class _Prints(io.TextIOBase):
    """Keeps the beginning of what is printed: an endless loop must not fill the memory."""

    LIMIT = 4000

    def __init__(self) -> None:
        self._text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self._text) < self.LIMIT:
            self._text += str(text)[: self.LIMIT]
        return len(text)

    def take(self) -> str:
        text, self._text = self._text, ""
        return text
