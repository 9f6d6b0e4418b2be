"""Runs a learner's function on every case of an exercise and notes what happened. Judges nothing.

Each case gets fresh copies of its inputs. What the function prints is kept aside, warnings are
silenced, the clock limits the work and the guard watches for forbidden calls.
"""

import functools
import hashlib
import io
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace

from labkit.checks.expected import Outputs, expected_outputs
from labkit.checks.items import Case, Exercise, Refused
from labkit.checks.watch.case_run import CaseRun, call, same
from labkit.checks.watch.clock import Clock, TimeUp
from labkit.checks.watch.escapes import Escape
from labkit.checks.watch.guard import Guard, Hit
from labkit.checks.watch.leftovers import Leftovers
from labkit.checks.watch.memory import limited_memory

# Our own answer to the cases, before and after the learner's function has run.


class OwnAnswer:
    """What is expected, worked out before the run and again after it; `seconds` is what it takes.

    Between the two no expected value is kept, since the function could look for it: only a
    fingerprint is. Without it, a function that replaces what the oracle calls (`np.cumsum`) by
    something that gives zeros would be right with zeros.

    seconds   processor time of our answer to each case
    """

    def __init__(self, exercise: Exercise, cases: list[Case]) -> None:
        self.seconds: list[float] = []
        self._exercise = exercise
        self._cases = cases
        expected = []
        for case in cases:
            begin = time.thread_time()
            expected.append(expected_outputs(exercise, exercise.oracle, case))
            self.seconds.append(time.thread_time() - begin)
        self._fingerprint = _fingerprint(expected)

    def outputs(self) -> list[Outputs] | None:
        """What is expected of each case; None when our answer is not what it was, or fails."""
        exercise = self._exercise
        try:
            expected = [expected_outputs(exercise, exercise.oracle, case) for case in self._cases]
            unchanged = _fingerprint(expected) == self._fingerprint
        except Exception:
            return None
        return expected if unchanged else None


def _fingerprint(expected: list[Outputs]) -> str:
    """A digest of all expected values."""
    digest = hashlib.sha256()
    for outputs in expected:
        for array in outputs:
            digest.update(f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()


_PRINTED = 4000  # characters of a case's output that are kept


@dataclass(frozen=True)
class WatchedRun:
    """What a learner's function did on all cases, as far as it came.

    cases     a run of each case, in their order
    hit       the first forbidden thing that was seen
    expired   the last case's budget was spent; idle: while the function waited
    left      a sentence on what it has left behind, and what to do about it
    expected  what is right for each case; None: our own answer is no longer what it was before
    """

    cases: list[CaseRun]
    hit: Hit | None
    expired: bool
    idle: bool
    left: tuple[str, str] | None = None
    expected: list[Outputs] | None = None

    @property
    def finished(self) -> list[CaseRun]:
        """The cases without the one that the clock ended."""
        return self.cases[:-1] if self.expired else self.cases

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C, or the stop button, ended it."""
        return bool(self.cases) and isinstance(self.cases[-1].error, KeyboardInterrupt)


def run_watched(
    exercise: Exercise,
    f: object,
    cases: list[Case],
    answers: tuple[str, ...],
    exempt: frozenset[int],
) -> WatchedRun:
    """Runs the learner's `f` on the cases, under the clock and the guard.

    answers   modules that hold the course's answers; `f` may not call them
    exempt    ids of the codes of functions that may do what `f` may not
    """
    own = OwnAnswer(exercise, cases)
    run = watch_cases(exercise, f, cases, own.seconds, answers, exempt)
    return replace(run, expected=own.outputs())


def watch_cases(
    exercise: Exercise,
    f: object,
    cases: list[Case],
    seconds: list[float],
    answers: tuple[str, ...],
    exempt: frozenset[int],
) -> WatchedRun:
    """The same without what is expected, where nobody here may know it (`labkit grade`).

    exercise  of it, `forbidden`, `adapter`, `plain_python` and `memory` are asked; `oracle` and
              `fallback`, if they are there, may not be called
    seconds   processor time of our own answer to each case
    """
    guard = Guard(exercise, answers, exempt)
    guard.inspect(f)
    adapted = exercise.adapter is not None
    clock = Clock(limited=exercise.plain_python or not adapted, adapted=adapted)
    function = f if exercise.adapter is None else _adapted(exercise, f)
    weigh = exercise.memory is not None
    leftovers = Leftovers(processes=not adapted)
    with nullcontext() if adapted else limited_memory():
        runs = _run_cases(function, cases, seconds, guard, clock, weigh)
    left = leftovers.clear([] if clock.expired else guard.threads)
    return WatchedRun(runs, guard.hit, clock.expired, clock.idle, left)


def _adapted(exercise: Exercise, f: object) -> Callable:
    """Launches the learner's kernel; the adapter meets it once, so that it is compiled once.

    Where the adapter refuses it, each case is told the same.
    """

    @functools.cache
    def adapted() -> Callable | Refused:
        try:
            return exercise.adapter(f)
        except Refused as refusal:
            return refusal

    def launch(*args: object) -> object:
        launcher = adapted()
        if isinstance(launcher, Refused):
            raise launcher
        return launcher(*args)

    return launch


def _run_cases(
    function: Callable,
    cases: list[Case],
    seconds: list[float],
    guard: Guard,
    clock: Clock,
    weigh: bool,
) -> list[CaseRun]:
    """Calls `function` on each case; ends early when the time is up or the learner interrupts."""
    runs: list[CaseRun] = []
    prints = _Prints()

    def job() -> None:
        for case, own in zip(cases, seconds, strict=True):
            run = CaseRun(case)
            runs.append(run)
            with guard.profile(call.__code__):
                call(function, run, clock, own, weigh)
            run.prints = prints.take()
            if clock.expired or isinstance(run.error, TimeUp | Escape | KeyboardInterrupt):
                return

    aside = redirect_stdout(prints), redirect_stderr(prints)
    with guard.stand_ins(), aside[0], aside[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock.run(job)
    if clock.expired and runs:
        last = runs[-1]
        last.prints = last.prints or prints.take()
    for run in runs:
        run.overwritten = not same(run.returned, run.original)
    return runs


class _Prints(io.StringIO):
    """Keeps the beginning of what is printed: an endless loop must not fill the memory."""

    def write(self, text: str) -> int:
        """Keeps the text while there is room; returns its length, as a file does."""
        if self.tell() < _PRINTED:
            super().write(text[:_PRINTED])
        return len(text)

    def close(self) -> None:
        """Stays open: what is printed next has to go somewhere."""

    def take(self) -> str:
        """What was kept since the last `take`."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text
