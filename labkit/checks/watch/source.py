"""Whose code a frame runs, and how to name one of the learner's lines."""

import linecache
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, FrameType

_STDLIB = (*map(sysconfig.get_path, ("stdlib", "platstdlib")), "<frozen", "<__array_function__")
_INSTALLED = ("/site-packages/", "/dist-packages/", "\\site-packages\\")


@dataclass(frozen=True)
class Line:
    """A line of the learner's code, counted from its `def`: "line 3 of `linear_backward`"."""

    function: str
    number: int
    text: str

    def __str__(self) -> str:
        owner = "your lambda" if self.function == "<lambda>" else f"`{self.function}`"
        return f"line {self.number} of {owner}"


def origin(code: CodeType, module_globals: dict) -> str:
    """Whose code it is: the "course"'s, a "library"'s (or Python's own), or the "learner"'s."""
    name = module_globals.get("__name__")
    if isinstance(name, str) and name.partition(".")[0] == "labkit":
        module = sys.modules.get(name)
        if getattr(module, "__dict__", None) is module_globals:  # a claimed name is not enough
            return "course"
    path = code.co_filename
    library = path.startswith(_STDLIB) or any(part in path for part in _INSTALLED)
    return "library" if library else "learner"


def line_of(code: CodeType, lineno: int | None) -> Line:
    lineno = lineno or code.co_firstlineno
    text = linecache.getline(code.co_filename, lineno).strip()
    text = text if len(text) <= 100 else text[:97] + "..."
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
