"""Sees whether a learner's function calls what the exercise forbids, under whatever name.

Three looks, because none sees everything:

1. The profiler (`sys.setprofile`) sees every call of a Python function, and every call that Python
   code makes of a function written in C, under whatever alias.
2. It does not see ufuncs, nor a C function that is called from C (`map`, `functools.partial`). For
   these a stand-in is put into their modules for the run; it reports and passes the call on.
3. A ufunc that was bound to another name before is found by looking at what the learner's code
   refers to: arguments, closures, and the globals it loads; also `@` and `import torch`.

The exercise's own oracle and the rooms that hold the answers are always forbidden. A call counts
when the nearest code that is not a library's is the learner's. The first hit is kept.

The profiler makes a call several times dearer. So it looks at the first `WATCHED` calls and returns
of each case, far more than a right answer makes, and then rests: it cannot multiply the time of a
long one. The other two looks go on.

Not seen: compiled code (numba), other processes, a forbidden C function fetched from an object
that none of the three looks reaches, and deliberate sabotage of labkit itself.
"""

import dis
import gc
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from traceback import walk_stack
from types import CodeType, FrameType, ModuleType

from labkit import ROOMS
from labkit.checks.exercise import Exercise
from labkit.checks.watch.forbidden import ESCAPES, Escape, StandIn, Targets, codes_of, modules_with
from labkit.checks.watch.source import Line, learner_line, line_of, origin

WATCHED = 50_000  # calls and returns of a case: at most some hundredths of a second
ANSWERS = (*ROOMS.values(), "labkit.checks.registry", "labkit.checks.judge")


@dataclass(frozen=True)
class Hit:
    """kind: "forbidden", "oracle" or "escape"; name: what was called; line: the learner's."""

    kind: str
    name: str
    line: Line | None


class Guard:
    """Watches one run of an exercise; `hit` is the first forbidden thing it saw.

    exempt   ids of the codes of functions that earlier checks handed out
    """

    def __init__(self, exercise: Exercise, exempt: frozenset[int]) -> None:
        self.hit: Hit | None = None
        self._targets = Targets((*ANSWERS, *exercise.forbidden))
        answers = (exercise.oracle, exercise.fallback)
        self._own = {id(code): code for answer in answers for code in codes_of(answer)}
        self._exempt = exempt
        self._boundary: CodeType | None = None
        self._boundary_is_learner = exercise.adapter is None
        self._known: dict[int, tuple[str, str, CodeType]] = {}  # what a call of a code is, by id
        self._replaced: list[tuple[ModuleType, str, object]] = []
        self._active = False
        self._left = WATCHED

    def inspect(self, function: object) -> None:
        """A forbidden ufunc or builtin handed in as the answer itself, perhaps in a `partial`."""
        if name := self._targets.names(function):
            self.hit = Hit("forbidden", name, None)

    @contextmanager
    def stand_ins(self) -> Iterator[None]:
        """Puts stand-ins into the modules of opaque functions, and takes them out again."""
        hook = threading.getprofile()
        self._replace(self._targets.opaque.values())
        threading.setprofile(self._profile)
        self._active = True
        try:
            yield
        finally:
            self._active = False
            threading.setprofile(hook)
            for module, name, function in self._replaced:
                setattr(module, name, function)

    def _replace(self, opaque: Iterable[tuple[object, str]]) -> None:
        for function, dotted in opaque:
            name = dotted.rpartition(".")[2]
            stand_in = StandIn(function, partial(self._report, "forbidden", dotted))
            for module in modules_with(function, dotted):
                setattr(module, name, stand_in)
                self._replaced.append((module, name, function))

    @contextmanager
    def profile(self, boundary: CodeType) -> Iterator[None]:
        """Watches this thread. `boundary` is the code that calls the learner's function.

        The garbage collector rests: libraries hang their own functions into it (jax does), and
        these would look as if the learner's code had called them.
        """
        self._boundary, collecting = boundary, gc.isenabled()
        before, mine = sys.getprofile(), self._profile
        self._left = WATCHED
        gc.disable()
        sys.setprofile(mine)
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            removed = sys.getprofile() is not mine and self._left > 0
            if removed and not (self.hit and self.hit.kind == "escape"):
                self.hit = Hit("escape", "sys.setprofile", None)
            sys.setprofile(before)

    # Look 1: calls.

    def _profile(self, frame: FrameType, event: str, arg: object) -> None:
        if not self._active:
            return
        self._left -= 1
        if self._left <= 0:
            sys.setprofile(None)
            return
        if event == "call":
            self._on_call(frame)
        elif event == "c_call":
            if arg in ESCAPES:
                self._stop_escape(ESCAPES[arg], frame)
            elif name := self._targets.called_in_c(arg):
                self._report("forbidden", name, frame)

    def _on_call(self, frame: FrameType) -> None:
        code = frame.f_code
        if id(code) not in self._known:
            self._replace(self._targets.resolve())
            self._known[id(code)] = (*self._meaning(frame), code)
        kind, name, _ = self._known[id(code)]
        if kind == "learner":
            self._look_at_values(frame)
        elif kind == "escape":
            self._stop_escape(name, frame.f_back)
        elif kind:
            self._report(kind, name, frame.f_back)

    def _meaning(self, frame: FrameType) -> tuple[str, str]:
        code = frame.f_code
        if id(code) in self._own:
            return "oracle", code.co_name
        if id(code) in self._exempt:
            return "", ""
        if code in ESCAPES:
            return "escape", ESCAPES[code]
        if name := self._targets.called(code, frame.f_globals.get("__name__")):
            return "forbidden", name
        if origin(code, frame.f_globals) == "learner":
            self._look_at_code(frame)
            return "learner", ""
        return "", ""

    def _stop_escape(self, name: str, frame: FrameType | None) -> None:
        """Only where the learner's code itself calls it: libraries have their reasons."""
        if frame is not None and origin(frame.f_code, frame.f_globals) == "learner":
            self._report("escape", name, frame)
            raise Escape

    # Look 3: what the learner's code refers to.

    def _look_at_values(self, frame: FrameType) -> None:
        for value in frame.f_locals.values():  # arguments and closures, at the start of a call
            if name := self._targets.names(value):
                self._report("forbidden", name, frame)

    def _look_at_code(self, frame: FrameType) -> None:
        code = frame.f_code
        for step in dis.get_instructions(code):
            name = None
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = self._targets.names(frame.f_globals.get(step.argval))
            elif step.opname == "LOAD_CONST" and step.argval == "bfloat16":
                name = self._targets.module_of("ml_dtypes")  # its type's name in NumPy
            elif step.opname == "IMPORT_NAME":
                name = self._targets.module_of(step.argval)
            elif step.opname == "BINARY_OP" and step.argrepr in self._targets.operators:
                name = "@"
            if name and self.hit is None:
                self.hit = Hit("forbidden", name, line_of(code, step.positions.lineno))

    def _report(self, kind: str, name: str, frame: FrameType | None) -> None:
        if self.hit is None and self._active and (kind != "forbidden" or self._by_learner(frame)):
            self.hit = Hit(kind, name, learner_line(walk_stack(frame), self._boundary))

    def _by_learner(self, frame: FrameType | None) -> bool:
        for step, _ in walk_stack(frame):
            if step.f_code is self._boundary:
                return self._boundary_is_learner
            if id(step.f_code) in self._exempt:
                return False
            where = origin(step.f_code, step.f_globals)
            if where != "library":
                return where == "learner"
        return True  # the bottom of a thread that the function started
