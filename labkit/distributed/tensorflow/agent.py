"""One host's agent for a TensorFlow cluster: it starts programs, and ends them whatever happens.

    python -m labkit.distributed.tensorflow.agent [--closed]

With --closed, all of them share a network without a way out (connections/closed_network.py). It
loads TensorFlow once, seconds of work, and each program begins as a fork of it; where there is no
safe fork, outside Linux, each is started by itself. Orders come as lines of JSON on the standard
input, and each is answered with one line. When that input ends, because whoever gave the orders has
ended or is gone, the agent kills its programs and leaves. Lesson faults.
"""

import ctypes
import faulthandler
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import traceback
from pathlib import Path

from labkit.distributed.connections import closed_network
from labkit.distributed.errors import LaunchError

# Of what the programs import; not labkit's own tests of it.
LOADED = ("tensorflow", "keras", "labkit.distributed.tensorflow.keras_twin", "torch")
CLOSED, READY = "--closed", "ready"
END_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG
BECOME = "import json, sys; from labkit.distributed.tensorflow.agent import become; "
BECOME += "become(*json.loads(sys.argv[1]))"


class Agent:
    """The programs of this host, by the ids of their processes; each order is a method."""

    def __init__(self) -> None:
        self.running: dict[int, subprocess.Popen | None] = {}
        self.ended: dict[int, int] = {}

    def start(self, words: list[str], folder: str, environment: dict[str, str]) -> int:
        """Starts a Python program in a folder, where its output goes to the file `log`."""
        with (Path(folder) / "log").open("ab") as log:
            if sys.platform == "linux":
                pid = os.fork()
                if pid == 0:
                    os.dup2(log.fileno(), 1)
                    os.dup2(log.fileno(), 2)
                    become(words, folder, environment)
                self.running[pid] = None
                return pid
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", BECOME, json.dumps([words, folder, environment])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.running[process.pid] = process
        return process.pid

    def where(self, pid: int) -> None:
        """Lets a program write to its log where it is: the lines of all its calls."""
        os.kill(pid, signal.SIGUSR1)

    def code(self, pid: int) -> int | None:
        """A program's exit code, negative for a signal; None while it runs."""
        if pid in self.running:
            code = self._ended(pid)
            if code is None:
                return None
            del self.running[pid]
            self.ended[pid] = code
        return self.ended[pid]

    def kill(self, pid: int) -> int:
        """Ends a program by SIGKILL, and waits until it is gone; its exit code."""
        if self.code(pid) is None:
            os.kill(pid, signal.SIGKILL)
            process = self.running.pop(pid)
            self.ended[pid] = process.wait() if process else _code(os.waitpid(pid, 0)[1])
        return self.ended[pid]

    def end(self) -> None:
        """Kills all programs."""
        for pid in list(self.running):
            self.kill(pid)

    def _ended(self, pid: int) -> int | None:
        process = self.running[pid]
        if process:
            return process.poll()
        gone, status = os.waitpid(pid, os.WNOHANG)
        return _code(status) if gone else None


def main() -> None:
    """Answers orders such as {"do": "kill", "with": [PID]} until there are no more.

    Before, it says "ready", or why it cannot be.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    if CLOSED in sys.argv:
        try:
            closed_network.enter()
        except LaunchError as error:
            print(json.dumps(str(error)), file=answers)
            return
    os.dup2(2, 1)  # what libraries print is no answer
    if sys.platform == "linux":
        for name in LOADED:
            importlib.import_module(name)
        faulthandler.register(signal.SIGUSR1, file=sys.stderr)  # every fork can be asked at once
    else:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a program that is only just starting
    agent = Agent()
    print(json.dumps(READY), file=answers)
    try:
        for line in sys.stdin:
            order = json.loads(line)
            print(json.dumps(getattr(agent, order["do"])(*order["with"])), file=answers)
    finally:
        agent.end()
        os._exit(0)  # the clean-up of all that was loaded takes seconds


def become(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Turns this process into a Python program; never returns."""
    code = 1
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        faulthandler.register(signal.SIGUSR1, file=sys.stderr)
        os.chdir(folder)
        os.environ.update(environment)
        sys.argv = words
        sys.path[0] = str(Path(words[0]).parent)
        runpy.run_path(words[0], run_name="__main__")
        code = 0
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # without TensorFlow's clean-up, which may wait for others


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _code(status: int) -> int:
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
