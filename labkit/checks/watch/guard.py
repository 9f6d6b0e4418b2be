"""Sees whether a learner's function calls what the exercise forbids, under whatever name.

Three looks, because none sees everything:

1. The profiler (`sys.setprofile`) sees every call of a Python function, and every call that Python
   code makes of a function written in C, under whatever alias.
2. It does not see ufuncs, nor a C function that is called from C (`map`, `functools.partial`). For
   these a stand-in is put into their modules for the run; it reports and passes the call on.
3. A ufunc that was bound to another name before is found by looking at what the learner's code
   refers to: arguments, closures, variables, and the globals it loads; also `@` and `import torch`.
   A type of numbers is found in the arrays of it, in which it is used.

The exercise's own oracle and the modules that hold the answers are always forbidden, and so is what
would end or disturb the process (escapes.py): this is stopped before it is called. A call counts
when the nearest code that is not a library's is the learner's. The first hit is kept.

The profiler makes a call several times dearer. So it looks at the first `WATCHED` calls and returns
of each case, far more than a right answer makes, and then rests: it cannot multiply the time of a
long one. The other two looks go on.

Not seen: compiled code (numba), other processes, a forbidden C function fetched from an object
that none of the three looks reaches, and deliberate sabotage of labkit itself.
"""

import dis
import gc
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import walk_stack
from types import CodeType, FrameType

from labkit.checks.items import Exercise
from labkit.checks.watch.escapes import IN_THE_KERNEL, Escape, Escapes
from labkit.checks.watch.forbidden import Forbidden, codes_of
from labkit.checks.watch.source import Line, learner_line, line_of, origin
from labkit.checks.watch.stand_ins import StandIns

WATCHED = 50_000  # calls and returns of a case: at most some hundredths of a second


@dataclass(frozen=True)
class Hit:
    """A forbidden thing that was seen.

    kind   "forbidden", "oracle", "escape", or "file": a rank writes one
    name   what was called
    line   the learner's; None where it is not known
    late   seen only after the run: the profiler was gone
    """

    kind: str
    name: str
    line: Line | None
    late: bool = False


