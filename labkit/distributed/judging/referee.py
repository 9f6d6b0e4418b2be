"""The referee: carries all that ranks send, counts it, and knows when nothing can go on.

It stands in the checking process. A rank asks for one thing at a time, and goes on only when the
referee answers. So when every rank that has not ended waits for an operation that is not done,
nothing will ever change: that is a hang, and no clock is needed to know it.

Messages meet as in torch.distributed: those of one source, one target and one tag in their order.
A send is done when a receive has met it, as with large tensors; collectives meet by their order in
each rank.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from labkit.distributed.judging.posts import Ask, Done, Ended, Post, Wait, Where
from labkit.distributed.judging.traffic import Call, CollectiveCall, DeliveredMessage, Traffic

MOST_POSTS = 5_000  # of a rank in one case
MOST_TESTS = 500  # in a row, while all others wait: then it waits, too


@dataclass
class Operation:
    """A post, and what became of it.

    clock  how long the rank's chain of messages was when it began
    order  of what it has become, once it is done
    """

    rank: int
    post: Post
    clock: int
    order: int = 0
    done: Done | None = None


@dataclass
class Seat:
    """A rank, as the referee sees it.

    calls    its collectives, in their order; history: all that it did
    clock    the longest chain of messages that it is done with
    waits    the operation that it waits for
    where    the line in which it does
    tests    how often in a row it has asked whether something is done
    ended    how its function ended; died: its process's exit code, if it did not
    """

    operations: dict[int, Operation] = field(default_factory=dict)
    calls: list[Operation] = field(default_factory=list)
    history: list[Call] = field(default_factory=list)
    clock: int = 0
    waits: Operation | None = None
    tested: Operation | None = None
    where: Where | None = None
    tests: int = 0
    ended: Ended | None = None
    died: int | None = None

    @property
    def gone(self) -> bool:
        """Whether it asks for nothing any more."""
        return self.ended is not None or self.died is not None

    @property
    def stands(self) -> Operation | None:
        """The operation without which it does not go on."""
        if self.waits is None and self.tests >= MOST_TESTS:
            return self.tested
        return self.waits


class Referee:
    """The state of one case; it knows nothing of processes.

    seats   one for each rank
    faults  operations that met, and do not fit
    """

    def __init__(self, ranks: int) -> None:
        self.seats = [Seat() for _ in range(ranks)]
        self.faults: list[tuple[Operation, Operation]] = []
        self.too_many: int | None = None  # the rank that posted too much
        self._sent: dict[tuple[int, int, int], deque] = defaultdict(deque)
        self._wanted: dict[tuple[int, int, int], deque] = defaultdict(deque)
        self._from_any: list[Operation] = []
        self._messages: list[DeliveredMessage] = []
        self._together: list[CollectiveCall] = []

    def hear(self, rank: int, said: Post | Wait | Ask | Ended) -> dict[int, Done | bool]:
        """What a rank says; returns the answers that are due, by the rank that gets them."""
        seat = self.seats[rank]
        match said:
            case Post():
                seat.tests = 0
                self._note("begin", rank, said)
                self._begin(rank, said)
            case Wait():
                seat.waits, seat.where, seat.tests = seat.operations[said.number], said.where, 0
                self._note("wait", rank, seat.waits.post)
            case Ask():
                return self._tested(rank, said)
            case Ended():
                seat.ended = said
        return self._answers()

    def died(self, rank: int, code: int) -> None:
        """The process of a rank ended, and its function had not."""
        self.seats[rank].died = code

    def settle(self) -> dict[int, Done | bool]:
        """Where all ranks wait: answers that were kept back until then; none if it is a hang.

        A receive from any rank takes the lowest one that has something for it: which was first
        must not depend on the machine.
        """
        for operation in sorted(self._from_any, key=lambda op: op.rank):
            for source in range(len(self.seats)):
                queue = self._sent[source, operation.rank, operation.post.tag]
                if queue:
                    self._from_any.remove(operation)
                    self._meet(queue.popleft(), operation)
                    return self._answers()
        return {}

    @property
    def all_stand(self) -> bool:
        """Whether every rank has ended, or waits for what is not done."""
        return self.too_many is not None or all(
            seat.gone or (seat.stands is not None and seat.stands.done is None)
            for seat in self.seats
        )

    def traffic(self, inputs: Iterable[Any]) -> Traffic:
        """All that was carried."""
        together = tuple(sorted(self._together, key=lambda one: one.order))
        messages = tuple(sorted(self._messages))
        calls = tuple(tuple(seat.history) for seat in self.seats)
        return Traffic(len(self.seats), tuple(inputs), messages, together, calls)

    def unreceived(self, source: int, target: int) -> list[Operation]:
        """What one rank has sent to another, and nobody received."""
        return [
            operation
            for (one, other, _), queue in self._sent.items()
            if (one, other) == (source, target)
            for operation in queue
        ]

    def _note(self, what: str, rank: int, post: Post) -> None:
        call = Call(what, post.name, post.number, post.size, post.where.called)
        self.seats[rank].history.append(call)

    def _tested(self, rank: int, said: Ask) -> dict[int, bool]:
        seat = self.seats[rank]
        operation = seat.operations[said.number]
        seat.tested, seat.where = operation, said.where
        seat.tests = 0 if operation.done else seat.tests + 1
        return {rank: operation.done is not None}

    def _begin(self, rank: int, post: Post) -> None:
        seat = self.seats[rank]
        operation = Operation(rank, post, seat.clock)
        seat.operations[post.number] = operation
        if post.number >= MOST_POSTS:
            self.too_many = rank
        elif post.kind == "collective":
            seat.calls.append(operation)
            self._gather(len(seat.calls) - 1)
        elif post.kind == "send":
            self._message((rank, post.peer, post.tag), operation, self._sent, self._wanted)
        elif post.peer is None:
            self._from_any.append(operation)
        else:
            self._message((post.peer, rank, post.tag), operation, self._wanted, self._sent)

    def _message(self, link: tuple, operation: Operation, own: dict, others: dict) -> None:
        if not others[link]:
            own[link].append(operation)
            return
        met = others[link].popleft()
        self._meet(*((operation, met) if operation.post.kind == "send" else (met, operation)))

    def _meet(self, sent: Operation, wanted: Operation) -> None:
        """A send and a receive of the same link."""
        if (sent.post.size, sent.post.dtype) != (wanted.post.size, wanted.post.dtype):
            self.faults.append((sent, wanted))
            return
        order = 1 + max(sent.clock, wanted.clock)
        self._messages.append(DeliveredMessage(order, sent.rank, wanted.rank, sent.post.size))
        sent.done, wanted.done = Done(), Done((sent.post.data,), sent.rank)
        sent.order = wanted.order = order

    def _gather(self, place: int) -> None:
        """Once all ranks have called their collective number `place`: it is done, if they fit."""
        calls = [seat.calls[place] for seat in self.seats if len(seat.calls) > place]
        first = calls[0]
        for other in calls[1:]:
            if _terms(first.post) != _terms(other.post):
                if not any({a.rank, b.rank} == {first.rank, other.rank} for a, b in self.faults):
                    self.faults.append((first, other))
                return
        if len(calls) < len(self.seats):
            return
        order = 1 + max(call.clock for call in calls)
        late = any(call.post.late for call in calls)
        post = first.post
        self._together.append(CollectiveCall(post.name, post.size, order, post.root, late))
        for call in calls:
            call.done, call.order = Done(tuple(one.post.data for one in calls)), order

    def _answers(self) -> dict[int, Done]:
        """To all ranks that wait for what is done; they go on."""
        found = {}
        for rank, seat in enumerate(self.seats):
            operation = seat.waits
            if operation is not None and operation.done is not None and not seat.gone:
                found[rank] = operation.done
                seat.clock = max(seat.clock, operation.order)
                seat.waits = None
                del seat.operations[operation.post.number]
        return found


def _terms(post: Post) -> tuple:
    """What all ranks of a collective have to agree on."""
    return post.name, post.dtype, post.shape, post.root, post.op
