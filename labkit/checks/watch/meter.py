"""Processor time: what the operating system knows of one thread, and what a loop costs here."""

import threading
import time
from functools import cache
from pathlib import Path


@cache
def seconds_of_a_round() -> float:
    """Processor time of one round of an empty loop, on this machine and in this process.

    The slowest of several measurements: a budget that is too large wrongs nobody.
    """
    rounds = 20_000
    slowest = 0.0
    for _ in range(5):
        begin = time.thread_time()
        left = rounds
        while left:
            left -= 1
        slowest = max(slowest, time.thread_time() - begin)
    return slowest / rounds


class ThreadMeter:
    """What the operating system knows about one thread."""

    def __init__(self, thread: threading.Thread) -> None:
        self.ident = thread.ident
        self._task = Path(f"/proc/self/task/{thread.native_id}")
        self._counted = Path("/proc/self/schedstat").exists()

    def cpu(self) -> float:
        """Processor time that the thread has used, in seconds."""
        if not hasattr(time, "pthread_getcpuclockid"):  # macOS has only the process's
            return time.process_time()
        return time.clock_gettime(time.pthread_getcpuclockid(self.ident))

    def slept(self) -> float:
        """Seconds in which it neither ran nor queued for a processor; only differences count.

        Where the system does not count the queueing, that is in it. A thread that has ended sleeps.
        """
        if not self._counted:
            return time.monotonic() - self.cpu()
        return time.monotonic() - sum(self._ran_and_queued())

    def ran(self) -> float:
        """Processor time of a thread that may have ended; 0 then, or where nobody counts it."""
        return self._ran_and_queued()[0]

    def _ran_and_queued(self) -> tuple[float, float]:
        try:
            ran, queued, _ = map(int, (self._task / "schedstat").read_text().split())
        except (OSError, ValueError):
            return 0.0, 0.0
        return ran / 1e9, queued / 1e9

    def fetches(self) -> int:
        """How often it has waited until a page of its memory came from a disk."""
        try:
            stat = (self._task / "stat").read_text()
        except OSError:
            return 0
        return int(stat.rpartition(") ")[2].split()[9])
