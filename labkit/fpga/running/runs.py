"""Runs of compiled designs, in a process that may end on one: simulator.py.

One such process serves all runs of this one. It starts with the first run, and another takes its
place when a design has ended it.
"""

import atexit
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.running import simulator
from labkit.fpga.toolchain.cpp import DRIVER, compile_cpp, driver_text, kept

SAID = 4000  # bytes of its last words that are read
BEYOND = (
    "An index is out of bounds: it points beyond the end of a memory. Compare the largest value "
    "that the index can have with the memory's length."
)
_ASSERTION = re.compile(r"Assertion (?:failed: )?.*")
_OUT_OF_BOUNDS = re.compile(r"out of bounds \w+")
_taking_turns = threading.Lock()
_started: dict[int, "Simulator"] = {}  # by the process that it serves: a fork starts its own


def run(top: str, job: dict[str, Any]) -> dict[str, Any]:
    """What `simulator.outcome` says of a job, whose design has this top module.

    Raises RTLError where the design ends the simulator, with its words. Interrupted, it ends it.
    """
    job = {**job, "driver": str(prepare())}
    with _taking_turns:
        mine = _started.get(os.getpid())
        if mine is None or not mine.runs:
            mine = _started[os.getpid()] = Simulator()
        return mine.outcome(top, job)


def prepare() -> Path:
    """The driver's library, compiled if it is not there yet."""
    return kept("streams.so", driver_text(), _compile)


class Simulator:
    """A process of simulator.py; it ends with this one, whatever ends this one."""

    def __init__(self) -> None:
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", simulator.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            start_new_session=True,  # an interrupt is for this process alone
        )
        atexit.register(self.end)

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def outcome(self, top: str, job: dict[str, Any]) -> dict[str, Any]:
        """Hands a job over and waits for what comes of it."""
        try:
            pickle.dump(job, self._process.stdin, 5)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._process.wait()
            raise _ended(top, self._process.returncode, self._last_words()) from None
        except BaseException:  # such as the notebook's stop button
            self.end()
            raise

    def end(self) -> None:
        """Ends it, if it runs."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._words):
            with suppress(OSError):  # what was never sent
                stream.close()

    def _last_words(self) -> str:
        size = self._words.seek(0, os.SEEK_END)
        self._words.seek(max(size - SAID, 0))
        words = self._words.read().decode("utf-8", "replace")
        self.end()
        return words


def _ended(top: str, code: int, words: str) -> RTLError:
    """The error for a simulator that ended with an exit code in the middle of a job."""
    if not (said := _ASSERTION.findall(words)):
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ToolError(f"The simulation of {top} was ended by the system ({how}).")
    beyond = _OUT_OF_BOUNDS.search(said[-1])
    what, why = (beyond[0], BEYOND) if beyond else (said[-1], "")
    return RTLError(f'The simulator of {top} ended on an assertion: "{what}". {why}'.strip())


def _compile(path: Path) -> None:
    compile_cpp(["-O2", "-shared", "-s", "-o", path, DRIVER / "streams.cpp"], DRIVER)
