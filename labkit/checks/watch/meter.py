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
        self._status = Path(f"/proc/self/task/{thread.native_id}/status")

    def cpu(self) -> float:
        """Processor time that the thread has used, in seconds."""
        if not hasattr(time, "pthread_getcpuclockid"):  # macOS has only the process's
            return time.process_time()
        return time.clock_gettime(time.pthread_getcpuclockid(self.ident))

    def waits(self) -> int | None:
        """How often the thread gave up the processor by itself; None where nobody counts it."""
        try:
            text = self._status.read_text()
        except OSError:
            return None
        return int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    def asleep(self) -> bool:
        """Whether the thread waits at this moment, rather than for a processor. Not for oneself."""
        try:
            text = self._status.read_text()
        except OSError:
            return True
        return text.partition("\nState:")[2].split()[0] == "S"
