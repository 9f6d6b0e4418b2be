"""One TensorFlow cluster at a time on a machine, in the order of asking; free ports.

Two notebooks that run at once would start twelve processes; so the second one waits. The turns are
one user's own, in a folder that nobody else can enter: who could lock its files, or make it first,
could keep a cluster waiting. Lesson faults.
"""

import fcntl
import os
import platform
import random
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from labkit.distributed.errors import LaunchError
from labkit.files import cache_folder

TURN = 540.0  # seconds to wait for other clusters on this machine
PORTS = range(20_000, 32_000)  # below those that systems hand out by themselves
POLL = 0.02


class Turn:
    """This machine's one turn to run a cluster, from making it to `end`.

    Whoever asks draws a ticket, a file with a number, and locks it: the lock ends with the process,
    however that ends. Its turn has come when no smaller number is locked. Raises LaunchError where
    the turn does not come in time, and for a folder of turns that is not the user's alone.
    """

    def __init__(self, timeout: float = TURN) -> None:
        self.folder = _own_folder()
        with self._alone(timeout) as alone:
            if not alone:
                raise LaunchError(
                    f"Another program has held {self.folder / 'gate'} locked for {timeout:g} s, so "
                    "that no TensorFlow cluster can ask for its turn: end that program, and try "
                    "again."
                )
            self.number = max([0, *self._numbers()]) + 1
            self.ticket = self._path(self.number).open("a")
            fcntl.flock(self.ticket, fcntl.LOCK_EX)
        for _ in repeated(timeout):
            if self._comes():
                return
        self.end()
        raise LaunchError(
            f"Other TensorFlow clusters have been running on this machine for {timeout:g} s. End "
            "them, or the notebooks that hold them, and try again."
        )

    def end(self) -> None:
        """Gives the turn to the next; a second time, nothing."""
        if not self.ticket.closed:  # else the number may be another's by now
            self._path(self.number).unlink(missing_ok=True)
            self.ticket.close()

    def _comes(self) -> bool:
        """Whether nobody with a smaller number is left; tickets of ended processes are removed."""
        with self._alone(0) as alone:
            if not alone:
                return False
            for number in self._numbers():
                if number == self.number:
                    return True
                if _locked(self._path(number)):
                    return False
                self._path(number).unlink(missing_ok=True)
        return True

    def _numbers(self) -> list[int]:
        """Of all tickets, rising."""
        return sorted(int(path.stem) for path in self.folder.glob("*.ticket"))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.ticket"

    @contextmanager
    def _alone(self, seconds: float) -> Iterator[bool]:
        """While nobody else draws a ticket or looks at one; whether it came to that in time."""
        with (self.folder / "gate").open("a") as gate:
            yield any(_lock(gate) for _ in repeated(seconds))


def free_ports() -> Iterator[int]:
    """Ports that nobody listens on, in an order of chance."""
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as trial, suppress(OSError):
            trial.bind(("127.0.0.1", port))
            yield port


def repeated(timeout: float) -> Iterator[None]:
    """Again and again, with pauses, until the time is over; at least once."""
    end = time.monotonic() + timeout
    yield
    while time.monotonic() < end:
        time.sleep(POLL)
        yield


def _locked(path: Path) -> bool:
    with suppress(FileNotFoundError), path.open("a") as file:
        return not _lock(file)
    return False


def _lock(file: IO) -> bool:
    """Locks a file until it is closed; False where somebody else has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _own_folder() -> Path:
    """This machine's turns: a cache folder may lie on a disk that several machines share."""
    folder = cache_folder() / f"tf-turns-{platform.node()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()  # a link is open to all, and refused
    except OSError as error:
        wrong = f"cannot be made: {error.strerror}. Make room for it"
    else:
        if state.st_uid == os.getuid() and not stat.S_IMODE(state.st_mode) & 0o077:
            return folder
        wrong = "belongs to another user, or is open to others. Remove it"
    raise LaunchError(
        f"The folder {folder}, in which TensorFlow clusters take turns, {wrong}, or name another "
        "cache folder in the environment variable LABKIT_CACHE."
    )
