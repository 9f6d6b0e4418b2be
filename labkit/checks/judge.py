"""`check`: is the function right? The verdict, a diagnosis when it is not, the costs when it is."""

import functools
import hashlib
import threading
import time
import zlib
from collections.abc import Callable

import numpy as np

from labkit.checks import record
from labkit.checks.compare import KINDS
from labkit.checks.diagnose import diagnose
from labkit.checks.exercise import Case, Exercise
from labkit.checks.expected import Outputs, expected_outputs
from labkit.checks.phrasing import error_text, short
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Code, Message, show
from labkit.checks.watch.clock import Clock
from labkit.checks.watch.guard import Guard, Hit
from labkit.checks.watch.run import Outcome, run_cases
from labkit.checks.wording import endless, interrupted, meddled, refused_call, solved, unfit, wrong

_handed_out: dict[int, tuple[Callable, Exercise]] = {}  # by the function's id
# A run replaces the process's output, profiler and timer for a moment, so two threads take turns.
# The same thread may check within a check.
_one_at_a_time = threading.RLock()


def check(id: str, f: Callable | None = None) -> Callable:
    """Checks the function `f` against the exercise `id` and says what it found.

    Returns `f` itself when it is right, and otherwise the course's own version with the same
    signature, so that the cells below work either way. Never raises, whatever `f` does, and stops
    it where it does not return (`labkit.checks.watch.clock`).
    """
    exercise = None
    try:
        exercise = registry().find(id, Exercise)
        with _one_at_a_time:
            message = _judge(exercise, f)
    except UnknownId as error:
        message = Message("Note", str(error), ("Your function was not looked at.",))
    except KeyboardInterrupt:
        message = interrupted(exercise.id if exercise is not None else "the function")
    except BaseException as error:  # a fault of the check must not stop a lesson
        reason = f"The check of {short(id)} itself went wrong; this is not your function's fault."
        message = Message("Check failed", reason, (Code(error_text(error)),))
    show(message)
    if exercise is None:
        return id if f is None and callable(id) else f
    return f if message.word == "Right" else hand_on(exercise)


def seeded_cases(exercise: Exercise) -> list[Case]:
    """The exercise's cases; the seed comes from its id, so that they are the same everywhere."""
    return list(exercise.cases(np.random.default_rng(zlib.crc32(exercise.id.encode()))))


def _judge(exercise: Exercise, f: Callable) -> Message:
    cases = seeded_cases(exercise)
    if is_handed_on(f, exercise.id):
        headline = "This is the course's own version, which an earlier check handed on."
        again = "Run the cell that defines your function, then this one."
        return Message("Not yet", headline, (again,))
    if (message := unfit(exercise, f, cases)) is not None:
        return message
    before, own = _work_of_ours(exercise, cases)
    guard = Guard(exercise, exempt=_handed_out_codes() | {id(check.__code__)})
    guard.inspect(f)
    clock = Clock(limited=exercise.adapter is None)
    function = _launcher(exercise, f) if exercise.adapter else f
    outcomes = run_cases(function, cases, own, guard, clock, weigh=exercise.memory is not None)
    try:
        expected = _all_expected(exercise, cases)
        unchanged = _fingerprint(expected) == before
    except Exception:
        unchanged = False
    if not unchanged:
        return meddled(exercise)
    message = _verdict(exercise, outcomes, expected, guard.hit, clock)
    if message.word in ("Right", "Look again"):
        record.record_check(exercise.id, solved=message.word == "Right")
    return message


def _launcher(exercise: Exercise, f: object) -> Callable:
    """Launches the learner's kernel; the adapter meets it once, so that it is compiled once."""

    @functools.cache
    def adapted() -> Callable:
        return exercise.adapter(f)

    return lambda *args: adapted()(*args)


def _all_expected(exercise: Exercise, cases: list[Case]) -> list[Outputs]:
    return [expected_outputs(exercise, exercise.oracle, case) for case in cases]


def _work_of_ours(exercise: Exercise, cases: list[Case]) -> tuple[str, list[float]]:
    """The fingerprint of what is expected, and what each case took us, in processor seconds.

    The values themselves are kept from the learner's function, which could look for them.
    """
    expected, own = [], []
    for case in cases:
        begin = time.thread_time()
        expected.append(expected_outputs(exercise, exercise.oracle, case))
        own.append(time.thread_time() - begin)
    return _fingerprint(expected), own


def _fingerprint(expected: list[Outputs]) -> str:
    """A digest of all expected values; changes when the answer's tools are tampered with."""
    digest = hashlib.sha256()
    for outputs in expected:
        for array in outputs:
            digest.update(f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()


def _verdict(
    exercise: Exercise,
    outcomes: list[Outcome],
    expected: list[Outputs],
    hit: Hit | None,
    clock: Clock,
) -> Message:
    """The first that holds: interrupted, a forbidden call, a diagnosis, no return, right."""
    if outcomes and isinstance(outcomes[-1].error, KeyboardInterrupt):
        return interrupted(exercise.id)
    late = hit is not None and hit.kind == "escape" and hit.line is None  # seen after the run
    if hit is not None and not late:
        return refused_call(exercise, hit)
    finished = outcomes[:-1] if clock.expired else outcomes
    if (diagnosis := diagnose(exercise, finished, expected[: len(finished)])) is not None:
        return wrong(exercise, diagnosis)
    if clock.expired:
        return endless(exercise, outcomes[-1], clock.idle)
    return refused_call(exercise, hit) if late else solved(exercise, outcomes)


# What is handed on when an answer is wrong: the course's own version of the function.


def hand_on(exercise: Exercise) -> Callable:
    """The exercise's fallback, or its oracle dressed as the learner's function."""
    function = exercise.fallback or _dressed(exercise)
    _handed_out[id(function)] = (function, exercise)
    return function


def is_handed_on(function: object, id_: str) -> bool:
    """Whether an earlier check handed on this very function for this exercise."""
    known, exercise = _handed_out.get(id(function), (None, None))
    return known is not None and known is function and exercise.id == id_


def _handed_out_codes() -> frozenset[int]:
    """Ids of the codes of all functions handed on: later exercises may use them."""
    functions = [f for function, item in _handed_out.values() for f in (function, item.oracle)]
    return frozenset(id(f.__code__) for f in functions if hasattr(f, "__code__"))


def _dressed(exercise: Exercise) -> Callable:
    oracle, dtype = exercise.oracle, exercise.dtype

    @functools.wraps(oracle, assigned=(), updated=())  # gives it the oracle's signature
    def course_version(*args: object, **kwargs: object) -> object:
        returned = oracle(*args, **kwargs)
        if dtype in (None, "any", *KINDS.values()):
            return returned
        cast = functools.partial(np.asarray, dtype=dtype)
        return tuple(map(cast, returned)) if len(exercise.outputs) > 1 else cast(returned)

    course_version.__name__ = course_version.__qualname__ = exercise.id.rpartition(".")[2]
    course_version.__doc__ = f"The course's own version of {exercise.id}, until yours is right."
    return course_version
