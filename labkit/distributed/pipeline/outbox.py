"""An outbox: a bounded queue of tensors to one other rank, which a thread sends.

    with Outbox(to=1, capacity=1) as outbox:
        outbox.put(x)           # returns at once, while there is room
        ...                     # the rank computes on

Two neighbours that both send first would wait for each other: 1F1B sends activations one way and
gradients the other. With room for a single tensor they do not. The queue is bounded, so that a fast
stage waits for a slow one instead of filling the memory.
"""

import queue
import threading
from typing import Self

import torch

from labkit.distributed.messages import send


class Outbox:
    """Tensors on their way to rank `to`: at most `capacity` that it has not received yet.

    Raises ValueError for a capacity below 1: the neighbours would wait for each other.
    """

    def __init__(self, to: int, capacity: int) -> None:
        if not isinstance(capacity, int) or capacity < 1:
            raise ValueError(f"An outbox has room for 1 tensor or more, not {capacity!r}.")
        self._to = to
        self._room = threading.Semaphore(capacity)
        self._waiting: queue.SimpleQueue[torch.Tensor | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._carry, name=f"to rank {to}", daemon=True)
        self._thread.start()

    def put(self, tensor: torch.Tensor) -> None:
        """Hands over a tensor, and waits while the outbox is full; raises what a send raised."""
        self._room.acquire()
        self._raise_error()
        self._waiting.put(tensor)

    def close(self) -> None:
        """Waits until all that was put has been sent, and ends the thread."""
        self._waiting.put(None)
        self._thread.join()
        self._raise_error()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is None:  # after an error the receiver may never come
            self.close()

    def _carry(self) -> None:
        while (tensor := self._waiting.get()) is not None:
            try:
                if self._error is None:
                    send(tensor, self._to)
            except BaseException as error:
                self._error = error
            self._room.release()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
