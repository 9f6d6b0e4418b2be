"""`check`: is the function right? The verdict, a diagnosis when it is not, the costs when it is."""

import hashlib
import inspect
import zlib
from collections.abc import Callable

import numpy as np

from labkit.checks import progress
from labkit.checks.clock import Clock
from labkit.checks.diagnose import Diagnosis, Outputs, diagnose, expected_outputs
from labkit.checks.exercise import Case, Exercise
from labkit.checks.fallback import fallback, handed_out_codes, is_fallback
from labkit.checks.guard import Guard, Hit
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Code, Message, show
from labkit.checks.run import Run, run_cases
from labkit.checks.wording import (
    endless,
    error_text,
    interrupted,
    meddled,
    not_yet,
    pointer,
    refused_call,
    short,
    solved,
    wrong,
)


def check(id: str, f: Callable | None = None) -> Callable:
    """Checks the function `f` against the exercise `id` and says what it found.

    Returns `f` itself when it is right, and otherwise the course's own version with the same
    signature, so that the cells below work either way. Never raises, whatever `f` does, and answers
    within about a second.
    """
    exercise = None
    try:
        exercise = registry().find(id, Exercise)
        message = _judge(exercise, f)
    except UnknownId as error:
        message = Message("Note", str(error), ("Your function was not looked at.",))
    except KeyboardInterrupt:
        message = interrupted(exercise)
    except BaseException as error:  # a fault of the check must not stop a lesson
        reason = f"The check of {short(id)} itself went wrong; this is not your function's fault."
        message = Message("Check failed", reason, (Code(error_text(error)),))
    show(message)
    if exercise is None:
        return id if f is None and callable(id) else f
    if message.word == "Right":
        return f
    return fallback(exercise)


def seeded_cases(exercise: Exercise) -> list[Case]:
    """The exercise's cases; the seed comes from its id, so that they are the same everywhere."""
    return list(exercise.cases(np.random.default_rng(zlib.crc32(exercise.id.encode()))))


def _judge(exercise: Exercise, f: Callable) -> Message:
    cases = seeded_cases(exercise)
    if (refused := _refuse(exercise, f, cases)) is not None:
        return refused
    before = _fingerprint(_expected(exercise, cases))  # the values themselves are kept from f
    own = (exercise.oracle, exercise.fallback) if exercise.fallback else (exercise.oracle,)
    guard = Guard(
        exercise.forbidden, own, handed_out_codes(), boundary_is_learner=exercise.adapter is None
    )
    guard.inspect(f)

    def launched(*args: object, **kwargs: object) -> object:
        return exercise.adapter(f)(*args, **kwargs)

    run = run_cases(launched if exercise.adapter else f, cases, guard, Clock())
    try:
        expected = _expected(exercise, cases)
    except Exception:
        expected = []
    if _fingerprint(expected) != before:
        return meddled(exercise)
    diagnosis = diagnose(exercise, run.outcomes, expected)
    message = _verdict(exercise, run, guard.hit, diagnosis)
    if message.word in ("Right", "Look again"):
        progress.record_check(exercise.id, solved=message.word == "Right")
    return message


def _expected(exercise: Exercise, cases: list[Case]) -> list[Outputs]:
    return [expected_outputs(exercise, exercise.oracle, case) for case in cases]


def _fingerprint(expected: list[Outputs]) -> str:
    digest = hashlib.sha256()
    for array in (array for outputs in expected for array in outputs):
        digest.update(f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()


def _verdict(exercise: Exercise, run: Run, hit: Hit | None, diagnosis: Diagnosis | None) -> Message:
    if run.interrupted:
        return interrupted(exercise)
    late = hit is not None and hit.kind == "escape" and hit.line is None  # seen after the run
    if hit is not None and not late:
        return refused_call(exercise, hit)
    if run.expired:
        return endless(exercise, run)
    if diagnosis is not None:
        if diagnosis.problem.kind == "stub":
            return not_yet(exercise)
        return wrong(exercise, diagnosis)
    return refused_call(exercise, hit) if late else solved(exercise, run)


def _refuse(exercise: Exercise, f: object, cases: list[Case]) -> Message | None:
    """What can be said before `f` is called at all."""
    call, kind = f'`check("{exercise.id}", f)`', type(f).__name__
    if f is None:
        headline = f"{call} needs your function; it was given None."
        return Message("Look again", headline, (pointer(exercise),))
    if is_fallback(f, exercise.id):
        headline = "This is the course's own version, which an earlier check handed on."
        again = "Run the cell that defines your function, then this one."
        return Message("Not yet", headline, (again,))
    if exercise.adapter is not None:  # it knows what it can launch
        return None
    if not callable(f):
        headline = f"{call} needs the function itself; it was given a value of type {kind}."
        cure = "Write the function's name without parentheses behind it."
        return Message("Look again", headline, (cure,))
    if isinstance(f, type):
        return Message(
            "Look again", f"{call} needs a function; it was given the class {f.__name__}."
        )
    if inspect.iscoroutinefunction(f):
        return Message("Look again", "The function is defined with `async def`; write `def`.")
    return _wrong_parameters(exercise, f, cases)


def _wrong_parameters(exercise: Exercise, f: Callable, cases: list[Case]) -> Message | None:
    try:
        parameters, wanted = inspect.signature(f), inspect.signature(exercise.oracle)
    except (TypeError, ValueError):  # functions written in C have none
        return None
    for case in cases:
        try:
            parameters.bind(*case.args, **case.kwargs)
        except TypeError as error:
            headline = f"The function cannot be called as `f{_names_only(wanted)}`: {error}."
            yours = f"Yours is defined as `f{_names_only(parameters)}`."
            return Message("Look again", headline, (yours,))
    return None


def _names_only(parameters: inspect.Signature) -> str:
    plain = [p.replace(annotation=p.empty) for p in parameters.parameters.values()]
    return short(str(inspect.Signature(plain)), 90)
