"""Whose code a frame runs, and how to name one of the learner's lines."""

import linecache
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, FrameType

_STANDARD_LIBRARY = (
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("platstdlib"),
    "<frozen",
    "<__array_function__",  # NumPy's dispatcher
)
_INSTALLED = ("/site-packages/", "/dist-packages/", "\\site-packages\\")
_COURSE = ("labkit", "labkit_lessons", "numba_simt")
_LONGEST = 100  # characters of a line that are shown


@dataclass(frozen=True)
class Line:
    """A line of the learner's code, counted from its `def`: "line 3 of `linear_backward`"."""

    function: str
    number: int
    text: str

    def __str__(self) -> str:
        """The line's number and its function, without its text."""
        owner = "your lambda" if self.function == "<lambda>" else f"`{self.function}`"
        return f"line {self.number} of {owner}"


def origin(code: CodeType, module_globals: dict) -> str:
    """Whose code it is: the "course"'s, a "library"'s (or Python's own), or the "learner"'s."""
    if _is_of_the_course(module_globals):
        return "course"
    path = code.co_filename
    if path.startswith(_STANDARD_LIBRARY):
        return "library"
    if any(part in path for part in _INSTALLED):
        return "library"
    return "learner"


def _is_of_the_course(module_globals: dict) -> bool:
    """Whether these are the globals of a module of the course: a claimed name is not enough."""
    name = module_globals.get("__name__")
    if not isinstance(name, str) or name.partition(".")[0] not in _COURSE:
        return False
    module = sys.modules.get(name)
    return getattr(module, "__dict__", None) is module_globals


def line_of(code: CodeType, lineno: int | None) -> Line:
    """The line with number `lineno` in its file; the `def` of the function where it is None."""
    if not lineno:
        lineno = code.co_firstlineno
    text = linecache.getline(code.co_filename, lineno).strip()
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 3] + "..."
    return Line(code.co_name, lineno - code.co_firstlineno + 1, text)


def learner_line(
    steps: Iterable[tuple[FrameType, int]], boundary: CodeType | None = None
) -> Line | None:
    """The first line of the learner's code among (frame, line number), up to `boundary`."""
    for frame, lineno in steps:
        if frame.f_code is boundary:
            return None
        if origin(frame.f_code, frame.f_globals) == "learner":
            return line_of(frame.f_code, lineno)
    return None
