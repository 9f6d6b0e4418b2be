"""What runs in each process of a launch: one rank, from its first line to its result.

The process that all ranks are forked from loads this module beforehand, and PyTorch with it, so
that a rank starts in a fraction of a second.
"""

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from inspect import signature
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from labkit.checks.watch.memory import free_memory
from labkit.distributed.launching import ledger, parcels
from labkit.distributed.launching.backends import carriers
from labkit.distributed.launching.parcels import Parcel, SharedFile, Spans, unpacked
from labkit.distributed.launching.rank_network import RankNetwork

PATIENCE = timedelta(days=1)  # of a collective: the launch ends a rank that waits too long
BEGUN = "begun"  # what a rank says when it calls its function
# Groups that a program has destroyed stay here until the rank is ended: gloo's destructor waits for
# what other ranks have not begun yet, at times with Python's lock, and closes what they still read.
KEPT: list[dist.ProcessGroup] = []


@dataclass(frozen=True)
class Job:
    """What all ranks of a launch are to do.

    call         a function and its arguments behind (rank, ranks): where they lie in a file
    ranks        how many there are
    backend      "gloo", "nccl" or "mpi"
    meeting      a file that does not exist yet, through which the ranks find each other
    environment  the environment's variables, for those set since the first launch
    network      that the ranks enter; None for the machine's
    ledgers      a folder for what each rank calls of torch.distributed, or "" for nowhere
    """

    call: Spans
    ranks: int
    backend: str
    meeting: str
    environment: dict[str, str]
    network: RankNetwork | None = None
    ledgers: str = ""


@dataclass(frozen=True)
class Failure:
    """An exception, as it can travel: its text, and where it was raised."""

    kind: str
    message: str
    frames: list[tuple[str, int, str]]  # file, line and function, outermost first


@dataclass(frozen=True)
class Answer:
    """How a rank's function ended: with a value, in the rank's file, or with a failure."""

    value: Spans | None = None
    failure: Failure | None = None
    moment: float = field(default_factory=time.monotonic)


def run_rank(
    rank: int,
    job: Job,
    call: SharedFile,
    result: SharedFile,
    answers: Connection,
    output: Connection,
    lifeline: Connection,
) -> None:
    """The life of rank `rank`: it joins the others, calls the function and hands on what it gave.

    call      has the function and its arguments, for all ranks
    result    takes what the function returns
    answers   takes BEGUN, and then one `Answer`
    output    takes all that is printed, by Python and by what is written in C++
    lifeline  the rank ends when the other end is closed: by the launch, or because it is gone
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted launch ends its ranks itself
    lead_group()
    if job.network:
        job.network.enter()  # before anything starts a thread
    multiprocessing.set_start_method(None, force=True)  # of a DataLoader's: this system's usual one
    os.environ.update(job.environment | _place(rank, job.ranks))
    speak_through(output)
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=False)
    watch = threading.Thread(target=end_with, args=(lifeline,), daemon=True)
    watch.start()
    answer = _answer(rank, job, call, result, answers)
    _flush()  # so that all that it has printed is there before its answer
    answers.send(answer)
    watch.join()  # others may still need this rank's connections


def _place(rank: int, ranks: int) -> dict[str, str]:
    """The variables by which torchrun tells a rank its place."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    return {name: str(number) for name, number in place.items()}


def _answer(
    rank: int, job: Job, call: SharedFile, result: SharedFile, answers: Connection
) -> Answer:
    try:
        _join(rank, job)
        with call:
            function, arguments = unpacked(call, job.call)
        answers.send(BEGUN)
        return Answer(value=_parcel(function(rank, job.ranks, *arguments)).write(result))
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
    KEPT.append(dist.group.WORLD)
    accept_joining(rank, job)
    if job.ledgers:
        ledger.keep(ledger.of_rank(job.ledgers, rank))


def accept_joining(rank: int, job: Job) -> None:
    """From now on, a program may call `init_process_group` itself, although it has been done."""
    real = c10d.init_process_group
    mine = f"rank {rank} of {job.ranks} by {job.backend}"

    @wraps(real)
    def init_process_group(*args: Any, **named: Any) -> None:
        if not dist.is_initialized():  # the program has left the group, and makes another
            real(*args, **named)
            KEPT.append(dist.group.WORLD)
            return
        given = signature(real).bind(*args, **named).arguments
        backend = given.get("backend") or job.backend
        asked = given.get("rank", -1), given.get("world_size", -1)
        if backend not in carriers(job.backend) or asked not in ((-1, -1), (rank, job.ranks)):
            raise ValueError(
                f"init_process_group asks for rank {asked[0]} of {asked[1]} by {backend}, and "
                f"launch has made this process {mine}: ask launch for it, or leave the call out."
            )

    for module in (dist, c10d):
        module.init_process_group = init_process_group


def _parcel(value: Any) -> Parcel:
    """What the function returns, ready for its way."""
    kind = f"What the function returns, of type {type(value).__name__},"
    try:
        parcel = Parcel.of(value)
    except Exception as error:
        raise TypeError(
            f"{kind} cannot go to another process: {error}. Return tensors, numbers, or plain "
            "containers of them."
        ) from None
    if 0 < (free := free_memory()) < parcel.size:
        raise MemoryError(
            f"{kind} has {parcel.size / 1e9:.1f} GB, and {free / 1e9:.1f} GB of memory are free: "
            "return less, or save it to a file."
        )
    return parcel


def failure_of(error: BaseException) -> Failure:
    """An exception as it can travel, without our own frames at its outer end."""
    frames = [
        (f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)
    ]
    ours = {module.__file__ for module in (sys.modules[__name__], ledger, parcels)}
    theirs = [frame for frame in frames if frame[0] not in ours]
    return Failure(type(error).__name__, str(error), theirs)


def lead_group() -> None:
    """Makes this process the first of a group, to which all belong that it starts from now on."""
    if hasattr(os, "setsid"):
        os.setsid()


def speak_through(output: Connection) -> None:
    """Sends file descriptors 1 and 2, and what Python prints, into `output`."""
    _flush()
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    sys.stdout.reconfigure(line_buffering=True)


def end_with(lifeline: Connection) -> None:
    """Ends this process, without any clean-up, when the other end of `lifeline` is closed.

    Clean-up is what goes wrong: with DistributedDataParallel, the threads of gloo abort in it. If
    the process leads its group, all that it has started ends with it.
    """
    lifeline.poll(None)
    _flush()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
