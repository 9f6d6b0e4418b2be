"""What runs in each process of a launch: one rank, from its first line to its result.

The process that all ranks are forked from loads this module beforehand, and PyTorch with it, so
that a rank starts in a fraction of a second.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import torch
import torch.distributed as dist

from labkit.distributed import ledger
from labkit.distributed.backends import carriers

PATIENCE = timedelta(days=1)  # of a collective: the launch ends a rank that waits too long
BEGUN = "begun"  # what a rank says when it calls its function


@dataclass(frozen=True)
class Job:
    """What all ranks of a launch are to do.

    call         a function and its arguments behind (rank, ranks), pickled by cloudpickle
    ranks        how many there are
    backend      "gloo", "nccl" or "mpi"
    meeting      a file that does not exist yet, through which the ranks find each other
    environment  the environment's variables, for those set since the first launch
    ledgers      a folder for what each rank calls of torch.distributed, or "" for nowhere
    """

    call: bytes
    ranks: int
    backend: str
    meeting: str
    environment: dict[str, str]
    ledgers: str = ""


@dataclass(frozen=True)
class Failure:
    """An exception, as it can travel: its text, and where it was raised."""

    kind: str
    said: str
    frames: list[tuple[str, int, str]]  # file, line and function, outermost first


@dataclass(frozen=True)
class Answer:
    """How a rank's function ended: with a value (pickled), or with a failure."""

    value: bytes | None = None
    failure: Failure | None = None
    moment: float = field(default_factory=time.monotonic)


def run_rank(
    rank: int, job: Job, answers: Connection, output: Connection, lifeline: Connection
) -> None:
    """The life of rank `rank`: it joins the others, calls the function and hands on what it gave.

    answers   takes BEGUN, and then one `Answer`
    output    takes all that is printed, by Python and by what is written in C++
    lifeline  the rank ends when the other end is closed: by the launch, or because it is gone
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted launch ends its ranks itself
    os.environ.update(job.environment)
    speak_through(output)
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=False)
    watch = threading.Thread(target=end_with, args=(lifeline,), daemon=True)
    watch.start()
    answers.send(_answer(rank, job, answers))
    _flush()
    watch.join()  # others may still need this rank's connections


def _answer(rank: int, job: Job, answers: Connection) -> Answer:
    try:
        function, arguments = cloudpickle.loads(job.call)
        _join(rank, job)
        answers.send(BEGUN)
        return Answer(value=_pickled(function(rank, job.ranks, *arguments)))
    except BaseException as error:  # SystemExit, too: a rank that leaves early says so
        return Answer(failure=failure_of(error))


def _join(rank: int, job: Job) -> None:
    """Makes this process rank `rank` of the default group."""
    torch.set_num_threads(1)  # the ranks share the machine's cores
    if job.backend == "nccl":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group(
        carriers(job.backend),
        init_method=f"file://{job.meeting}",
        rank=rank,
        world_size=job.ranks,
        timeout=PATIENCE,
    )
    if job.ledgers:
        ledger.keep(ledger.of_rank(job.ledgers, rank))


def _pickled(value: Any) -> bytes:
    try:
        return cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"What the function returns, of type {type(value).__name__}, cannot go to another "
            f"process: {error}. Return tensors, numbers, or plain containers of them."
        ) from None


def failure_of(error: BaseException) -> Failure:
    """An exception as it can travel, without our own frames at its outer end."""
    frames = [
        (f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)
    ]
    own = [frame for frame in frames if frame[0] not in (__file__, ledger.__file__)]
    return Failure(type(error).__name__, str(error), own)


def speak_through(output: Connection) -> None:
    """Sends file descriptors 1 and 2, and what Python prints, into `output`."""
    _flush()
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    sys.stdout.reconfigure(line_buffering=True)


def end_with(lifeline: Connection) -> None:
    """Ends this process, without any clean-up, when the other end of `lifeline` is closed.

    Clean-up is what goes wrong: with DistributedDataParallel, the threads of gloo abort in it.
    """
    lifeline.poll(None)
    _flush()
    os._exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
