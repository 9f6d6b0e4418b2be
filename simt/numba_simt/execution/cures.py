"""Which cure fits a race: by what the kernel does with the element, and where a barrier is missing.

Races come in pairs of accesses. What one pair shows is judged together with all others: whether
several threads update an element is told by its writes, where a barrier is missing by the rounds in
which the accesses were, and how far it must reach by the threads that were farthest apart.
"""

from collections.abc import Sequence
from typing import NamedTuple

from numba_simt.execution.flow import ATOMICS, BARRIERS, LOADS, STORES, Flow
from numba_simt.execution.handovers import lack_of, lock_around, waits_for
from numba_simt.execution.places import Places
from numba_simt.execution.racing_pair import RacingPair, reach_of
from numba_simt.execution.structs import (
    IN_BLOCK,
    IN_GRID,
    IN_WARP,
    OTHER_EARLIER,
    OTHER_LATER,
    SAME_ROUND,
    HazardRecord,
)
from numba_simt.execution.updates import Updates

_SEEN = {SAME_ROUND: "same", IN_WARP: "warp", IN_BLOCK: "block", IN_GRID: "grid"}
_GENERATOR = ("s0", "s1")  # the fields of a state of numba.cuda.random


class Cure(NamedTuple):
    """A cure of hazards.toml by its name, and the words for it."""

    name: str
    words: dict[str, str]


class Cures:
    """The cures of one launch's races; `records` are all of these, equal writes included."""

    def __init__(self, at: Places, records: Sequence[HazardRecord]) -> None:
        self.at = at
        self.flow = Flow(at.program)
        self.mixed = {record.array for record in records if _is_mixed(record)}
        self.updates = Updates(self.flow, records)
        self.seen: dict[tuple, set[str]] = {}  # what was seen of a pair of lines
        for record in records:
            seen = self.seen.setdefault(_lines(record), set())
            seen |= self._seen_in(record)

    def of(self, record: HazardRecord) -> Cure:
        """The cure of a race."""
        here, there = self._accesses(record)
        if not here or not there:
            reach = reach_of(self.seen[_lines(record)])
            return Cure("alias_grid" if reach == "grid" else "alias", {})
        if self._is_generator(record.array):
            return Cure("own_state", {})
        pair = RacingPair(self.flow, here, there, self.seen[_lines(record)])
        if _is_mixed(record):
            return self._beside_an_atomic(pair)
        if update := self.updates.of(record):
            lock = lock_around(pair)
            if lock is None:
                return Cure(update.cure, {"call": update.call})
            return Cure("lock", self._words(pair, taken=lock) | {"call": update.call})
        if not _reads(record) and pair.one_line and pair.in_one_round:
            return Cure("mixed_grid" if record.array in self.mixed else "contested", {})
        if waits_for(pair):
            return Cure("flag", {})
        if pair.reach == "grid":
            return self._between_blocks(pair)
        return self._within_a_block(pair)

    def _is_generator(self, array: int) -> bool:
        """Whether the array, or the one of which it is a part, holds states of random numbers."""
        spec = self.at.program.arrays[array]
        while spec.alias:
            spec = self.at.program.arrays[spec.alias.array]
        return spec.dtype.names == _GENERATOR

    def in_step_below_volta(self, record: HazardRecord) -> bool:
        """Whether the lanes of a warp, while they ran in lockstep, did this in a known order."""
        return _reads(record) and reach_of(self.seen[_lines(record)]) == "warp"

    def _accesses(self, record: HazardRecord) -> tuple[list[int], list[int]]:
        """The instructions of the two accesses; none where they are of two arrays."""
        here = _kinds(record.write, record.atomic)
        there = _kinds(record.other_write, record.other_atomic)
        return (
            self.flow.accesses(record.line, here, record.array),
            self.flow.accesses(record.other_line, there, record.array),
        )

    def _seen_in(self, record: HazardRecord) -> set[str]:
        """What RacingPair calls `seen`, of one record."""
        seen = {name for bit, name in _SEEN.items() if record.seen & bit}
        here, there = self._accesses(record)
        if not here or not there:
            return seen
        if min(here) == min(there):
            ahead = OTHER_EARLIER | OTHER_LATER
        else:
            ahead = OTHER_EARLIER if min(here) < min(there) else OTHER_LATER
        if record.seen & ahead:
            seen.add("next")
        return seen

    def _words(self, pair: RacingPair, **places: int) -> dict[str, str]:
        """The lines of both, in their order, and of other instructions."""
        places |= {"early": pair.early, "late": pair.late}
        return {
            name: f"line {self.at.line(self.flow.lines[place])}" for name, place in places.items()
        }

    def _beside_an_atomic(self, pair: RacingPair) -> Cure:
        """An atomic and a plain access."""
        if waits_for(pair):
            return Cure("flag", {})
        if pair.reach == "grid":
            return Cure("mixed_grid", {})
        return Cure("mixed", self._words(pair) | pair.barrier(self.at.threads))

    def _between_blocks(self, pair: RacingPair) -> Cure:
        """Threads of different blocks, which no barrier orders."""
        if lack := lack_of(pair):
            return Cure(lack.cure, self._words(pair, **lack.places))
        if pair.in_place:
            return Cure("in_place_grid", {})
        passed = self.flow.within(pair.early, pair.late, BARRIERS)
        return Cure("grid_barrier" if passed else "grid", {})

    def _within_a_block(self, pair: RacingPair) -> Cure:
        """Where a barrier is missing."""
        words = self._words(pair) | pair.barrier(self.at.threads)
        if pair.in_two_branches():
            return Cure("two_branches", words)
        between, at_the_end = pair.missing()
        if not between:
            return Cure("round_end_line" if pair.one_line else "round_end", words)
        words["again"] = ", and again at the end of the round" if at_the_end else ""
        if pair.in_place:
            return Cure("in_place_line" if pair.one_line else "in_place", words)
        skipped = pair.skipped_barrier()
        if skipped is None:
            return Cure("between", words)
        lanes = self.flow.ops[skipped] == "SYNCWARP"
        words["barrier"] = "cuda.syncwarp()" if lanes else "cuda.syncthreads()"
        return Cure("skipped", words | self._words(pair, skipped=skipped))


def _kinds(write: int, atomic: int) -> set[str]:
    if atomic:
        return ATOMICS
    return STORES if write else LOADS


def _is_mixed(record: HazardRecord) -> bool:
    return record.atomic != record.other_atomic


def _reads(record: HazardRecord) -> bool:
    """Whether one of the two only reads."""
    return not (record.write and record.other_write)


def _lines(record: HazardRecord) -> tuple[int, int, int]:
    """The pair of lines, whichever came first, and the array."""
    low, high = sorted((record.line, record.other_line))
    return record.array, low, high
