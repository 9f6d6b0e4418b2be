"""All-reduces in the background: a thread of each rank carries them, while the rank computes on.

    with CommunicationThread() as thread:
        first = thread.submit(x)            # returns at once
        second = thread.submit(y)
        ...                                 # the rank computes
        total = first.wait()                # the sum, or the error that the all-reduce met

All ranks have to submit in the same order: the thread takes one all-reduce after the other, and
each needs its counterpart in the other ranks. Lesson overlap_and_buckets.
"""

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from labkit.distributed.collectives import ring_all_reduce

if TYPE_CHECKING:
    import torch

AllReduce = Callable[["torch.Tensor"], "torch.Tensor"]


class Handle:
    """An all-reduce that was submitted: what it gives once it is done.

    begin, end   when the thread carried it, in seconds on the machine's clock
    """

    def __init__(self, tensor: "torch.Tensor") -> None:
        self.tensor = tensor
        self.begin = 0.0
        self.end = 0.0
        self._done = threading.Event()
        self._sum: torch.Tensor | None = None
        self._error: BaseException | None = None

    def wait(self) -> "torch.Tensor":
        """Waits for the sum over all ranks; raises what the all-reduce raised."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._sum

    def carry(self, all_reduce: AllReduce, error: BaseException | None) -> BaseException | None:
        """Carries the all-reduce out, unless an earlier one failed; returns the error, if any."""
        self._error = error
        if error is None:
            self.begin = time.monotonic()
            try:
                self._sum = all_reduce(self.tensor)
            except BaseException as raised:
                self._error = raised
            self.end = time.monotonic()
        self._done.set()
        return self._error


class CommunicationThread:
    """One thread that carries out this rank's all-reduces in the order of their submission.

    all_reduce   takes a tensor and returns its sum over all ranks, in every rank

    After one has failed, the others fail with the same error: the ranks no longer agree on what
    comes next. `close` (or the end of a `with` block) waits for all that was submitted.
    """

    def __init__(self, all_reduce: AllReduce = ring_all_reduce) -> None:
        self._all_reduce = all_reduce
        self._submitted: queue.SimpleQueue[Handle | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="communication", daemon=True)
        self._closed = False
        self._thread.start()

    def submit(self, tensor: "torch.Tensor") -> Handle:
        """Hands a tensor to the thread. It must not be written to until its handle was waited for.

        Raises RuntimeError after `close`.
        """
        if self._closed:
            raise RuntimeError("The communication thread is closed: submit before close().")
        handle = Handle(tensor)
        self._submitted.put(handle)
        return handle

    def close(self) -> None:
        """Waits for all that was submitted, and ends the thread."""
        if not self._closed:
            self._closed = True
            self._submitted.put(None)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        error = None
        while (handle := self._submitted.get()) is not None:
            error = handle.carry(self._all_reduce, error)


class BackendHandle:
    """An all-reduce that the backend carries by itself: the sum ends in the tensor."""

    def __init__(self, tensor: "torch.Tensor") -> None:
        import torch.distributed as dist

        self._tensor = tensor
        self._work = dist.all_reduce(tensor, async_op=True)

    def wait(self) -> "torch.Tensor":
        """Waits for the sum over all ranks; raises what the all-reduce raised."""
        self._work.wait()
        return self._tensor


class BackendThreads:
    """The same by the backend's own threads: Gloo's, or NCCL's stream on the GPU."""

    def submit(self, tensor: "torch.Tensor") -> BackendHandle:
        """Hands a tensor to the backend, which overwrites it with the sum."""
        return BackendHandle(tensor)

    def close(self) -> None:
        """Nothing has to be ended."""
