"""What a learner's function leaves behind in this process is cleared away, and told.

Threads that still run its code, processes that it has started, another working directory, Python's
own functions and modules replaced: the next cell would meet them.
"""

import builtins
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import walk_stack

from labkit.checks.watch.clock import IDLE, ROUNDS, TICK, TimeUp
from labkit.checks.watch.meter import ThreadMeter, seconds_of_a_round
from labkit.checks.watch.source import learner_line

THREAD = "The function leaves a thread running, and the cells below would meet it."
PROCESS = "The function leaves a process running; it was ended."
FOLDER = "The function changes the working directory; it was put back."


class Leftovers:
    """The state before a run; `clear` brings it back.

    processes   whether those that started in between are the function's
    """

    def __init__(self, processes: bool) -> None:
        self._processes = set(_started_here()) if processes else None
        self._folder = _folder()
        self._builtins = dict(vars(builtins))
        self._modules = dict(sys.modules)

    def clear(self, threads: Iterable[threading.Thread]) -> tuple[str, str] | None:
        """A sentence on the first thing that was left behind, and what to do; None if nothing.

        threads   that the function has started
        """
        found = [*self._functions(), *self._changed_modules(), *self._other_folder()]
        with _quiet_threads():
            found += self._running(threads)
        if self._processes is not None:
            found += self._running_processes()
        return found[0] if found else None

    def _functions(self) -> Iterator[tuple[str, str]]:
        for name in _changes(self._builtins, vars(builtins)):
            yield (
                f"The function changes Python's own `{name}`; it was put back.",
                "Leave it as it is.",
            )

    def _changed_modules(self) -> Iterator[tuple[str, str]]:
        for name in _changes(self._modules, sys.modules):
            what = f"The function changes the entry `{name}` of `sys.modules`; it was put back."
            yield what, "Leave modules as they are."

    def _other_folder(self) -> Iterator[tuple[str, str]]:
        if self._folder is not None and _folder() != self._folder:
            with suppress(OSError):
                os.chdir(self._folder)
            yield FOLDER, "Name files by their whole path."

    def _running(self, threads: Iterable[threading.Thread]) -> Iterator[tuple[str, str]]:
        for thread in threads:
            if not _ended(thread):
                yield THREAD, "Let it end, and `join` it before you return."

    def _running_processes(self) -> Iterator[tuple[str, str]]:
        for pid in set(_started_here()) - self._processes - _python_s_own():
            for one in (pid, *children(pid)):
                with suppress(OSError):
                    os.kill(one, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(pid, 0)
            yield PROCESS, "Wait for what you start before you return."


def _changes(before: dict, now: dict) -> list[str]:
    """The names whose value is gone or another one; they have their old one again."""
    changed = [name for name, value in before.items() if now.get(name, now) is not value]
    for name in changed:
        now[name] = before[name]
    return changed


def _folder() -> str | None:
    with suppress(OSError):  # it may have been deleted
        return os.getcwd()
    return None


def _ended(thread: threading.Thread) -> bool:
    """Ends a thread in the learner's code where that can be done; whether none is there any more.

    One that works is struck until it ends. What sleeps, or loops in C, cannot be ended: it sleeps
    or works for as long as a function may that is checked.
    """
    meter = ThreadMeter(thread)
    slept, ran, works = meter.slept(), meter.ran(), meter.ran()
    while thread.is_alive():
        frame = sys._current_frames().get(thread.ident)
        if frame is None or learner_line(walk_stack(frame)) is None:
            return True  # a library's own, such as one of a pool
        if meter.slept() - slept > IDLE or meter.ran() - ran > ROUNDS * seconds_of_a_round():
            return False
        # While an exception waits for a sleeping thread, Python 3.11 hangs in every profiled one.
        if meter.ran() > works:
            ident = ctypes.c_ulong(thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(TimeUp))
        works = meter.ran()
        thread.join(TICK)
    return True


def _started_here() -> Iterator[int]:
    """The processes that this thread has started: those of other threads are others' business."""
    return _listed(Path(f"/proc/self/task/{threading.get_native_id()}/children"))


def children(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have, as far as Linux says."""
    tasks: list[Path] = []
    with suppress(OSError):  # it may end meanwhile
        tasks += Path(f"/proc/{pid}/task").glob("*/children")
    for task in tasks:
        for child in _listed(task):
            yield child
            yield from children(child)


def _listed(numbers: Path) -> Iterator[int]:
    with suppress(OSError):
        yield from map(int, numbers.read_text().split())


def _python_s_own() -> set[int]:
    """Processes that Python itself keeps for programs with several of them."""
    keepers = {"forkserver": "_forkserver_pid", "resource_tracker": "_pid"}
    own = set()
    for name, attribute in keepers.items():
        module = sys.modules.get(f"multiprocessing.{name}")
        pid = getattr(getattr(module, f"_{name}", None), attribute, None)
        if pid is not None:
            own |= {pid, *children(pid)}
    return own


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """Within the block, nobody is told of the exception that ends a thread."""
    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:
        yield
    finally:
        threading.excepthook = hook
