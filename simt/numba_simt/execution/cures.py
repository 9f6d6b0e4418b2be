"""Which cure fits a race: by what the kernel does with the element, and where a barrier is missing.

Races come in pairs of accesses. What one pair shows is judged together with all others: whether
several threads update an element is told by its writes, where a barrier is missing by the rounds in
which the accesses were, and how far it must reach by the threads that were farthest apart.
"""

from collections.abc import Sequence
from typing import NamedTuple

from numba_simt.execution.flow import ATOMICS, BARRIERS, LOADS, STORES, TESTS, Flow
from numba_simt.execution.places import Places
from numba_simt.execution.structs import (
    IN_BLOCK,
    IN_GRID,
    IN_WARP,
    OTHER_EARLIER,
    OTHER_LATER,
    SAME_ROUND,
    WARP,
    HazardRecord,
)
from numba_simt.execution.updates import Updates

_SEEN = {SAME_ROUND: "same", IN_WARP: "warp", IN_BLOCK: "block", IN_GRID: "grid"}
_SPINS = {"ATOMIC_CAS", "ATOMIC_EXCH"}


class Cure(NamedTuple):
    """A cure of hazards.toml by its name, and the words for it."""

    name: str
    words: dict[str, str]


class Cures:
    """The cures of one launch's races; `records` are all of these, equal writes included."""

    def __init__(self, at: Places, records: Sequence[HazardRecord]) -> None:
        self.at = at
        self.flow = Flow(at.program)
        self.seen: dict[tuple, set[str]] = {}  # what was seen of a pair of lines
        for record in records:
            self.seen.setdefault(_pair(record), set()).update(self._seen_in(record))
        self.mixed = {record.array for record in records if record.atomic != record.other_atomic}
        self.updates = Updates(self.flow, records)

    def of(self, record: HazardRecord) -> Cure:
        """The cure of a race."""
        here, there = self._both(record)
        if not here or not there:
            return Cure("alias", {})
        place = _Place(self, record, here, there)
        if record.atomic != record.other_atomic:
            return self._mixed(place)
        if update := self.updates.of(record):
            if lock := self._lock(place):
                return Cure("lock", self._words(place, taken=lock, call=update.call))
            return Cure(update.cure, {"call": update.call})
        if record.write and record.other_write and place.one_line and place.in_one_round:
            return Cure("mixed_grid" if record.array in self.mixed else "contested", {})
        if place.reach == "grid":
            return self._between_blocks(place)
        return self._within_a_block(place)

    def in_step_below_volta(self, record: HazardRecord) -> bool:
        """Whether the lanes of a warp, while they ran in lockstep, did this in a known order."""
        reads = not (record.write and record.other_write)
        return reads and reach_of(self.seen[_pair(record)]) == "warp"

    def _both(self, record: HazardRecord) -> tuple[list[int], list[int]]:
        """The instructions of the two accesses; none where they are of two arrays."""
        found = []
        for line, write, atomic in (
            (record.line, record.write, record.atomic),
            (record.other_line, record.other_write, record.other_atomic),
        ):
            kinds = ATOMICS if atomic else STORES if write else LOADS
            found.append(self.flow.accesses(line, kinds, record.array))
        return found[0], found[1]

    def _seen_in(self, record: HazardRecord) -> set[str]:
        """How far apart the threads were, and in which rounds.

        "next": what stands first in the program was in a later round than what stands behind it.
        """
        seen = {name for bit, name in _SEEN.items() if record.seen & bit}
        here, there = self._both(record)
        if here and there and record.seen & (OTHER_EARLIER | OTHER_LATER):
            ahead = OTHER_EARLIER if min(here) < min(there) else OTHER_LATER
            if record.seen & ahead or min(here) == min(there):
                seen.add("next")
        return seen

    def _words(self, place: "_Place", **others: int | str) -> dict[str, str]:
        """Both lines in their order, and more: instructions become their lines."""
        words = {"early": self._line(place.early), "late": self._line(place.late)}
        for name, value in others.items():
            words[name] = value if isinstance(value, str) else self._line(value)
        return words

    def _line(self, instruction: int) -> str:
        number = self.flow.lines[instruction]
        return f"line {self.at.line(number)}"

    def _mixed(self, place: "_Place") -> Cure:
        """An atomic and a plain access."""
        if place.reach == "grid" or self._spins_on(place):
            return Cure("mixed_grid" if not self._spins_on(place) else "flag", self._words(place))
        return Cure("mixed", self._words(place) | self._barrier(place))

    def _spins_on(self, place: "_Place") -> bool:
        """Whether one of them is the plain look for which a loop waits."""
        flow = self.flow
        for load in place.loads:
            loop = flow.loop_around(load)
            if loop and not flow.within(*loop, STORES | BARRIERS):
                tests = flow.within(*loop, TESTS)
                if any(load in self._decided_by(test) for test in tests):
                    return True
        return False

    def _decided_by(self, test: int) -> set[int]:
        return self.flow.computed_from(test, [self.flow.operand(test, "test")])

    def _known_by(self, test: int) -> set[int]:
        """What decides a condition, also where one thread has stored it for its block."""
        found = self._decided_by(test)
        arrays = {self.flow.operand(at, "array") for at in found if self.flow.ops[at] == "LD"}
        for store in self.flow.within(0, test, {"ST"}):
            if self.flow.operand(store, "array") in arrays:
                found |= self.flow.stored_from(store)
        return found

    def _lock(self, place: "_Place") -> int | None:
        """The atomic that takes a lock around both accesses, if there is one."""
        for loop in self.flow.loops:
            if loop[1] > place.early:
                continue
            for take in self.flow.within(*loop, _SPINS):
                array = self.flow.operand(take, "array")
                after = self.flow.within(place.late, len(self.flow.ops) - 1, ATOMICS | STORES)
                if any(self.flow.operand(give, "array") == array for give in after):
                    return take
        return None

    def _between_blocks(self, place: "_Place") -> Cure:
        """Threads of different blocks, which no barrier orders."""
        if self._spins_on(place):
            return Cure("flag", self._words(place))
        if cure := self._handed_over(place):
            return cure
        if place.in_place:
            return Cure("in_place_grid", self._words(place))
        passed = self.flow.within(place.early, place.late, BARRIERS)
        return Cure("grid_barrier" if passed else "grid", {})

    def _handed_over(self, place: "_Place") -> Cure | None:
        """What is missing where an atomic tells another block that something is written."""
        flow = self.flow
        if not place.loads or not place.stores:
            return None
        store, load = min(place.stores), max(place.loads)
        tell = next(iter(flow.within(store, len(flow.ops) - 1, ATOMICS)), None)
        tests = flow.within(0, load, TESTS)
        told = [one for test in tests for one in self._known_by(test) if flow.ops[one] in ATOMICS]
        if tell is None or not told:
            return None
        words = self._words(place, tell=tell, store=store, load=load, told=max(told))
        fences = flow.within(store, tell, {"FENCE"})
        if not fences:
            near = flow.within(store, tell, {"FENCE_BLOCK"})
            return Cure("fence_block" if near else "fence", words)
        if not flow.within(store, fences[0], BARRIERS):
            return Cure("tell_after_all", words | {"fence": self._line(fences[0])})
        return Cure("read_after_one", words)

    def _within_a_block(self, place: "_Place") -> Cure:
        """Where a barrier is missing."""
        words = self._words(place) | self._barrier(place)
        if self._spins_on(place):
            return Cure("flag", words)
        if self._in_two_branches(place):
            return Cure("two_branches", words)
        between, at_the_end = self._missing(place)
        words["again"] = ""
        if at_the_end:
            words["again"] = ", and again at the end of the round"
        if not between:
            return Cure("round_end_line" if place.one_line else "round_end", words)
        if place.in_place:
            return Cure("in_place_line" if place.one_line else "in_place", words)
        if skipped := self._skipped(place):
            name = "syncwarp" if self.flow.ops[skipped] == "SYNCWARP" else "syncthreads"
            words |= {"barrier": f"cuda.{name}()", "skipped": self._line(skipped)}
            return Cure("skipped", words)
        return Cure("between", words)

    def _missing(self, place: "_Place") -> tuple[bool, bool]:
        """Whether a barrier is missing between the two, and at the end of their loop's round."""
        loop = self.flow.loop_around(place.early, place.late)
        if not loop:
            return True, False
        start, end = loop
        kinds = place.barriers
        between = self._always(place, place.early, place.late, kinds)
        around = self._always(place, place.late, end, kinds) or self._always(
            place, start, place.early, kinds
        )
        if between != around:
            return not between, between
        same = "same" in place.seen
        return same, "next" in place.seen or not same

    def _always(self, place: "_Place", start: int, end: int, kinds: set[str]) -> bool:
        """Whether a barrier stands there that no branch leaves out."""
        found = self.flow.within(start, end, kinds)
        return any(not self.flow.is_conditional(b, place.early, place.late) for b in found)

    def _skipped(self, place: "_Place") -> int | None:
        """A barrier between the two that is not passed in every round."""
        return next(iter(self.flow.within(place.early, place.late, place.barriers)), None)

    def _in_two_branches(self, place: "_Place") -> bool:
        """Whether they stand in the two sides of one `if`."""
        ops = self.flow.ops
        for start, end in self.flow.branches:
            if ops[start - 1] in ("ELSE", "JMP") and start <= place.late <= end:
                condition = [
                    at
                    for at in self.flow.within(0, start - 1, {"IF", "JZ"})
                    if self.flow.operand(at, "target") in (start - 1, start)
                ]
                if condition and condition[-1] < place.early < start - 1:
                    return True
        return False

    def _barrier(self, place: "_Place") -> dict[str, str]:
        """Which barrier, and who must pass it.

        One of the block cannot stand in a branch that its threads take differently, and is not
        needed by code that is written for single warps.
        """
        loop = self.flow.loop_around(place.early, place.late) or (place.early, place.late)
        around = loop if self._missing(place) == (False, True) else (place.early, place.late)
        apart = any(
            self.flow.ops[start - 1] in ("IF", "ELSE") and start <= around[0] and around[1] <= end
            for start, end in self.flow.branches
        )
        for_warps = self.flow.within(0, len(self.flow.ops) - 1, {"SYNCWARP"})
        if place.reach == "warp" and (apart or for_warps):
            return {"barrier": "cuda.syncwarp()", "all": "every lane of the warp"}
        barrier = "cuda.syncthreads()"
        if place.reach == "warp" and self.at.threads <= WARP:
            barrier += " (or cuda.syncwarp(), while a block is one warp)"
        return {"barrier": barrier, "all": "every thread of the block"}


