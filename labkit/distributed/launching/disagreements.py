"""What the ledgers of a launch's ranks say when read together: where they do not fit.

A collective is called by all ranks of its group, in the same order, with tensors of one size and
one dtype, the same operation and the same root. The k-th message from a to b is sent by a and
received by b, with the same tensor. Lesson processes_and_collectives.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.distributed.launching.ledger import RECEIVES, SENDS, Call, Reader

MOST = 4  # sentences about messages
MOST_OPEN = 100_000  # calls that wait for others: pages of a ledger must have been missed


def mismatch(ledgers: Sequence[Sequence[Call]]) -> str | None:
    """The first call that two ranks make in different ways, in a sentence; None if none is.

    ledgers   for each rank its calls
    """
    compared = Comparison(len(ledgers))
    for rank, calls in enumerate(ledgers):
        for call in calls:
            compared.add(rank, call)
    return compared.sentence()


class Comparison:
    """Calls of some ranks, in whatever order they come; those that agree are forgotten."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.open: dict[tuple, dict[int, Call]] = defaultdict(dict)  # not made by all, or unlike
        self.unlike: set[tuple] = set()
        self.anywhere: set[int] = set()  # ranks that have received from whoever came first

    def add(self, rank: int, call: Call) -> None:
        """One more call of a rank."""
        if call.name in RECEIVES and call.peer is None:
            self.anywhere.add(rank)
            return
        key, parties = self._counterparts(rank, call)
        is_message, _, ends = key
        if is_message and ends[1] in self.anywhere:
            return
        if len(self.open) > MOST_OPEN:
            self.open = defaultdict(dict, {one: self.open[one] for one in self.unlike})
        calls = self.open[key]
        calls[rank] = call
        if not _agree(list(calls.values())):
            self.unlike.add(key)
        elif len(calls) == parties:
            del self.open[key]

    def sentence(self) -> str | None:
        """What does not fit, of the collectives first."""
        for key in sorted(self.unlike):
            calls = dict(sorted(self.open[key].items()))
            is_message, place, ends = key
            if not is_message:
                return f"Ranks disagree: {_callers(calls, place, ends)}."
            source, target, _ = ends
            if target not in self.anywhere:
                return (
                    f"Ranks disagree: rank {source} sends {calls[source].tensor} as its "
                    f"{_ordinal(place)} message to rank {target}, which receives it as "
                    f"{calls[target].tensor}."
                )
        return None

    def _counterparts(self, rank: int, call: Call) -> tuple[tuple, int]:
        """What is the same for all calls that belong together, and how many those are.

        The first is whether they are messages, then their place, then the group or both ends.
        """
        if not _is_message(call):
            return (False, call.place, call.group), len(call.group) or self.ranks
        ends = (rank, call.peer) if call.name in SENDS else (call.peer, rank)
        return (True, call.place, (*ends, call.tag)), 2


class Watch:
    """Looks at what ranks write down of their calls, while they run.

    paths   of each rank, its ledger
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.readers = [Reader(path) for path in paths]
        self.compared = Comparison(len(self.readers))

    def sees_one(self) -> bool:
        """Whether two ranks have made a call in different ways."""
        for rank, reader in enumerate(self.readers):
            for call in reader.new():
                self.compared.add(rank, call)
        return self.compared.sentence() is not None

    def close(self) -> None:
        """Closes the ledgers."""
        for reader in self.readers:
            reader.close()


def missing(ledgers: Sequence[Sequence[Call]], returned: Iterable[int] = ()) -> list[str]:
    """What some rank waits for and another one has not called: a sentence for each.

    returned   the ranks whose functions have ended
    """
    returned = set(returned)
    said = []
    for group, ranks in _groups(ledgers).items():
        last = {rank: max(_collectives(ledgers[rank], group), default=0) for rank in ranks}
        place = min(last.values()) + 1
        calls = {
            rank: _collectives(ledgers[rank], group)[place] for rank in ranks if last[rank] >= place
        }
        if calls:
            late = [rank for rank in ranks if rank not in calls]
            said.append(f"{_callers(calls, place, group)}; {_without(late, place - 1, returned)}.")
    lone = [_lone(pair, returned) for pair in _pairs(ledgers)]
    return said + [sentence for sentence in lone if sentence][:MOST]


def _groups(ledgers: Sequence[Sequence[Call]]) -> dict[tuple[int, ...], Sequence[int]]:
    """The groups of which a collective was called, with their ranks."""
    calls = [call for ledger in ledgers for call in ledger if not _is_message(call)]
    return {call.group: call.group or range(len(ledgers)) for call in calls}


def _collectives(calls: Sequence[Call], group: tuple[int, ...]) -> dict[int, Call]:
    """A group's collectives by their place."""
    return {call.place: call for call in calls if not _is_message(call) and call.group == group}


