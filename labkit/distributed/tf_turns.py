"""One TensorFlow cluster at a time on a machine, free ports, and waiting that ends.

Two notebooks that run at once would start twelve processes; so the second one waits. Lesson faults.
"""

import fcntl
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from labkit.distributed.errors import LaunchError

TURN = 540.0  # seconds to wait for another cluster on this machine
PORTS = range(20_000, 32_000)  # below those that systems hand out by themselves
POLL = 0.02


class Turn:
    """This machine's one turn to run a cluster, from making it to `end`."""

    def __init__(self, timeout: float = TURN) -> None:
        path = Path(tempfile.gettempdir()) / f"labkit-tf-cluster-{os.getuid()}.lock"
        self.file = path.open("a")
        for _ in repeated(timeout):
            with suppress(BlockingIOError):
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
        self.file.close()
        raise LaunchError(
            f"Another TensorFlow cluster has been running on this machine for {timeout:g} s. End "
            "it, or the notebook that holds it, and try again."
        )

    def end(self) -> None:
        """Gives the turn to the next."""
        self.file.close()


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
