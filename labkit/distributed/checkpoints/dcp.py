"""Checkpoints with torch.distributed.checkpoint (DCP): each rank writes its part, any number reads.

    save(folder, 20, state)                     # every rank; returns when the checkpoint is whole
    with Background(folder) as background:      # every rank
        background.save(20, state)              # returns when the state is copied
    load(last_good(folder), state)              # every rank, in a group of any size

`state` is a dict of tensors, DTensors, numbers and dicts of them. Of what all ranks have alike,
DCP writes one copy, dealt to the ranks; of a DTensor each rank writes its shard. DCP's `.metadata`
says which part lies in which file. It is a pickle: read no stranger's (lesson
restarts_and_monitoring). Without a group, one process is the only rank.
"""

import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed import checkpoint as dcp

from labkit.distributed.checkpoints.folder import Whole, begin, finish, unfinished
from labkit.distributed.parameter_server.checkpoint import CheckpointError
from labkit.errors import in_a_line

State = dict[str, Any]


def save(folder: str | Path, step: int, state: State) -> None:
    """Writes a checkpoint; every rank calls it, and it is whole when they return."""
    _opening(folder, step)
    with _alone_or_not() as no_dist:
        dcp.save(state, storage_writer=_writer(folder, step), no_dist=no_dist)
    _closing(folder, step)


class Background:
    """Saves while the training goes on; at the end of the `with` block the last one is whole.

    `save` copies the state and returns. A thread writes the copy; it speaks to the other ranks'
    threads in a group of its own, so that its messages do not mix with those of the training. A
    checkpoint becomes the newest as soon as all ranks have written their parts: a death before
    that costs one interval more.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.group = dist.new_group(backend="gloo") if dist.is_initialized() else None
        self.closer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self.pending: Future | None = None

    def __enter__(self) -> "Background":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self.finish()
        self.closer.shutdown(wait=False)

    def save(self, step: int, state: State) -> None:
        """Begins to write a checkpoint, after the one before it is whole."""
        self.finish()
        _opening(self.folder, step)
        writer = _writer(self.folder, step)
        with _alone_or_not() as no_dist:
            written = dcp.async_save(
                state, storage_writer=writer, process_group=self.group, no_dist=no_dist
            )
        self.pending = self.closer.submit(self._close, step, written)

    def finish(self) -> None:
        """Waits until the checkpoint that is being written is whole, for all ranks."""
        if self.pending is None:
            return
        pending = self.pending
        self.pending = None
        pending.result()
        _together()

    def _close(self, step: int, written: Future) -> None:
        """In a thread: DCP's write ends in rank 0 when all ranks have told it of theirs."""
        written.result()
        if _rank() == 0:
            finish(self.folder, step, {"ranks": _ranks()})


def load(whole: Whole, state: State) -> None:
    """Fills `state` in place from a checkpoint, whatever the number of ranks that saved it.

    The state says what is wanted, and how it is split now. Raises CheckpointError where the
    checkpoint lacks a part of it or has it in another shape.
    """
    try:
        with _alone_or_not() as no_dist:
            dcp.load(state, checkpoint_id=whole.path, no_dist=no_dist)
    except dcp.api.CheckpointException as error:
        raise CheckpointError(_told(whole, next(iter(error.failures.values()))[0])) from None
    except (RuntimeError, ValueError, KeyError, OSError, EOFError) as error:
        raise CheckpointError(_told(whole, error)) from None


def _told(whole: Whole, error: Exception) -> str:
    return (
        f"The checkpoint {whole.path} does not fit this training ({in_a_line(error)}): build the "
        "model and its optimizer as they were when it was saved, or name another one."
    )


@contextmanager
def _alone_or_not() -> Iterator[bool]:
    """Whether this process is the only rank; DCP then warns that it assumes so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        yield not dist.is_initialized()


def _writer(folder: str | Path, step: int) -> dcp.FileSystemWriter:
    return dcp.FileSystemWriter(unfinished(Path(folder), step), sync_files=True)


def _opening(folder: str | Path, step: int) -> None:
    if _rank() == 0:
        begin(folder, step)
    _together()


def _closing(folder: str | Path, step: int) -> None:
    """All have written: now rank 0 makes it the newest, and all wait until it is."""
    _together()
    if _rank() == 0:
        finish(folder, step, {"ranks": _ranks()})
    _together()


def _together() -> None:
    if dist.is_initialized():
        dist.barrier()


def _rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def _ranks() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1
