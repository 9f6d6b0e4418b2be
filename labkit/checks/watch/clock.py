"""Stops a learner's function that does not return, on a fast machine and on a slow or busy one.

No verdict here depends on seconds. A case's budget is work: as much processor time of its own
thread as this machine, in this process, needs for `ROUNDS` rounds of an empty loop, and `OWN` times
as much as our own solution took on the same case. A right answer needs less than a hundredth of
it. Time in which other processes had the processor is not the function's, and does not count.

A function that waits (asleep, or for input) uses no processor time. It is told apart from one that
gets no processor by what the kernel counts: who queues for a processor does not sleep. Whoever
waits for a disk does, so a tick that met such a wait does not count.

An `import` is free: stopping one halfway would leave the package broken for the rest of the
session. A function that hangs inside a C function cannot be stopped from Python at all.

In the main thread a timer ticks and raises `TimeUp` in the running code. `TimeUp` is no
`Exception`, and a function that catches even that is met by the next ticks, which come so fast that
one strikes in its `except` block. In any other thread the job runs in a thread of its own, which
is told to stop and, if it does not, left behind. Jupyter runs cells in another thread where
somebody opens a subshell: its stop button does not reach that thread, and without this way an
endless function would hold up every later check until the kernel is restarted.
"""

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_stack
from types import FrameType

from labkit.checks.watch.meter import ThreadMeter, seconds_of_a_round
from labkit.checks.watch.source import Line, learner_line, origin

TICK = 0.05  # seconds between two looks
ROUNDS = 50_000_000  # of an empty loop: about two seconds on an idle machine of today
OWN = 100  # times the work of our own solution
IDLE = 2.0  # seconds of sleep, without work in between
IDLE_SHARE = 0.1  # of a tick: a function that waits uses less processor time
GRACE = 4  # ticks that a function in another thread gets to stop before it is left behind


class TimeUp(BaseException):
    """Raised inside the learner's function when the budget of its case is used up."""


class Clock:
    """Holds a case's budget between `start` and `stop`, and ends what `run` runs when it is spent.

    limited   False: nothing is ever stopped, since the job's work is counted elsewhere (kernels)
    adapted   True: the course's own code is around the learner's, and is never struck, or what it
              had to put back would stay as it is
    """

    def __init__(self, limited: bool = True, adapted: bool = False) -> None:
        self.limited = limited
        self.adapted = adapted
        self.armed = False  # true only while the learner's function runs
        self.expired = False
        self._looking = False  # a tick reads the meter
        self.idle = False  # expired while it waited rather than worked
        self.place: Line | None = None  # where the first strike met the learner's function

    def start(self, own: float = 0.0) -> None:
        """A case begins; our own solution needed `own` seconds of processor time for it."""
        self._caller = sys._getframe(1)  # between the function and the job: not to be struck
        self._left = ROUNDS * seconds_of_a_round() + OWN * own
        self._cpu = self._meter.cpu()
        self._slept = None
        self.armed = True

    def stop(self) -> None:
        """The case has ended; nothing is struck before the next `start`."""
        self.armed = False
        self._caller = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within the block the function waits for others, and is neither idle nor to be struck."""
        armed, self.armed = self.armed, False
        try:
            yield
        finally:
            self._slept = None
            self.armed = armed

    def over(self, frame: FrameType | None) -> bool:
        """Whether the budget is spent, seen at a tick that met `frame`."""
        used = self._meter.cpu() - self._cpu
        is_import = importing(frame)
        since = self._slept  # another thread may end it meanwhile
        woke = since is None or self._meter.fetches() != self._fetches
        if woke or is_import or used >= IDLE_SHARE * TICK:  # the signal's own cost, at most
            since = self._awake()
        self.idle = self._meter.slept() - since >= IDLE
        self._cpu = self._meter.cpu()  # after our own looking, which is not the function's work
        if is_import:
            return False
        if used >= IDLE_SHARE * TICK:
            self._left -= used
        return self.idle or self._left < 0

    def _awake(self) -> float:
        """At a tick: the function does not idle. Its sleep counts from now on, and is returned."""
        self._fetches = self._meter.fetches()
        self._slept = slept = self._meter.slept()
        return slept

    def run(self, job: Callable[[], None]) -> None:
        """Runs `job`, which calls start and stop around the learner's function."""
        thread = threading.current_thread()
        self._meter = ThreadMeter(thread)
        seconds_of_a_round()  # not while the profiler watches
        if not self.limited:
            self._do(job)
        elif thread is threading.main_thread() and hasattr(signal, "setitimer"):
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
        if not self.armed or self._looking or not self._may_be_struck(frame):
            return
        if not self.expired and not self._over_here(frame):
            return
        if not self.expired:
            self.place = learner_line(walk_stack(frame))
        else:  # caught by the function: strike again soon, ever elsewhere
            delay = 2e-6 * 2 ** (time.perf_counter_ns() % 8)  # up to 0.3 ms
            signal.setitimer(signal.ITIMER_REAL, delay, TICK)
        self.expired = True
        raise TimeUp

    def _over_here(self, frame: FrameType | None) -> bool:
        """`over`, which no later tick meets: beside a busy thread, a look may last for some."""
        self._looking = True
        try:
            return self.over(frame)
        finally:
            self._looking = False

    def _may_be_struck(self, frame: FrameType | None) -> bool:
        """Whether the learner's function runs, and not the course's code around it."""
        caller = self._caller
        if frame is caller:
            return False
        if not self.adapted:
            return True
        while frame is not None and frame is not caller:
            if origin(frame.f_code, frame.f_globals) == "learner":
                return True
            frame = frame.f_back
        return False

    # In another thread: an exception sent from outside.

    def _run_in_thread(self, job: Callable[[], None]) -> None:
        worker = threading.Thread(target=self._work, args=(job,), daemon=True)
        worker.start()
        grace = GRACE
        while worker.is_alive() and grace:
            worker.join(TICK)
            frame = sys._current_frames().get(worker.ident)
            running = worker.is_alive() and self.armed and self._may_be_struck(frame)
            if running and (self.expired or self._over_from_outside(worker)):
                if not self.expired:
                    self.place = learner_line(walk_stack(frame))
                self.expired = True
                grace -= 1
                self._strike(worker)
        self.armed = False

    def _strike(self, worker: threading.Thread) -> None:
        """Raises TimeUp in another thread, at its next step in Python."""
        # While an exception waits for a sleeping thread, Python 3.11 hangs in every profiled one.
        if self.idle and sys.version_info < (3, 12):
            return
        ident = ctypes.c_ulong(worker.ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(TimeUp))

    def _work(self, job: Callable[[], None]) -> None:
        self._meter = ThreadMeter(threading.current_thread())
        self._do(job)

    def _over_from_outside(self, worker: threading.Thread) -> bool:
        try:
            return self.over(sys._current_frames().get(worker.ident))
        except OSError:  # the thread, and its clock with it, has just ended
            return False


def importing(frame: FrameType | None) -> bool:
    """Whether `frame` was reached through an `import`."""
    if frame is None:
        return False
    files = (step.f_code.co_filename for step, _ in walk_stack(frame))
    return any(file.startswith("<frozen importlib") for file in files)
