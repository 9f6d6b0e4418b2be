"""Messages between ranks, each of them written down: who sent how many bytes to whom, and when.

    with recorded() as messages:
        send(x, to=1)
        receive(x, source=1)
    messages                        # list of Message

Everything that labkit's collectives send goes through these three functions, and so what is
counted is what was sent. They work within a launch. Lesson processes_and_collectives.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Message:
    """A tensor that went from one rank to another, as one of the two saw it.

    bytes       of its elements; what a network adds to them is not counted
    begin, end  seconds on the machine's clock, which its processes share
    sent        whether the rank that wrote it down is the one that sent it
    """

    source: int
    target: int
    bytes: int
    begin: float
    end: float
    sent: bool


_record: ContextVar[list[Message] | None] = ContextVar("messages", default=None)


@contextmanager
def recorded() -> Iterator[list[Message]]:
    """A list of the messages that this rank sends and receives in the `with` block."""
    messages: list[Message] = []
    token = _record.set(messages)
    try:
        yield messages
    finally:
        _record.reset(token)


def send(tensor: "torch.Tensor", to: int) -> None:
    """Sends a tensor to rank `to`; returns when its memory may be used again."""
    import torch.distributed as dist

    begin = time.monotonic()
    dist.send(tensor.contiguous(), to)
    _note(tensor, dist.get_rank(), to, begin, sent=True)


def receive(tensor: "torch.Tensor", source: int) -> None:
    """Waits for a tensor of rank `source`, and writes it into `tensor`, which is contiguous."""
    import torch.distributed as dist

    begin = time.monotonic()
    dist.recv(_contiguous(tensor), source)
    _note(tensor, source, dist.get_rank(), begin, sent=False)


def exchange(outgoing: "torch.Tensor", to: int, incoming: "torch.Tensor", source: int) -> None:
    """Sends and receives at the same time, so that ranks in a circle do not wait for each other."""
    import torch.distributed as dist

    begin = time.monotonic()
    sending = dist.isend(outgoing.contiguous(), to)
    dist.recv(_contiguous(incoming), source)
    _note(incoming, source, dist.get_rank(), begin, sent=False)
    sending.wait()
    _note(outgoing, dist.get_rank(), to, begin, sent=True)


def _contiguous(tensor: "torch.Tensor") -> "torch.Tensor":
    if not tensor.is_contiguous():
        raise ValueError("A tensor that receives has to be contiguous: take x.contiguous().")
    return tensor


def _note(tensor: "torch.Tensor", source: int, target: int, begin: float, sent: bool) -> None:
    messages = _record.get()
    if messages is None:
        return
    size = tensor.numel() * tensor.element_size()
    messages.append(Message(source, target, size, begin, time.monotonic(), sent))
