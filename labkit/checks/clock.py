"""Stops a learner's function that does not return, without ever blaming a busy machine.

The budget covers all cases of one check. It is spent when the function has used `CPU` seconds of
processor time, or has been idle (asleep, waiting for input) for `IDLE` seconds, or after `WALL`
seconds in any case. Time spent in an `import` is free: stopping one halfway would leave the
package broken for the rest of the session.

In the main thread a timer ticks every 50 ms and raises `TimeUp` in the running code. `TimeUp` is
no `Exception`, and a function that catches even that is met by the next ticks, which come so fast
that one strikes in its `except` block. In any other thread the job runs in a thread of its own,
which is told to stop and, if it does not, left behind.
"""

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from traceback import walk_stack
from types import FrameType

TICK = 0.05  # seconds, like the next three
CPU, IDLE, WALL = 0.7, 0.9, 10.0
IDLE_SHARE = 0.1  # below this share of processor time, the function counts as idle
GRACE = 4  # ticks that a function in another thread gets to stop before it is left behind


class TimeUp(BaseException):
    """Raised inside the learner's function when the time of the check is used up."""


class Clock:
    """Adds up the time between `start` and `stop`; ends what `run` runs when it is too much."""

    def __init__(self) -> None:
        self.armed = False  # true only while the learner's function runs
        self.expired = False
        self.idle = False  # expired while it waited rather than worked
        self._cpu = self._wall = 0.0  # used so far
        self._cpu_clock = time.thread_time

    def start(self) -> None:
        self._last = self._cpu_clock(), time.monotonic()
        self.armed = True

    def stop(self) -> None:
        self.armed = False
        self._advance(counts=True)

    def _advance(self, counts: bool) -> None:
        now = self._cpu_clock(), time.monotonic()
        if counts:
            self._cpu += now[0] - self._last[0]
            self._wall += now[1] - self._last[1]
        self._last = now

    def over(self, frame: FrameType | None) -> bool:
        """Whether the budget is spent, seen at a tick that met `frame`."""
        files = (step.f_code.co_filename for step, _ in walk_stack(frame) if frame)
        self._advance(counts=not any(file.startswith("<frozen importlib") for file in files))
        self.idle = self._wall > IDLE and self._cpu < IDLE_SHARE * self._wall
        return self._cpu > CPU or self.idle or self._wall > WALL

    def run(self, job: Callable[[], None]) -> None:
        """Runs `job`, which calls start and stop around the learner's function."""
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and hasattr(signal, "setitimer"):
            self._run_here(job)
        else:
            self._run_in_thread(job)

    def _do(self, job: Callable[[], None]) -> None:
        try:
            job()
        except TimeUp:  # struck between two statements of the job itself
            self.expired = True
        finally:
            self.armed = False

    # In the main thread: a timer signal.

    def _run_here(self, job: Callable[[], None]) -> None:
        handler = signal.signal(signal.SIGALRM, self._tick)
        timer = signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        try:
            self._do(job)
        finally:
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)

    def _tick(self, signum: int, frame: FrameType | None) -> None:
        if not self.armed or not (self.expired or self.over(frame)):
            return
        if self.expired:  # caught by the function: strike again soon, ever elsewhere
            delay = 2e-6 * 2 ** (time.perf_counter_ns() % 8)  # up to 0.3 ms
            signal.setitimer(signal.ITIMER_REAL, delay, TICK)
        self.expired = True
        raise TimeUp

    # In another thread: an exception sent from outside.

    def _run_in_thread(self, job: Callable[[], None]) -> None:
        worker = threading.Thread(target=self._work, args=(job,), daemon=True)
        worker.start()
        grace = GRACE
        while worker.is_alive() and grace:
            worker.join(TICK)
            running = worker.is_alive() and self.armed
            if running and (self.expired or self._over_from_outside(worker)):
                self.expired = True
                grace -= 1
                # While an exception waits for a sleeping thread, Python 3.11 hangs in every
                # profiled one.
                if not self.idle or sys.version_info >= (3, 12):
                    ident, error = ctypes.c_ulong(worker.ident), ctypes.py_object(TimeUp)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)
        self.armed = False

    def _work(self, job: Callable[[], None]) -> None:
        if hasattr(time, "pthread_getcpuclockid"):  # macOS has only the process's
            clock = time.pthread_getcpuclockid(threading.get_ident())
            self._cpu_clock = lambda: time.clock_gettime(clock)
        else:
            self._cpu_clock = time.process_time
        self._do(job)

    def _over_from_outside(self, worker: threading.Thread) -> bool:
        try:
            return self.over(sys._current_frames().get(worker.ident))
        except OSError:  # the thread, and its clock with it, has just ended
            return False
