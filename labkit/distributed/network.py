"""What carries the messages of `send`, `receive` and `exchange`: torch's group, or a slow network.

    with emulated_link(latency=1e-3, bandwidth=100e6):     # in a function that `launch` runs
        ring_all_reduce(x)

On one machine a message is a copy in memory, and costs nearly nothing. On an emulated link each
one takes as long as on a real cable: its bytes do travel between the processes, but the receiver
sleeps until they could have arrived. Lesson the_ring.

Whatever has the methods of `Transport` can carry messages: `with use(transport): ...`.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from labkit.distributed.launching.ledger import hidden

if TYPE_CHECKING:
    import torch


class Transport(Protocol):
    """How tensors, all of them contiguous, go from this rank to others, and come from them."""

    def place(self) -> tuple[int, int]:
        """This rank, and how many there are; raises RuntimeError outside of a launch."""

    def send(self, tensor: "torch.Tensor", to: int) -> None:
        """Returns when the tensor's memory may be used again."""

    def receive(self, tensor: "torch.Tensor", source: int) -> None:
        """Waits for the next tensor of rank `source`, and writes it into `tensor`."""

    def exchange(
        self, outgoing: "torch.Tensor", to: int, incoming: "torch.Tensor", source: int
    ) -> None:
        """Sends and receives at the same time."""


class TorchTransport:
    """By the default group of `torch.distributed`: as a rule Gloo."""

    def place(self) -> tuple[int, int]:
        """In the default group; raises RuntimeError where there is none."""
        import torch.distributed as dist

        if not dist.is_initialized():
            raise RuntimeError(
                "Messages need ranks: call `send`, `receive` and the collectives in a function "
                "that `launch` runs."
            )
        return dist.get_rank(), dist.get_world_size()

    def send(self, tensor: "torch.Tensor", to: int) -> None:
        """By `dist.send`."""
        import torch.distributed as dist

        dist.send(tensor, to)

    def receive(self, tensor: "torch.Tensor", source: int) -> None:
        """By `dist.recv`."""
        import torch.distributed as dist

        dist.recv(tensor, source)

    def exchange(
        self, outgoing: "torch.Tensor", to: int, incoming: "torch.Tensor", source: int
    ) -> None:
        """By `dist.irecv` and `dist.isend`; NCCL wants both in one batch."""
        import torch.distributed as dist

        if outgoing.is_cuda:
            both = [dist.P2POp(dist.isend, outgoing, to), dist.P2POp(dist.irecv, incoming, source)]
            for work in dist.batch_isend_irecv(both):
                work.wait()
            return
        receiving = dist.irecv(incoming, source)  # first: what comes has a place to go to
        sending = dist.isend(outgoing, to)
        receiving.wait()
        sending.wait()


class EmulatedLink:
    """Carries messages by another transport, and lets each take latency + bytes / bandwidth.

    Each rank hangs on a switch by one cable, which carries one message at a time in each
    direction. A message is on its sender's cable from the moment at which that is free; it is on
    its receiver's from the first moment on at which that is free, too. The moments are those of
    the clock that all processes of a machine share, and travel ahead of the message.
    """

    def __init__(self, inner: Transport, latency: float, bandwidth: float) -> None:
        self.inner = inner
        self.latency = latency
        self.bandwidth = bandwidth
        self.outward = Cable()
        self.inward = Cable()

    def place(self) -> tuple[int, int]:
        """As the transport that it carries messages by."""
        return self.inner.place()

    def send(self, tensor: "torch.Tensor", to: int) -> None:
        """Returns when the message has left this rank's cable."""
        stamp, left = self._depart(tensor)
        with hidden():
            self.inner.send(stamp, to)
        self.inner.send(tensor, to)
        _sleep_until(left)

    def receive(self, tensor: "torch.Tensor", source: int) -> None:
        """Returns when the message has come over this rank's cable."""
        stamp = _stamp(0.0)
        with hidden():
            self.inner.receive(stamp, source)
        self.inner.receive(tensor, source)
        self._arrive(tensor, stamp)

    def exchange(
        self, outgoing: "torch.Tensor", to: int, incoming: "torch.Tensor", source: int
    ) -> None:
        """Returns when one message has left, and the other has come."""
        stamp, left = self._depart(outgoing)
        stamp_of_other = _stamp(0.0)
        with hidden():
            self.inner.exchange(stamp, to, stamp_of_other, source)
        self.inner.exchange(outgoing, to, incoming, source)
        self._arrive(incoming, stamp_of_other)
        _sleep_until(left)

    def _depart(self, tensor: "torch.Tensor") -> tuple["torch.Tensor", float]:
        """When a message leaves, as a tensor that can travel, and when all of it has left."""
        seconds = self._seconds(tensor)
        begin = self.outward.take(time.monotonic(), seconds)
        return _stamp(begin), begin + seconds

    def _arrive(self, tensor: "torch.Tensor", stamp: "torch.Tensor") -> None:
        seconds = self._seconds(tensor)
        begin = self.inward.take(float(stamp), seconds)
        _sleep_until(begin + seconds)

    def _seconds(self, tensor: "torch.Tensor") -> float:
        return self.latency + tensor.numel() * tensor.element_size() / self.bandwidth


class Cable:
    """One direction of a rank's cable: the spans of time in which a message is on it."""

    def __init__(self) -> None:
        self.busy: list[tuple[float, float]] = []  # begin and end, in order
        self.lock = threading.Lock()

    def take(self, moment: float, seconds: float) -> float:
        """Takes the first free span of so many seconds from a moment on, and gives its begin."""
        with self.lock:
            begin = moment
            for other, end in self.busy:
                if begin + seconds <= other:
                    break
                begin = max(begin, end)
            self.busy.append((begin, begin + seconds))
            self.busy.sort()
            return begin


_current: Transport = TorchTransport()


def transport() -> Transport:
    """What carries this process's messages now."""
    return _current


@contextmanager
def use(other: Transport) -> Iterator[Transport]:
    """Lets another transport carry the messages of this process, in the `with` block."""
    global _current
    before = _current
    _current = other
    try:
        yield other
    finally:
        _current = before


def emulated_link(latency: float, bandwidth: float) -> AbstractContextManager[EmulatedLink]:
    """A `with` block in which each message takes latency + bytes / bandwidth (emulated in process).

    latency     seconds before the first byte of each message
    bandwidth   bytes per second, in each direction of a rank's cable

    Every rank enters it with the same numbers. What `torch.distributed` itself sends is as fast
    as ever. Raises ValueError for a latency below 0 or a bandwidth that is not above 0.
    """
    if not latency >= 0:
        raise ValueError(f"emulated_link: latency is a number of seconds from 0 on, not {latency}.")
    if not bandwidth > 0:
        raise ValueError(
            f"emulated_link: bandwidth is a number of bytes per second above 0, not {bandwidth}."
        )
    return use(EmulatedLink(transport(), latency, bandwidth))


def _stamp(moment: float) -> "torch.Tensor":
    import torch

    return torch.tensor([moment], dtype=torch.float64)


def _sleep_until(moment: float) -> None:
    """`time.sleep` may return early on some systems, and never does here."""
    while (left := moment - time.monotonic()) > 0:
        time.sleep(left)
