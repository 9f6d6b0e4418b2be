"""The processes of a launch, as the launching process sees them: started, listened to, and ended.

    with Processes(job, call) as processes:
        processes.listen(60, look)
        processes.ranks[0].answer, processes.ranks[0].printed

Whatever happens inside the `with` block, no process of it is left behind.
"""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import ModuleType

from labkit.checks.watch.leftovers import children
from labkit.distributed.launching.parcels import SharedFile
from labkit.distributed.launching.rank import BEGUN, Answer, Job, run_rank

GRACE = 0.5  # seconds after a failure, in which others may tell of an earlier one
START_PATIENCE = 120.0  # seconds until all ranks have begun: a busy machine takes its time
STACK_PATIENCE = 10.0  # seconds for a process to say where it is
LOOK = 0.25  # seconds between two looks at what the ranks call
CHUNK = 1 << 16
# Loaded in the process that all ranks are forked from.
PRELOADED = [
    f"labkit.distributed.{name}"
    for name in ("launching.rank", "judging.refereed_rank", "messages", "collectives")
]
# A rank's first optimizer loads it, for a second; so it is loaded once where the launching process
# has it before its first launch. Otherwise it would only make each fork slower.
INHERITED = "torch._dynamo"


@dataclass
class RankProcess:
    """One rank: its process, and what has come from it so far.

    begun    whether it has called its function
    result   a file that takes what its function returns
    printed  its output, as bytes
    answer   how its function ended, once it has
    died     its exit code, if it ended without an answer
    """

    number: int
    process: BaseProcess
    answers: Connection
    output: Connection
    lifeline: Connection
    result: SharedFile
    begun: bool = False
    printed: bytearray = field(default_factory=bytearray)
    answer: Answer | None = None
    died: int | None = None

    @property
    def running(self) -> bool:
        """Whether its function has not ended yet."""
        return self.answer is None and self.died is None

    @property
    def failed(self) -> bool:
        """Whether it died, or its function raised."""
        return self.died is not None or (
            self.answer is not None and self.answer.failure is not None
        )

    def take(self, source: object) -> None:
        """Takes what `source`, its connection or the sentinel of its process, has."""
        if source is self.output:
            self._take_output()
        elif self.running:
            self._take_answer()
            self._take_output()  # what it has said before its answer

    def close(self) -> None:
        """Waits for its process, which was killed, and closes everything."""
        self.process.join()
        self.process.close()
        self.lifeline.close()
        self.answers.close()
        self.output.close()
        self.result.close()

    def _take_answer(self) -> None:
        """The answer; without one, the process has ended."""
        try:
            if self.answers.poll():
                said = self.answers.recv()
                if said == BEGUN:
                    self.begun = True
                else:
                    self.answer = said
                return
        except (EOFError, OSError):
            pass
        self.process.join()
        self.died = self.process.exitcode

    def _take_output(self) -> None:
        """What it has said by now, if that was not taken."""
        if self.output.closed or not self.output.poll():
            return
        chunk = os.read(self.output.fileno(), CHUNK)
        self.printed += chunk
        if not chunk:
            self.output.close()


class Processes:
    """The ranks of a job; entering the `with` block starts them, and leaving it ends them."""

    def __init__(self, job: Job, call: SharedFile) -> None:
        self.job = job
        self.call = call
        self.ranks: list[RankProcess] = []

    def __enter__(self) -> "Processes":
        try:
            for number in range(self.job.ranks):
                self.ranks.append(_started(number, self.job, self.call))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def listen(self, seconds: float, look: Callable[[], bool]) -> None:
        """Until all ranks have answered, one has failed, `look` says so, or the time is over.

        seconds   from when all ranks have begun; how long they take to start is not their fault
        look      called after each word of a rank, and now and then
        """
        end = time.monotonic() + START_PATIENCE
        all_begun = False
        while any(rank.running for rank in self.ranks) and time.monotonic() < end:
            self._hear(min(end - time.monotonic(), LOOK))
            if look():
                return
            if not all_begun and all(rank.begun for rank in self.ranks):
                all_begun = True
                end = time.monotonic() + seconds
            if any(rank.failed for rank in self.ranks):
                self._hear_for(GRACE)
                return
        self._hear(0)

    def ask_where(self) -> dict[int, str]:
        """Where in its program each running rank is, innermost call first, as faulthandler says."""
        before = {rank.number: len(rank.printed) for rank in self.ranks if rank.running}
        for number in before:
            with suppress(ProcessLookupError):  # it has died just now
                os.kill(self.ranks[number].process.pid, signal.SIGUSR1)
        self._hear_for(
            STACK_PATIENCE,
            until=lambda: all(
                b" in run_rank" in self.ranks[n].printed[start:] or not self.ranks[n].running
                for n, start in before.items()
            ),
        )
        stacks = {}
        for number, start in before.items():
            rank = self.ranks[number]
            stacks[number] = rank.printed[start:].decode("utf-8", "replace")
            del rank.printed[start:]
        return stacks

    def _hear_for(self, seconds: float, until=lambda: False) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            if not self._hear(end - time.monotonic()):
                return

    def _hear(self, seconds: float) -> bool:
        """Takes what comes first within so many seconds; whether anything did."""
        sources = {}
        for rank in self.ranks:
            if not rank.output.closed:
                sources[rank.output] = rank
            if rank.running:
                sources[rank.answers] = rank
                sources[rank.process.sentinel] = rank
        ready = wait(list(sources), max(seconds, 0)) if sources else []
        for source in ready:
            sources[source].take(source)
        return bool(ready)

    def _end(self) -> None:
        for rank in self.ranks:
            kill_group(rank.process)
        for rank in self.ranks:
            rank.close()


def _started(number: int, job: Job, call: SharedFile) -> RankProcess:
    context = process_context()
    answers, answers_there = context.Pipe(duplex=False)
    output, output_there = context.Pipe(duplex=False)
    lifeline_there, lifeline = context.Pipe(duplex=False)
    there = (answers_there, output_there, lifeline_there)
    result = SharedFile()
    process = context.Process(target=run_rank, args=(number, job, call, result, *there))
    with without_program():
        process.start()
    for connection in there:
        connection.close()
    return RankProcess(number, process, answers, output, lifeline, result)


def kill_group(process: BaseProcess) -> None:
    """Kills a process that leads a group, and all processes that it has started."""
    others = list(children(process.pid))  # some may have left its group
    process.kill()
    for pid in others:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    if hasattr(os, "killpg"):
        with suppress(OSError):  # it has not got as far as to lead a group, or all are gone
            os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def without_program() -> Iterator[None]:
    """Processes that start in this block do not run the main program's file again.

    By default they would, up to `if __name__ == "__main__"`, and a file without that line would
    launch ranks in its ranks. A launch sends along what its function needs. The server begins in a
    folder of the system's: it imports from the one that it begins in, where others may write.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        if sys.platform == "linux":
            from multiprocessing.forkserver import ensure_running

            with chdir("/"):
                ensure_running()
        yield
    finally:
        sys.modules["__main__"] = program


def process_context(*modules: str) -> BaseContext:
    """How processes start: forked from a server that has PyTorch loaded already, or spawned.

    modules   that it loads, too, where this is the first start

    A fork of the notebook's own process would inherit its threads' locks, and hang at times.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    inherited = [INHERITED] if INHERITED in sys.modules else []
    # What is said here counts before the first start.
    context.set_forkserver_preload([*PRELOADED, *modules, *inherited])
    return context
