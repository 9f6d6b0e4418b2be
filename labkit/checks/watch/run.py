"""Runs a learner's function on every case of an exercise and notes what happened. Judges nothing.

Each case gets fresh copies of its inputs. What the function prints is kept aside, warnings are
silenced, the clock limits the work and the guard watches for forbidden calls.
"""

import copy
import io
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from traceback import walk_tb
from types import CoroutineType

import numpy as np

from labkit.checks.exercise import Case
from labkit.checks.watch.clock import Clock, TimeUp
from labkit.checks.watch.forbidden import Escape
from labkit.checks.watch.guard import Guard
from labkit.checks.watch.source import Line, learner_line


@dataclass
class Outcome:
    """One case: what the function returned or raised, which inputs it changed, what it printed."""

    case: Case
    returned: object = None
    error: BaseException | None = None
    line: Line | None = None  # of the learner's code, where the error was raised
    changed: tuple[tuple[int, object, object], ...] = ()  # (argument, before, after)
    prints: str = ""
    original: object = None  # the very object that was returned; `returned` is a copy
    overwritten: bool = False  # a later call changed what this one had returned
    held: int = 0  # bytes that the call held at a time, where they are counted


def run_cases(
    function: Callable,
    cases: list[Case],
    own: list[float],
    guard: Guard,
    clock: Clock,
    weigh: bool = False,
) -> list[Outcome]:
    """Calls `function` on each case; ends early when the time is up or the learner interrupts.

    `own` has for each case the seconds of processor time that our own solution needed. `weigh`: the
    memory that a call holds at a time is counted.
    """
    outcomes: list[Outcome] = []
    prints = _Prints()

    def job() -> None:
        for case, seconds in zip(cases, own, strict=True):
            outcome = Outcome(case)
            outcomes.append(outcome)
            with guard.profile(_call.__code__):
                _call(function, outcome, clock, seconds, weigh)
            outcome.prints = prints.take()
            if clock.expired or isinstance(outcome.error, TimeUp | Escape | KeyboardInterrupt):
                return

    with guard.stand_ins(), redirect_stdout(prints), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock.run(job)
    if clock.expired and outcomes:
        outcomes[-1].prints = outcomes[-1].prints or prints.take()
    for outcome in outcomes:
        outcome.overwritten = not same(outcome.returned, outcome.original)
    return outcomes


def _call(function: Callable, outcome: Outcome, clock: Clock, seconds: float, weigh: bool) -> None:
    case = outcome.case
    args = copy.deepcopy(case.args)
    if weigh:
        tracemalloc.start()
    try:
        clock.start(seconds)
        outcome.returned = function(*args)
        clock.armed = False
    except BaseException as error:  # the learner's function may raise anything
        clock.armed = False
        outcome.error = error
        outcome.line = learner_line(reversed([*walk_tb(error.__traceback__)]))
    clock.stop()
    if weigh:
        outcome.held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if type(outcome.returned) is CoroutineType:
        outcome.returned.close()  # or Python warns that it was never awaited
    else:
        outcome.original = outcome.returned
        outcome.returned = _own_copy(outcome.returned)
    pairs = enumerate(zip(case.args, args, strict=True))
    outcome.changed = tuple((i, old, new) for i, (old, new) in pairs if not same(old, new))


def _own_copy(returned: object) -> object:
    """Arrays are copied at once: the function may return the same buffer from every call."""
    if type(returned) in (tuple, list) and len(returned) <= 100:
        return type(returned)(r.copy() if type(r) is np.ndarray else r for r in returned)
    return returned.copy() if type(returned) is np.ndarray else returned


def same(old: object, new: object) -> bool:
    """Whether an array, or a list or tuple of arrays, is unchanged bit by bit. Others pass."""
    if isinstance(old, np.ndarray) and old.dtype != object:
        alike = old.shape == new.shape and old.dtype == new.dtype
        return alike and old.tobytes() == new.tobytes()
    if isinstance(old, list | tuple):
        return len(old) == len(new) and all(map(same, old, new))
    return True


class _Prints(io.StringIO):
    """Keeps the beginning of what is printed: an endless loop must not fill the memory."""

    def write(self, text: str) -> int:
        if self.tell() < 4000:
            super().write(text[:4000])
        return len(text)

    def take(self) -> str:
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text
