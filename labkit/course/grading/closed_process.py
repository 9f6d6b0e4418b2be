"""Starts a program in a closed room (closed_room.py), asks it, and ends it: it may not be trusted.

    with ClosedProcess(room, "labkit.course.grading.student_process", hides=...) as process:
        reply = process.ask({"cells": ...}, seconds=60)

`ask` raises Ended where no reply comes: the program has ended, or was ended since it took too much
work, time or memory. Work is processor time, so that a busy machine ends nobody.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.checks.watch.leftovers import children
from labkit.course import CourseError
from labkit.course.grading import closed_room, data

LOOK = 0.2  # seconds between two looks at the memory that a room's processes take
GOING = 10.0  # seconds in which a room's processes are gone once they were killed
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
WAITS = 5  # times its seconds, and so many seconds more, that a program may wait instead of work
WAITS_MORE = 20


class Ended(Exception):
    """The program gives no reply; the text says why, as the end of "It ...", without a point."""


@dataclass(frozen=True)
class Limits:
    """What the programs of one room may take.

    memory     bytes, of all processes together; of each by itself two thirds
    disk       bytes of files, which lie in memory
    processes  processes and threads
    cpu        seconds of processor time of one process
    """

    memory: int = 3 * 2**30
    disk: int = 256 * 2**20
    processes: int = 256
    cpu: int = 900

    def of_a_process(self) -> dict[str, int]:
        """The limits that the system itself knows (setrlimit)."""
        return {
            "DATA": self.memory * 2 // 3,
            "FSIZE": self.disk,
            "NPROC": self.processes,
            "NOFILE": 512,
            "CPU": self.cpu,
            "CORE": 0,
        }


@dataclass(frozen=True)
class Room:
    """What all closed rooms of a grading share.

    root         an empty folder; each room lays its own file system over it
    see          files and folders that can be read in it
    path         sys.path of its programs
    environment  of its programs
    copies       [source, place]: files that are laid there, as its user's own
    closed       False: no namespaces; files can be read, and there is a network
    """

    root: str
    see: list[str]
    path: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    copies: list[list[str]] = field(default_factory=list)
    closed: bool = True
    limits: Limits = field(default_factory=Limits)


class ClosedProcess:
    """One program in a room of its own; it is gone, with all that it has started, after `close`.

    user    its number, where this process is root
    hides   files and folders of the room that cannot be read
    at      the last thing that it said it was about to do
    """

    def __init__(self, room: Room, module: str, user: int, hides: Iterable[str] = ()) -> None:
        self.at: Any = None
        self._limits = room.limits
        self._held = bytearray()
        self._own = None if room.closed else tempfile.TemporaryDirectory(prefix="labkit-room-")
        root = room.root if room.closed else self._own.name
        if os.getuid() or not room.closed:
            user = os.getuid()
        spec = {
            "module": module,
            "parent": os.getpid(),
            "root": root,
            "see": room.see,
            "hide": sorted({one for place in hides for one in with_compiled(place)}),
            "path": room.path,
            "environment": room.environment | {"HOME": closed_room.HOME},
            "copies": room.copies,
            "closed": room.closed,
            "user": user,
            "disk": room.limits.disk,
            "limits": room.limits.of_a_process(),
        }
        if not room.closed:
            spec["environment"] |= {"HOME": root, "TMPDIR": root}
        self._process = subprocess.Popen(
            [sys.executable, "-I", closed_room.__file__, json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", "")},
            start_new_session=True,
        )
        os.set_blocking(self._process.stdin.fileno(), False)

    def __enter__(self) -> "ClosedProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it at once. Its room has no place outside it."""
        started = list(children(self._process.pid))
        self._process.kill()
        for pid in started:  # without namespaces they would live on
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        end = time.monotonic() + GOING
        while time.monotonic() < end and any(Path(f"/proc/{pid}").exists() for pid in started):
            time.sleep(0.01)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()
        if self._own is not None:
            self._own.cleanup()

    def ask(self, message: object, seconds: float) -> dict:
        """Its reply; Ended where it works longer for it. CourseError where there is no room."""
        self._most_work = self._work() + seconds
        self._end = time.monotonic() + WAITS * seconds + WAITS_MORE
        self._write(json.dumps(message).encode() + b"\n")
        while True:
            reply = self._reply(self._line())
            if "at" not in reply:
                return reply
            self.at = reply["at"]

    def _reply(self, line: bytes) -> dict:
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise Ended("writes what is no message into the pipe of its results")
        if reply.get("closed") is False:
            raise CourseError(
                f"There is no closed room for students' code here ({reply.get('why')}). Grade on "
                "Linux where namespaces may be used (in Docker with --cap-add=SYS_ADMIN). With "
                "--unprotected, their code runs as an ordinary program of yours: it can read and "
                "change your files, and reach the network."
            )
        return reply

    def _write(self, text: bytes) -> None:
        """Write all of it, for whoever may read slowly or not at all."""
        pipe = self._process.stdin.fileno()
        rest = memoryview(text)
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_WRITE)
            while rest:
                self._refuse_too_much()
                if selector.select(LOOK):
                    try:
                        rest = rest[os.write(pipe, rest) :]
                    except BlockingIOError:
                        continue
                    except OSError:
                        return  # it has ended: reading says how

    def _line(self) -> bytes:
        """The next line that it writes."""
        pipe = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            looked = 0
            while (place := self._held.find(b"\n", looked)) < 0:
                self._refuse_too_much()
                looked = len(self._held)
                if looked > data.LARGEST:
                    raise Ended("writes more into the pipe of its results than fits")
                if selector.select(LOOK):
                    more = os.read(pipe, 1 << 20)
                    if not more:
                        raise Ended(f"has ended its process{self._how()}")
                    self._held += more
        line = bytes(self._held[:place])
        del self._held[: place + 1]
        return line

    def _how(self) -> str:
        """With which number, where it is known."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            return f" (exit code {code})" if code else ""
        return ""

    def _refuse_too_much(self) -> None:
        if self._work() > self._most_work:
            raise Ended("worked longer than it may")
        if time.monotonic() > self._end:
            raise Ended("waited longer than it may")
        taken = sum(map(_resident, self._processes()))
        if taken > self._limits.memory:
            raise Ended(f"took more than {self._limits.memory / 2**30:g} GiB of memory")

    def _processes(self) -> list[int]:
        return [self._process.pid, *children(self._process.pid)]

    def _work(self) -> float:
        """Seconds of processor time of all its processes, those that have ended among them."""
        return sum(map(_ran, self._processes()))


def with_compiled(place: str) -> list[str]:
    """A place, and what Python has compiled of it: that can be read as well as its text."""
    file = Path(place)
    cached = file.parent.glob(f"__pycache__/{file.stem}.*.pyc") if file.suffix == ".py" else ()
    return [str(place), *map(str, cached)]


def _resident(pid: int) -> int:
    """Bytes of memory that a process shares with no file; 0 for one that is gone."""
    with suppress(OSError, ValueError, IndexError):
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
        return (resident - shared) * PAGE
    return 0


def _ran(pid: int) -> float:
    """Processor time of a process and of the children that it waited for; 0 if it is gone."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return sum(map(int, fields[11:15])) / TICKS
    return 0.0