def _is_message(call: Call) -> bool:
    return call.name in SENDS or call.name in RECEIVES


def _agree(calls: Sequence[Call]) -> bool:
    """Whether calls that belong together are alike; of messages, whether their sizes are."""
    if _is_message(calls[0]):
        return len({_size(call) for call in calls if call.tensor}) < 2
    return len({(call.name, _size(call), call.op, call.peer) for call in calls}) < 2


def _size(call: Call) -> tuple[str, int]:
    """dtype, and how many numbers."""
    return call.tensor.partition("[")[0], call.numbers


def _callers(calls: Mapping[int, Call], place: int, group: tuple[int, ...]) -> str:
    """Who calls what as a group's collective number `place`."""
    whose = f" of the group {list(group)}" if group else ""
    callers = defaultdict(list)
    for rank, call in calls.items():
        callers[_described(call)].append(rank)
    parts = []
    for what, ranks in callers.items():
        verb, of_whom = ("calls", "its") if len(ranks) == 1 else ("call", "their")
        nth = "" if parts else f" as {of_whom} {_ordinal(place)} collective{whose}"
        parts.append(f"{_ranks(ranks)} {verb} {what}{nth}")
    return ", ".join(parts)


def _described(call: Call) -> str:
    """ "all_reduce of float32[3] (SUM)", "broadcast of float32[3] from rank 0" """
    tensor = f" of {call.tensor}" if call.tensor else ""
    op = f" ({call.op})" if call.op else ""
    way = "from" if call.name.startswith(("broadcast", "scatter")) else "to"
    root = "" if call.peer is None else f" {way} rank {call.peer}"
    return f"{call.name}{tensor}{op}{root}"


def _without(late: Sequence[int], called: int, returned: set[int]) -> str:
    """What those do that have not called it."""
    gone = [rank for rank in late if rank in returned]
    elsewhere = [rank for rank in late if rank not in returned]
    after = f"after {called or 'none'}"
    parts = []
    if gone:
        parts.append(f"{_ranks(gone)} {_have(gone)} returned {after}")
    if elsewhere:
        parts.append(f"{_ranks(elsewhere)} {_have(elsewhere)} called {called or 'none'} so far")
    return ", ".join(parts)


@dataclass(frozen=True)
class Pair:
    """What one rank sends to another, and what that one receives from it, by place."""

    source: int
    target: int
    sent: Mapping[int, Call]
    received: Mapping[int, Call]


def _pairs(ledgers: Sequence[Sequence[Call]]) -> list[Pair]:
    """All pairs, but those of a rank that has received from whoever came first."""
    sent, received = defaultdict(dict), defaultdict(dict)
    anywhere = set()
    for rank, calls in enumerate(ledgers):
        for call in calls:
            if call.name in SENDS:
                sent[rank, call.peer, call.tag][call.place] = call
            elif call.name in RECEIVES and call.peer is not None:
                received[call.peer, rank, call.tag][call.place] = call
            elif call.name in RECEIVES:
                anywhere.add(rank)
    keys = sorted(sent.keys() | received.keys())
    return [Pair(*key[:2], sent[key], received[key]) for key in keys if key[1] not in anywhere]


def _lone(pair: Pair, returned: set[int]) -> str | None:
    """The first message that is only sent, or only received."""
    sent, received = max(pair.sent, default=0), max(pair.received, default=0)
    if received > sent:
        end = " and returned" if pair.source in returned else ""
        return (
            f"rank {pair.target} waits for its {_ordinal(sent + 1)} message from rank "
            f"{pair.source}, which has sent {sent or 'none'}{end}."
        )
    if sent > received:
        end = " and returned" if pair.target in returned else ""
        return (
            f"rank {pair.source} sends its {_ordinal(received + 1)} message to rank "
            f"{pair.target}, which has received {received or 'none'}{end}."
        )
    return None


def _ranks(ranks: Sequence[int]) -> str:
    """ "rank 0", "ranks 0 and 2", "ranks 0, 1 and 2" """
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _have(ranks: Sequence[int]) -> str:
    return "has" if len(ranks) == 1 else "have"


def _ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if number % 100 in (11, 12, 13) else endings.get(number % 10, "th")
    return f"{number}{ending}"
