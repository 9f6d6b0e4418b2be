"""`last_right`: the learner's last right answer to an exercise, or ours, and whose it is.

An answer that is a text, such as a module, is kept with the progress: every notebook finds it. A
function is kept as long as the kernel that made it runs. LABKIT_PROGRESS=off keeps none.
"""

from collections.abc import Callable
from typing import NamedTuple

from labkit.checks import record
from labkit.checks.course_version import course_version_of
from labkit.checks.items import Exercise
from labkit.checks.registry import registry
from labkit.checks.render import Message, say

_functions: dict[str, Callable] = {}  # by the exercise's id


class Answer(NamedTuple):
    """A right answer to an exercise.

    value  the text or the function, as `check` returns it
    whose  "yours", or "ours" where no right answer of the learner's is known
    """

    value: Callable | str
    whose: str


def last_right(id: str) -> Answer:
    """The learner's last right answer to an exercise, or the course's own.

    A text was right when it was checked, and is not checked again. Raises UnknownId for an id that
    no exercise has.
    """
    exercise = registry().find(id, Exercise)
    kept = _functions.get(id) if record.enabled() else None
    kept = kept or record.load()["exercises"].get(id, {}).get("answer")
    if callable(kept) or isinstance(kept, str):
        return Answer(kept, "yours")
    if kept is not None:
        say(Message("Note", f"What is kept as your answer to {id} is no text. Ours is taken."))
    return Answer(course_version_of(exercise), "ours")


def whose(f: Callable) -> str:
    """A function that `check` returned, in words: "your skew", or "our skew" if it is the course's.

    The lessons on a grid of cells say so beside what they print.
    """
    owner = "our" if f.__module__.startswith("labkit") else "your"
    return f"{owner} {f.__name__}"


def keep_right(id: str, answer: Callable | str) -> None:
    """Records a right attempt with its answer, for `last_right`."""
    text = answer if isinstance(answer, str) else None
    _functions.pop(id, None)
    if text is None and record.enabled():
        _functions[id] = answer
    record.record_check(id, solved=True, answer=text)
