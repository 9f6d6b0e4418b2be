"""One TensorFlow cluster at a time on a machine, in the order of asking; free ports.

Two notebooks that run at once would start twelve processes; so the second one waits. Lesson faults.
"""

import fcntl
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labkit.distributed.errors import LaunchError

TURN = 540.0  # seconds to wait for other clusters on this machine
PORTS = range(20_000, 32_000)  # below those that systems hand out by themselves
POLL = 0.02


class Turn:
    """This machine's one turn to run a cluster, from making it to `end`.

    Whoever asks draws a ticket, a file with a number, and locks it: the lock ends with the process,
    however that ends. Its turn has come when no smaller number is locked.
    """

    def __init__(self, timeout: float = TURN) -> None:
        self.folder = Path(tempfile.gettempdir()) / f"labkit-tf-turns-{os.getuid()}"
        self.folder.mkdir(exist_ok=True)
        with self._alone():
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
        with self._alone():
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
    def _alone(self) -> Iterator[None]:
        """While nobody else draws a ticket or looks at one."""
        with (self.folder / "gate").open("a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield


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
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
