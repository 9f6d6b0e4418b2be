"""What all the tools share: a package with a version, a limit of work, and last words."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event
from typing import Any

from labkit.fpga.errors import OutOfTime, ToolError, ToolMissing

# Seconds after which a tool is stopped. This only ends a hang: the largest module of the course
# takes a tenth of it.
PATIENCE = 600
PROMPT = 60  # seconds of processor time for a learner's module: the course's own take a tenth of it
NEARLY = 0.7  # of the limit: on a busy machine the system charges more than it counts
MOST = 4  # tools side by side: a compiler takes some hundred megabytes
POLL = 0.1  # seconds between two looks whether tools that run side by side are to end
# What a tool says while it translates itself for this processor, which it does once.
TRANSLATES = "Preparing to run"
# A group of processes that ends when the pipe does, of which this process holds the other end; in
# it the tool, with seconds of processor time.
_SHELL = """
(read _ <&"$1"; kill -9 0) >/dev/null 2>&1 &
ulimit -S -t "$2"; shift 2; exec "$@"
"""
_limit = ContextVar("seconds of processor time", default=PATIENCE)
_patience = ContextVar("seconds that a tool may take above `PATIENCE`", default=0)
_stop: ContextVar[Event | None] = ContextVar("set when the tools side by side end", default=None)


@contextmanager
def prompt() -> Iterator[None]:
    """Within the block each tool has `PROMPT` seconds of processor time: somebody waits for it."""
    before = _limit.set(PROMPT)
    try:
        yield
    finally:
        _limit.reset(before)


@contextmanager
def patient(seconds: int) -> Iterator[None]:
    """Within the block each tool has so many seconds, also more than `PATIENCE`: nobody waits."""
    before = _limit.set(seconds), _patience.set(seconds)
    try:
        yield
    finally:
        _limit.reset(before[0])
        _patience.reset(before[1])


def side_by_side(asks: Iterable[Callable[[], Any]]) -> list[Future]:
    """What each gave or raised, in their order, once all have ended.

    Each tool is a process, and a machine has several cores. They run under the caller's limit of
    time; when the learner interrupts, all of them end.
    """
    stop = Event()

    def answer(ask: Callable[[], Any]) -> Any:
        _stop.set(stop)
        return ask()

    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, MOST))
    try:
        found = [pool.submit(copy_context().run, answer, ask) for ask in asks]
        wait(found)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
    return found


def run_tool(
    tool: str,
    work: str,
    cause: str,
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess:
    """Run a tool in `folder`; what it prints is in `stdout` and `stderr`.

    tool, work   for the error: "Yosys", "while it read the module mac"
    cause        what usually keeps it from finishing, and what to do: a sentence or two

    Raises OutOfTime after `PATIENCE` seconds, or fewer of processor time within `prompt`, and
    ToolError where the system ends it. When the time is up, when the learner interrupts, or when
    this process ends, so does every process that the tool has started.
    """
    limit = _limit.get()
    before = _time_and_work()
    try:
        done = _run(command, folder, environment, limit)
        if _out_of_work(done, before, limit) and TRANSLATES in done.stderr:
            limit = PATIENCE
            done = _run(command, folder, environment, limit)
    except subprocess.TimeoutExpired as expired:
        raise OutOfTime(
            f"{tool} did not finish within {expired.timeout:g} s {work}, and was stopped. {cause}"
        ) from None
    if _out_of_work(done, before, limit):
        raise OutOfTime(
            f"{tool} did not finish within {limit:g} s of processor time {work}, and was stopped. "
            f"{cause}"
        )
    if done.returncode < 0:  # often for want of memory
        name = signal.Signals(-done.returncode).name
        raise ToolError(f"{tool} was ended by the system ({name}) {work}. {cause}")
    return done


def _run(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None, limit: int
) -> subprocess.CompletedProcess:
    """Runs it to its end, in a session of its own, to be ended as a whole."""
    ours, lifeline = os.pipe()
    try:
        with subprocess.Popen(
            ["/bin/sh", "-c", _SHELL, "sh", str(ours), str(limit), *map(str, command)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[ours],
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = _printed(process)
            except BaseException:  # the time is up, or such as the notebook's stop button
                _end(process)
                raise
    finally:
        os.close(ours)
        os.close(lifeline)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _printed(process: subprocess.Popen) -> tuple[str, str]:
    """What a tool prints, once it has ended; TimeoutExpired when the time is up."""
    stop = _stop.get()
    patience = max(PATIENCE, _patience.get())
    if stop is None:
        return process.communicate(timeout=patience)
    for _ in range(round(patience / POLL)):
        if stop.is_set():
            raise ToolError("The tools were interrupted.")
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=POLL)
    raise subprocess.TimeoutExpired(process.args, patience)


def _out_of_work(done: subprocess.CompletedProcess, before: tuple, limit: float) -> bool:
    """Whether the system has ended a tool, or one that it started, at its limit.

    before   the time when it began, and what all children had used then: side by side, others have
             worked meanwhile, but no tool can have worked for longer than it ran
    """
    if done.returncode == -signal.SIGXCPU:
        return True
    passed = [now - then for now, then in zip(_time_and_work(), before, strict=True)]
    return done.returncode != 0 and min(passed) >= NEARLY * limit


def _time_and_work() -> tuple[float, float]:
    """The time, and the processor time of all processes that this one started and that ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), used.ru_utime + used.ru_stime


def _end(process: subprocess.Popen) -> None:
    """Ends a tool and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def installed_version(package: str, tool: str) -> str:
    """The version of a tool's package, a part of the key of all that is kept of its answers.

    Raises ToolMissing with what to install when it is missing.
    """
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise ToolMissing(
            f"{tool} is not installed. `pip install {package}` brings it, and so does `make lab`."
        ) from error


def without_patch(version: str) -> str:
    """A version's first two numbers, as tables name a tool: "0.70" of "0.70.0.0.post1118"."""
    return ".".join(version.split(".")[:2])


def last_line(output: str) -> str:
    """The last words of a tool, for a failure that has no better reason."""
    lines = output.strip().splitlines()
    return lines[-1] if lines else "no reason given"
