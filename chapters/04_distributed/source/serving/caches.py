"""Where the keys and values of the running requests lie: in one piece each, or in blocks.

    cache = Paged(blocks=100, size=16)            # on demand, a block at a time
    cache = Contiguous(slots=1600, limit=512)     # prompt and the longest output, at once

A slot holds the keys and values of one token. Both caches are asked the same: `admit` those that
wait, `grow` one that runs, `release` one that leaves. `reserved` slots are taken; how many of them
hold a token, the simulation knows.
"""

from bisect import insort
from collections.abc import Callable, Sequence
from typing import NamedTuple

from labkit_lessons.distributed.serving.blocks import admitted, blocks_for, new_slots
from labkit_lessons.distributed.serving.server.requests import Request, demand_count


class Waiting(NamedTuple):
    """One that wants in: its number, itself, and the tokens that its next step will have cached."""

    name: int
    request: Request
    tokens: int


class Paged:
    """Blocks of `size` slots, taken when a token needs one and given back at the end.

    admitted, new_slots   the two rules, by default those of `blocks`; a learner's own fit as well
    """

    keeps_room = False  # a request that was admitted may still find no free block

    def __init__(
        self,
        blocks: int,
        size: int = 16,
        admitted: Callable = admitted,
        new_slots: Callable = new_slots,
    ) -> None:
        demand_count("Paged: blocks", blocks, "blocks")
        demand_count("Paged: size", size, "slots")
        self.blocks = blocks
        self.size = size
        self.free = list(range(blocks))
        self.tables: dict[int, list[int]] = {}
        self.cached: dict[int, int] = {}
        self._admitted = admitted
        self._new_slots = new_slots

    @property
    def slots(self) -> int:
        """All slots, taken or not."""
        return self.blocks * self.size

    @property
    def reserved(self) -> int:
        """Slots of all blocks that are taken."""
        return self.slots - len(self.free) * self.size

    def refuse_too_long(self, name: int, request: Request) -> None:
        """ValueError for a request that does not fit into the whole cache."""
        needed = blocks_for(request.cached, self.size)
        if needed > self.blocks:
            raise ValueError(
                f"Serving: request {name} needs {needed} blocks for its {request.cached} tokens, "
                f"and the whole cache has {self.blocks}. Give it more blocks, or a shorter request."
            )

    def admit(self, waiting: Sequence[Waiting], free_rows: int) -> int:
        """How many of the first ones join; their blocks are taken.

        ValueError where `admitted` lets in more than there are, or than there are rows.
        """
        tokens = [one.tokens for one in waiting]
        count = int(self._admitted(tokens, free_rows, len(self.free), self.size))
        most = min(len(waiting), free_rows)
        if not 0 <= count <= most:
            raise ValueError(f"Paged: {count} cannot join; it is a number from 0 to {most}.")
        for one in waiting[:count]:
            self.tables[one.name] = []
            self.cached[one.name] = 0
            self._take(one.name, one.tokens)
        return count

    def grow(self, name: int, tokens: int) -> bool:
        """Room for so many tokens in all; False, and no change, where no block is free."""
        more = blocks_for(tokens, self.size) - len(self.tables[name])
        if more > len(self.free):
            return False
        self._take(name, tokens - self.cached[name])
        return True

    def release(self, name: int) -> None:
        """All of its blocks are free again."""
        self.free += self.tables.pop(name)
        del self.cached[name]

    def owners(self) -> list[int | None]:
        """For each slot the request that has reserved it, or None."""
        found: list[int | None] = [None] * self.slots
        for name, table in self.tables.items():
            for block in table:
                begin = block * self.size
                found[begin : begin + self.size] = [name] * self.size
        return found

    def place(self, name: int, token: int) -> int:
        """The slot of a request's token."""
        return self.tables[name][token // self.size] * self.size + token % self.size

    def _take(self, name: int, new: int) -> None:
        before = self.tables[name]
        first = self.free[: new // self.size + 1]  # more cannot be needed
        table, _ = self._new_slots(before, first, self.cached[name], new, self.size)
        for block in table[len(before) :]:
            self.free.remove(block)
        self.tables[name] = list(table)
        self.cached[name] += new


class Contiguous:
    """One range of slots for each request, for its prompt and the longest output that is allowed.

    limit   output tokens that a request may have; the server does not know how many it will be
    Each range begins at the first gap that is wide enough (first fit). What lies between ranges
    and is too narrow for the next request is lost until a neighbour leaves: `torn` counts how often
    a request found enough free slots, but not side by side.
    """

    keeps_room = True

    def __init__(self, slots: int, limit: int) -> None:
        demand_count("Contiguous: slots", slots, "slots")
        demand_count("Contiguous: limit", limit, "tokens")
        self.slots = slots
        self.limit = limit
        self.ranges: list[tuple[int, int, int]] = []  # begin, end, name; in order
        self.torn = 0

    @property
    def reserved(self) -> int:
        """Slots of all ranges."""
        return sum(end - begin for begin, end, _ in self.ranges)

    def refuse_too_long(self, name: int, request: Request) -> None:
        """ValueError for a request that is longer than allowed, or than the whole cache."""
        if request.output > self.limit:
            raise ValueError(
                f"Serving: request {name} asks for {request.output} tokens, and the limit is "
                f"{self.limit}."
            )
        if self._width(request) > self.slots:
            raise ValueError(
                f"Serving: request {name} needs a range of {self._width(request)} slots, and the "
                f"whole cache has {self.slots}. Give it more slots, or a lower limit."
            )

    def admit(self, waiting: Sequence[Waiting], free_rows: int) -> int:
        """How many of the first ones join; each has its range."""
        for count, one in enumerate(waiting[:free_rows]):
            if not self._place(one.name, self._width(one.request)):
                return count
        return min(len(waiting), free_rows)

    def grow(self, name: int, tokens: int) -> bool:
        """True: its range has room for the longest output."""
        return True

    def release(self, name: int) -> None:
        """Its range is a gap again."""
        self.ranges = [one for one in self.ranges if one[2] != name]

    def owners(self) -> list[int | None]:
        """For each slot the request that has reserved it, or None."""
        found: list[int | None] = [None] * self.slots
        for begin, end, name in self.ranges:
            found[begin:end] = [name] * (end - begin)
        return found

    def place(self, name: int, token: int) -> int:
        """The slot of a request's token."""
        for begin, _, owner in self.ranges:
            if owner == name:
                return begin + token
        raise ValueError(f"Contiguous: request {name} is not in the cache.")

    def _width(self, request: Request) -> int:
        return request.prompt + self.limit - 1

    def _place(self, name: int, width: int) -> bool:
        begin = 0
        for taken, end, _ in self.ranges:
            if taken - begin >= width:
                break
            begin = end
        if begin + width <= self.slots:
            insort(self.ranges, (begin, begin + width, name))
            return True
        self.torn += self.slots - self.reserved >= width
        return False