class _Place:
    """Two racing accesses in the order of the program."""

    def __init__(
        self, cures: Cures, record: HazardRecord, here: list[int], there: list[int]
    ) -> None:
        flow = cures.flow
        self.early, self.late = sorted((min(here), min(there)))
        self.one_line = record.line == record.other_line
        self.loads = [at for at in here + there if flow.ops[at] in LOADS]
        self.stores = [at for at in here + there if flow.ops[at] in STORES]
        self.seen = cures.seen[_pair(record)]
        self.reach = reach_of(self.seen)
        in_a_loop = flow.loop_around(self.early, self.late)
        self.in_one_round = "same" in self.seen or not in_a_loop
        fed = [(a, b) for b in self.stores for a in self.loads if a in flow.stored_from(b)]
        self.in_place = bool(fed)
        if fed:
            self.early, self.late = min(fed, key=lambda pair: (pair[0] > pair[1], pair))
        self.barriers = BARRIERS | ({"SYNCWARP"} if self.reach == "warp" else set())


def reach_of(seen: set[str]) -> str:
    """How far apart the threads were at most: "grid", "block" or "warp"."""
    return next(name for name in ("grid", "block", "warp") if name in seen)


def _pair(record: HazardRecord) -> tuple[int, int, int]:
    low, high = sorted((record.line, record.other_line))
    return record.array, low, high
