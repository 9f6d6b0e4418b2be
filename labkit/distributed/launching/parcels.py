"""Parcels: a value on its way to other processes, through memory that they share.

    parcel = Parcel.of(value)           # nothing large is copied yet
    with SharedFile() as file:
        spans = parcel.write(file)
        unpacked(file, spans)           # in any process that was started with the file

Arrays and tensors lie in the file as they are, once for all who read it. Each reader sees them as
its own: the system copies a page when somebody writes to it. The file has no name, and is gone with
the last process that has it open.
"""

import io
import mmap
import os
import pickle
import tempfile
from dataclasses import dataclass
from multiprocessing import reduction
from typing import Any

import cloudpickle

LARGE = 1 << 20  # bytes: an array of so many lies in the file as it is; less is pickled
MAPPED = 1 << 24  # bytes: a parcel of so many is mapped, which keeps a file open; less is read
ALIGNED = 64  # bytes: where an array may begin
Spans = list[tuple[int, int]]  # first byte and the one behind the last: of arrays, then the pickle


class SharedFile:
    """A file without a name: in memory on Linux, elsewhere in the folder of temporary files.

    A process that gets it at its start has the same file. Closed at the end of a `with` block.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _nameless() if descriptor is None else descriptor

    def __enter__(self) -> "SharedFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple:
        return _inherited, (reduction.DupFd(self.descriptor),)

    def close(self) -> None:
        """Forgets the file; what was mapped of it stays."""
        os.close(self.descriptor)


@dataclass(frozen=True)
class Parcel:
    """A pickle, and the large arrays and tensors that it leaves out: these are not copied."""

    stream: memoryview
    buffers: list[memoryview]

    @classmethod
    def of(cls, value: Any) -> "Parcel":
        """Raises what pickling raises."""
        stream, buffers = io.BytesIO(), []
        _Pickler(stream, buffers).dump(value)
        return cls(stream.getbuffer(), buffers)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for part in (*self.buffers, self.stream))

    def write(self, file: SharedFile) -> Spans:
        """Copies everything into the file; where each part lies there."""
        spans = []
        with open(file.descriptor, "wb", closefd=False) as target:
            for part in (*self.buffers, self.stream):
                start = target.seek(-target.tell() % ALIGNED, os.SEEK_CUR)
                target.write(part)
                spans.append((start, start + part.nbytes))
        return spans


def unpacked(file: SharedFile, spans: Spans) -> Any:
    """The value of a parcel that was written to the file."""
    size = spans[-1][1]
    if size < MAPPED:
        whole = memoryview(bytearray(os.pread(file.descriptor, size, 0)))
    else:
        whole = memoryview(mmap.mmap(file.descriptor, size, access=mmap.ACCESS_COPY))
    *buffers, stream = (whole[start:end] for start, end in spans)
    return pickle.loads(stream, buffers=buffers)


class _Pickler(cloudpickle.Pickler):
    """cloudpickle's, which leaves out what is large: NumPy offers it, PyTorch has to be asked."""

    def __init__(self, stream: io.BytesIO, buffers: list[memoryview]) -> None:
        def keep(buffer: pickle.PickleBuffer) -> bool:
            view = buffer.raw()
            if view.nbytes < LARGE:
                return True  # into the pickle
            buffers.append(view)
            return False

        super().__init__(stream, protocol=5, buffer_callback=keep)

    def reducer_override(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.TypedStorage | torch.UntypedStorage):
            untyped = getattr(value, "_untyped_storage", value)
            dtype = torch.uint8 if untyped is value else value.dtype
            if untyped.device.type == "cpu":
                numbers = torch.empty(0, dtype=torch.uint8).set_(untyped).numpy()
                return _storage, (pickle.PickleBuffer(numbers), dtype)
        return super().reducer_override(value)


def _storage(buffer: Any, dtype: Any) -> Any:
    """What a tensor is made of, a TypedStorage: the bytes as they lie in the buffer."""
    import torch

    empty = not len(buffer)
    numbers = torch.empty(0) if empty else torch.frombuffer(buffer, dtype=torch.uint8)
    return torch.TypedStorage(wrap_storage=numbers.untyped_storage(), dtype=dtype, _internal=True)


def _inherited(descriptor: Any) -> SharedFile:
    return SharedFile(descriptor.detach())


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("labkit")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
