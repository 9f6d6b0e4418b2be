"""What went between the ranks in one case of an exercise, counted by the referee."""

from collections import Counter
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class DeliveredMessage:
    """A message that one rank sent and another received.

    order  1 + the number of messages that had to come before it, one after the other: a message
           comes after all those that its sender or its receiver was done with when it began it
    bytes  of the tensor's elements
    """

    order: int
    source: int
    target: int
    bytes: int


@dataclass(frozen=True)
class CollectiveCall:
    """A collective of torch.distributed that all ranks called.

    name   "all_reduce" and so on
    bytes  of one rank's tensor
    order  as of a message
    late   whether any rank went on before it was done (async_op=True)
    """

    name: str
    bytes: int
    order: int
    root: int | None = None
    late: bool = False


@dataclass(frozen=True)
class Call:
    """What one rank did: it began an operation, or waited for one until it was done.

    what    "begin" or "wait"; a plain `send` is both, one after the other
    name    "send", "irecv", "all_reduce" and so on
    number  of the operation, counted in this rank from 1
    called  the function that the learner's line calls, such as labkit's "all_gather"
    """

    what: str
    name: str
    number: int
    bytes: int
    called: str = ""


@dataclass(frozen=True)
class Traffic:
    """All of one case.

    ranks        how many there were
    inputs       what each of them got
    messages     in their order
    collectives  calls of torch.distributed's own; their bytes are in no other number here
    calls        for each rank, what it began and what it waited for, in the order of its program
    """

    ranks: int
    inputs: tuple[Any, ...]
    messages: tuple[DeliveredMessage, ...]
    collectives: tuple[CollectiveCall, ...]
    calls: tuple[tuple[Call, ...], ...]

    @property
    def sent(self) -> list[int]:
        """Bytes that each rank has sent."""
        return [sum(m.bytes for m in self.messages if m.source == r) for r in range(self.ranks)]

    @property
    def received(self) -> list[int]:
        """Bytes that each rank has received."""
        return [sum(m.bytes for m in self.messages if m.target == r) for r in range(self.ranks)]

    @property
    def links(self) -> dict[tuple[int, int], int]:
        """Bytes from each source to each target, of those links that were used."""
        total = Counter()
        for message in self.messages:
            total[message.source, message.target] += message.bytes
        return dict(sorted(total.items()))

    @property
    def most_sent(self) -> int:
        """Bytes of the rank that sent the most."""
        return max(self.sent)

    @property
    def most_received(self) -> int:
        """Bytes of the rank that received the most."""
        return max(self.received)

    @property
    def most_on_a_link(self) -> int:
        """Bytes of the link that carried the most, in one direction."""
        return max(self.links.values(), default=0)

    @property
    def bytes(self) -> int:
        """Of all messages."""
        return sum(self.sent)

    @property
    def steps(self) -> int:
        """The longest chain of messages that come one after the other."""
        return max((message.order for message in self.messages), default=0)
