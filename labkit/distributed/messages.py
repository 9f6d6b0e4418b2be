"""Messages between ranks, each of them written down: who sent how many bytes to whom, and when.

    with recorded() as messages:
        send(x, to=1)
        receive(x, source=1)
    messages                        # list of Message

Everything that labkit's collectives send goes through these three functions, and so what is
counted is what was sent. They work within a launch; `network` has what carries them. Lesson
processes_and_collectives.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.distributed.network import transport

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


_records: list[list[Message]] = []  # those that are being written; threads write into them, too


@contextmanager
def recorded() -> Iterator[list[Message]]:
    """A list of the messages that this rank sends and receives in the `with` block."""
    messages: list[Message] = []
    _records.append(messages)
    try:
        yield messages
    finally:
        _records[:] = [record for record in _records if record is not messages]


def send(tensor: "torch.Tensor", to: int) -> None:
    """Sends a tensor to rank `to`; returns when its memory may be used again.

    Raises ValueError where there is no such rank, or it is this one.
    """
    rank = _other(to, "send to")
    begin = time.monotonic()
    transport().send(tensor.contiguous(), to)
    _note(tensor, rank, to, begin, sent=True)


def receive(tensor: "torch.Tensor", source: int) -> None:
    """Waits for a tensor of rank `source`, and writes it into `tensor`, which is contiguous.

    Raises ValueError where it is not, where there is no such rank, or it is this one.
    """
    rank = _other(source, "receive from")
    begin = time.monotonic()
    transport().receive(_contiguous(tensor), source)
    _note(tensor, source, rank, begin, sent=False)


def exchange(outgoing: "torch.Tensor", to: int, incoming: "torch.Tensor", source: int) -> None:
    """Sends and receives at the same time, so that ranks in a circle do not wait for each other.

    Raises ValueError as `send` and `receive` do.
    """
    rank = _other(to, "send to")
    _other(source, "receive from")
    begin = time.monotonic()
    transport().exchange(outgoing.contiguous(), to, _contiguous(incoming), source)
    _note(outgoing, rank, to, begin, sent=True)
    _note(incoming, source, rank, begin, sent=False)


def _other(other: int, what: str) -> int:
    """This rank, once it is clear that `other` is another one."""
    rank, ranks = transport().place()
    if other == rank:
        raise ValueError(f"Rank {rank} cannot {what} itself.")
    if not 0 <= other < ranks:
        raise ValueError(f"Rank {rank} cannot {what} rank {other}: they are 0 to {ranks - 1}.")
    return rank


def _contiguous(tensor: "torch.Tensor") -> "torch.Tensor":
    if not tensor.is_contiguous():
        raise ValueError("A tensor that receives has to be contiguous: take x.contiguous().")
    return tensor


def _note(tensor: "torch.Tensor", source: int, target: int, begin: float, sent: bool) -> None:
    if not _records:
        return
    size = tensor.numel() * tensor.element_size()
    message = Message(source, target, size, begin, time.monotonic(), sent)
    for messages in tuple(_records):
        messages.append(message)