class Guard:
    """Watches one run of an exercise; `hit` is the first forbidden thing it saw.

    answers  modules that hold the course's answers: forbidden, beside what the exercise forbids
    exempt   ids of the codes of functions that may do what the learner's may not
    escapes  functions that would end or disturb the process that it watches
    """

    def __init__(
        self,
        exercise: Exercise,
        answers: tuple[str, ...],
        exempt: frozenset[int],
        escapes: Escapes = IN_THE_KERNEL,
    ) -> None:
        self.hit: Hit | None = None
        self._escapes = escapes
        self._forbidden = Forbidden(exercise.forbidden, modules=answers)
        self._own: dict[int, CodeType] = {}
        for answer in (exercise.oracle, exercise.fallback):
            for code in codes_of(answer):
                self._own[id(code)] = code
        self._exempt = exempt
        self._boundary: CodeType | None = None
        self._boundary_is_learner = exercise.adapter is None
        self._known: dict[int, tuple[str, str, CodeType]] = {}  # what a call of a code is, by id
        self._stand_ins = StandIns(self._report_use)
        self._active = False
        self._others: set[int] = set()  # threads that were there before: none of the function's
        self._left = WATCHED
        self.threads: list[threading.Thread] = []  # that the function has started

    def inspect(self, function: object) -> None:
        """A forbidden ufunc or builtin handed in as the answer itself, perhaps in a `partial`."""
        name = self._forbidden.found_in(function)
        if name:
            self.hit = Hit("forbidden", name, None)

    @contextmanager
    def stand_ins(self) -> Iterator[None]:
        """Within the block: stand-ins for opaque functions, and new threads are watched too."""
        hook = threading.getprofile()
        for function, name in self._forbidden.opaque.values():
            self._stand_ins.put(function, name)
        for function, name in self._escapes.items():
            if name.startswith("os.") and not isinstance(function, CodeType):
                self._stand_ins.put_into(os, function, name)
        threading.setprofile(self._profile)
        self._others = set(sys._current_frames()) - {threading.get_ident()}
        self._active = True
        try:
            yield
        finally:
            self._active = False
            threading.setprofile(hook)
            self._stand_ins.take_out()

    @contextmanager
    def profile(self, boundary: CodeType) -> Iterator[None]:
        """Watches this thread. `boundary` is the code that calls the learner's function.

        The garbage collector rests: libraries hang their own functions into it (jax does), and
        these would look as if the learner's code had called them.
        """
        self._boundary = boundary
        self._left = WATCHED
        self._runs_in = threading.get_ident()
        collecting = gc.isenabled()
        before = sys.getprofile()
        mine = self._profile
        gc.disable()
        sys.setprofile(mine)
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            removed = sys.getprofile() is not mine and self._left > 0
            if removed and not (self.hit and self.hit.kind == "escape"):
                self.hit = Hit("escape", "sys.setprofile", None, late=True)
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
        elif event == "return":
            self._on_return(frame)
        elif event == "c_call":
            if arg in self._escapes:
                self._stop_escape(self._escapes[arg], frame)
            elif name := self._forbidden.called_in_c(arg):
                self._report("forbidden", name, frame)

    def _on_call(self, frame: FrameType) -> None:
        code = frame.f_code
        if id(code) not in self._known:
            for function, dotted in self._forbidden.resolve():
                self._stand_ins.put(function, dotted)
            self._known[id(code)] = (*self._meaning(frame), code)
        kind, name, _ = self._known[id(code)]
        if kind == "learner":
            self._look_at_values(frame)
        elif kind == "escape":
            self._stop_escape(name, frame.f_back)
        elif kind == "import":
            if name := self._forbidden.module_of(frame.f_locals["name"]):
                self._report("forbidden", name, frame.f_back)
        elif kind == "start":
            self._note_thread(frame.f_locals["self"])
        elif kind:
            self._report(kind, name, frame.f_back)

    def _on_return(self, frame: FrameType) -> None:
        """What the learner's function has fetched meanwhile is among its variables."""
        if self._known.get(id(frame.f_code), ("",))[0] == "learner":
            self._look_at_values(frame)

    def _meaning(self, frame: FrameType) -> tuple[str, str]:
        """What a call of the frame's code is: a kind of hit and a name, "learner", or nothing."""
        code = frame.f_code
        if id(code) in self._own:
            return "oracle", code.co_name
        if id(code) in self._exempt:
            return "", ""
        if code in self._escapes:
            return "escape", self._escapes[code]
        if code is threading.Thread.start.__code__:
            return "start", ""
        if code is importlib.import_module.__code__:
            return "import", ""
        name = self._forbidden.called(code, frame.f_globals.get("__name__"))
        if name:
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

    def _note_thread(self, started: threading.Thread) -> None:
        """Only by the function's own threads: others of this process may start some meanwhile."""
        mine = threading.get_ident()
        if mine == self._runs_in or any(mine == one.ident for one in self.threads):
            self.threads.append(started)

    # Look 3: what the learner's code refers to.

    def _look_at_values(self, frame: FrameType) -> None:
        for value in frame.f_locals.values():  # arguments, closures; at its end, variables
            if name := self._forbidden.found_in(value):
                self._report("forbidden", name, frame)

    def _look_at_code(self, frame: FrameType) -> None:
        for step in dis.get_instructions(frame.f_code):
            name = self._referred_to(step, frame.f_globals)
            if name and self.hit is None:
                line = line_of(frame.f_code, step.positions.lineno)
                self.hit = Hit("forbidden", name, line)

    def _referred_to(self, step: dis.Instruction, module_globals: dict) -> str | None:
        """The forbidden thing that one instruction of the learner's code loads, if any."""
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            return self._forbidden.found_in(module_globals.get(step.argval))
        if step.opname == "LOAD_CONST" and step.argval == "bfloat16":
            return self._forbidden.module_of("ml_dtypes")  # its type's name in NumPy
        if isinstance(step.argval, str) and step.argval in self._forbidden.operator_methods:
            return self._forbidden.operator_methods[step.argval]
        if step.opname == "IMPORT_NAME":
            return self._forbidden.module_of(step.argval)
        if step.opname == "BINARY_OP" and step.argrepr in self._forbidden.operators:
            return "@"
        return None

    def _report_use(self, name: str, frame: FrameType) -> None:
        """The user of a stand-in: of something forbidden, or an escape."""
        if threading.get_ident() in self._others:  # a kernel's own threads read the clock, too
            return
        if name in self._escapes.values():
            self._stop_escape(name, frame)
        else:
            self._report("forbidden", name, frame)

    def _report(self, kind: str, name: str, frame: FrameType | None) -> None:
        if self.hit is not None or not self._active:
            return
        if kind == "forbidden" and not self._by_learner(frame):
            return
        self.hit = Hit(kind, name, learner_line(walk_stack(frame), self._boundary))

    def _by_learner(self, frame: FrameType | None) -> bool:
        """Whether the nearest code that is not a library's is the learner's."""
        for step, _ in walk_stack(frame):
            if step.f_code is self._boundary:
                return self._boundary_is_learner
            if id(step.f_code) in self._exempt:
                return False
            where = origin(step.f_code, step.f_globals)
            if where != "library":
                return where == "learner"
        return True  # the bottom of a thread that the function started
