"""`check`: is the function right? In five steps: find, run, compare, diagnose, say."""

import inspect
import os
import threading
import zlib
from collections.abc import Callable

import numpy as np

from labkit.checks import messages, record
from labkit.checks.compare import compare
from labkit.checks.course_version import course_codes, course_version_of, is_course_version
from labkit.checks.diagnosis.diagnose import diagnose
from labkit.checks.items import Case, Exercise
from labkit.checks.last_right import keep_right
from labkit.checks.lesson_files import answer_modules
from labkit.checks.phrasing import names_only, pointer
from labkit.checks.problem import Problem
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Message, say
from labkit.checks.untouched import is_untouched
from labkit.checks.watch import WatchedRun, run_watched

# What can be seen of a learner's function before it is called at all: can it be called?


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


# Modules that hold the answers: no function that is checked may call them.
HOLDERS = (registry, course_version_of, keep_right)
ANSWERS = (*answer_modules(), *(holder.__module__ for holder in HOLDERS), __name__)
SEED = "LABKIT_SEED"  # the environment variable that names other data for the cases
# A run replaces the process's output, profiler and timer for a moment, so two threads take turns.
# The same thread may check within a check.
_one_at_a_time = threading.RLock()


def check(id: str, f: Callable | None = None) -> Callable:
    """Checks the function `f` against the exercise `id` and says what it found.

    Returns `f` itself when it is right, and otherwise the course's own version with the same
    signature, so that the cells below work either way. Never raises, whatever `f` does, and stops
    it where it does not return (`labkit.checks.watch`).
    """
    exercise = None
    try:
        exercise = registry().find(id, Exercise)
        with _one_at_a_time:
            message = _judge(exercise, f)
    except UnknownId as error:
        message = messages.unknown_exercise(str(error))
    except KeyboardInterrupt:
        message = messages.interrupted("the function" if exercise is None else exercise.id)
    except BaseException as error:  # a fault of the check must not stop a lesson
        message = messages.failed(id, error)
    say(message)
    if exercise is None:
        return id if f is None and callable(id) else f
    return f if message.word == "Right" else course_version_of(exercise)


def seeded_cases(exercise: Exercise, seed: str | None = None) -> list[Case]:
    """The exercise's cases; their seed comes from its id, so that they are the same everywhere.

    seed   of other data in the same cases: LABKIT_SEED, which a handout may set, or the grader's
    """
    other = os.environ.get(SEED, "") if seed is None else seed
    text = f"{exercise.id} {other}" if other else exercise.id
    return list(exercise.cases(np.random.default_rng(zlib.crc32(text.encode()))))


def _judge(exercise: Exercise, f: Callable) -> Message:
    """Runs `f` on the cases and words what was found; records it as an attempt, if it is one."""
    message, attempted = judged(exercise, f, seeded_cases(exercise), run_here)
    if message.word == "Right":
        keep_right(exercise.id, f)
    elif attempted and message.word == "Look again" and not is_untouched(exercise.id, f):
        record.record_check(exercise.id, solved=False)
    return message


def run_here(exercise: Exercise, f: Callable, cases: list[Case]) -> WatchedRun:
    """Runs an answer under watch, in this process."""
    may_call_anything = course_codes() | {id(check.__code__)}
    return run_watched(exercise, f, cases, answers=ANSWERS, exempt=may_call_anything)


def judged(
    exercise: Exercise, f: object, cases: list[Case], run_cases: Callable[..., WatchedRun]
) -> tuple[Message, bool]:
    """What is said of an answer, and whether it was an attempt: it could be called, and was.

    run_cases   run_cases(exercise, f, cases) runs the answer: `run_here`, or in another process
    """
    obstacle = admission_problem(exercise, f, cases)
    if obstacle is not None:
        return messages.not_run(obstacle), False
    if exercise.ahead is not None:
        exercise.ahead(f, cases)
    run = run_cases(exercise, f, cases)
    if run.expected is None:
        return messages.meddled(exercise), False
    return _verdict(exercise, run, f), True


def _verdict(exercise: Exercise, run: WatchedRun, f: object) -> Message:
    """The first that holds: interrupted, a forbidden call, a diagnosis, no end, a rest, right."""
    hit = run.hit
    if run.interrupted:
        return messages.interrupted(exercise.id)
    if hit is not None and not hit.late:
        return messages.refused_call(exercise, hit)
    finished = run.finished
    expected = run.expected[: len(finished)]
    problems = [
        compare(exercise, case_run, outputs)
        for case_run, outputs in zip(finished, expected, strict=True)
    ]
    diagnosis = diagnose(exercise, finished, expected, problems, f)
    if diagnosis is not None:
        if run.left is not None and diagnosis.problem.kind == "raised":  # often for want of it
            return messages.left_behind(exercise, *run.left)
        return messages.wrong(exercise, diagnosis)
    if run.expired:
        return messages.endless(exercise, run.cases[-1], run.idle)
    if run.left is not None:
        return messages.left_behind(exercise, *run.left)
    if hit is not None:
        return messages.refused_call(exercise, hit)
    return messages.solved(exercise, run.cases)
