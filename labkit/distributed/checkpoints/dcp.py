"""Checkpoints with torch.distributed.checkpoint (DCP): each rank writes its part, any number reads.

    save(folder, 20, state)                     # every rank; returns when the checkpoint is whole
    with Background(folder) as background:      # every rank
        background.save(20, state)              # returns when the state is copied
    load(last_good(folder), state)              # every rank, in a group of any size

`state` is a dict of tensors, DTensors, numbers and dicts of them. Of what all ranks have alike,
DCP writes one copy, dealt to the ranks; of a DTensor each rank writes its shard. DCP's `.metadata`
says which part lies in which file. It is a pickle, as numbers are, and DCP itself runs whatever a
pickle names (lesson restarts_and_monitoring): `load` builds nothing but metadata and plain values.
Without a group, one process is the only rank.
"""

import io
import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint import metadata as dcps

from labkit.distributed.checkpoints.folder import Whole, begin, finish, unfinished
from labkit.distributed.parameter_server.checkpoint import CheckpointError
from labkit.errors import in_a_line

State = dict[str, Any]
METADATA = ".metadata"
PATHS = ("PosixPath", "WindowsPath")
KNOWN = {  # of what DCP's metadata are made, beside torch's types of numbers
    dcps.__name__: (*dcps.__all__, "_MEM_FORMAT_ENCODING"),
    "torch.distributed.checkpoint.filesystem": ("_StorageInfo",),
    "torch.serialization": ("_get_layout",),
    "torch": ("Size",),
    "pathlib": PATHS,
    "pathlib._local": PATHS,  # in Python 3.13
}


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
    checkpoint lacks a part of it, has it in another shape, or names what could run code.
    """
    reader = _Reader(whole.path)
    try:
        reader.read_metadata()  # DCP prints a traceback, and looks for other metadata
        with _alone_or_not() as no_dist:
            dcp.load(state, storage_reader=reader, planner=_Planner(), no_dist=no_dist)
    except dcp.api.CheckpointException as error:
        raise CheckpointError(_load_error(whole, next(iter(error.failures.values()))[0])) from None
    except (RuntimeError, ValueError, KeyError, OSError, EOFError, pickle.PickleError) as error:
        raise CheckpointError(_load_error(whole, error)) from None


class _Metadata(pickle.Unpickler):
    """Metadata, of KNOWN alone."""

    def find_class(self, module: str, name: str) -> Any:
        of_numbers = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if not of_numbers and name not in KNOWN.get(module, ()):
            raise pickle.UnpicklingError(f"its {METADATA} asks for {module}.{name}")
        return super().find_class(module, name)


class _Reader(dcp.FileSystemReader):
    """DCP's, without other code than that of metadata."""

    def read_metadata(self) -> dcps.Metadata:
        """What the checkpoint is made of."""
        with Path(self.path, METADATA).open("rb") as file:
            metadata = _Metadata(file).load()
        metadata.storage_meta = metadata.storage_meta or dcps.StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata


class _Planner(dcp.DefaultLoadPlanner):
    """DCP's, which gets numbers and texts as plain values alone."""

    def load_bytes(self, read_item: dcp.planner.ReadItem, value: io.BytesIO) -> None:
        """Puts a value where the state has it."""
        plain = io.BytesIO()
        torch.save(torch.load(value, weights_only=True), plain)
        plain.seek(0)
        super().load_bytes(read_item, plain)


def _load_error(whole: Whole, error: Exception) -> str:
    if isinstance(error, pickle.UnpicklingError):
        return (
            f"The checkpoint {whole.path} is not made of tensors and plain values alone "
            f"({in_a_line(error)}), and what else it names could run code: it was not loaded. Name "
            "one of your own."
        )
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
