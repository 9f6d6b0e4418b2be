"""Two racing accesses in the order of the program, and where a barrier is missing between them."""

from collections.abc import Iterable

from numba_simt.execution.flow import BARRIERS, LOADS, STORES, Flow
from numba_simt.execution.structs import WARP

BLOCK = "cuda.syncthreads()"
LANES = "cuda.syncwarp()"
_OR_LANES = f"{BLOCK} (or {LANES}, while a block is one warp)"


class RacingPair:
    """`here` and `there`: the instructions of the two accesses; `seen`: what races showed of them.

    `seen` has "warp", "block" and "grid" for how far apart the threads were; "same" for accesses
    in one round of their loops; and "next" where what stands first in the program was in a later
    round.
    """

    def __init__(self, flow: Flow, here: list[int], there: list[int], seen: set[str]) -> None:
        self.flow = flow
        self.seen = seen
        both = here + there
        self.loads = [at for at in both if flow.ops[at] in LOADS]
        self.stores = [at for at in both if flow.ops[at] in STORES]
        self.early, self.late = sorted((min(here), min(there)))
        self.in_place = False  # whether what is stored was computed from what is loaded
        if fed := list(self._fed()):
            self.in_place = True
            self.early, self.late = min(fed, key=_in_order)
        self.one_line = flow.lines[self.early] == flow.lines[self.late]
        self.reach = reach_of(seen)
        self.loop = flow.loop_around(self.early, self.late)
        self.in_one_round = "same" in seen or not self.loop
        self.barriers = set(BARRIERS)
        if self.reach == "warp":
            self.barriers.add("SYNCWARP")

    def _fed(self) -> Iterable[tuple[int, int]]:
        """Loads and the stores whose values are computed from them."""
        for store in self.stores:
            sources = self.flow.stored_from(store)
            for load in self.loads:
                if load in sources:
                    yield load, store

    def missing(self) -> tuple[bool, bool]:
        """Whether a barrier is missing between the two, and at the end of their loop's round."""
        if not self.loop:
            return True, False
        start, end = self.loop
        between = self._passes_a_barrier(self.early, self.late)
        around = self._passes_a_barrier(self.late, end)
        around = around or self._passes_a_barrier(start, self.early)
        if between != around:
            return not between, between
        same = "same" in self.seen
        return same, "next" in self.seen or not same

    def _passes_a_barrier(self, start: int, end: int) -> bool:
        """Whether a barrier stands there that no branch leaves out."""
        for barrier in self.flow.within(start, end, self.barriers):
            if not self.flow.is_conditional(barrier, self.early, self.late):
                return True
        return False

    def skipped_barrier(self) -> int | None:
        """A barrier between the two; where they race in one round, a branch leaves it out."""
        found = self.flow.within(self.early, self.late, self.barriers)
        return found[0] if found else None

    def in_two_branches(self) -> bool:
        """Whether they stand in the two sides of one `if`."""
        for start, end in self.flow.branches:
            turn = start - 1
            if self.flow.ops[turn] not in ("ELSE", "JMP") or not start <= self.late <= end:
                continue
            for condition in self.flow.within(0, turn, ("IF", "JZ")):
                other_side = self.flow.operand(condition, "target")
                if other_side in (turn, start) and condition < self.early < turn:
                    return True
        return False

    def barrier(self, threads: int) -> dict[str, str]:
        """Which barrier, and who must pass it; `threads` of a block.

        One of the block cannot stand in a branch that its threads take differently, and is not
        needed by code that is written for single warps.
        """
        last = len(self.flow.ops) - 1
        for_warps = self.flow.within(0, last, {"SYNCWARP"})
        if self.reach == "warp" and (for_warps or self._in_a_branch()):
            return {"barrier": LANES, "all": "every lane of the warp"}
        either = self.reach == "warp" and threads <= WARP
        return {"barrier": _OR_LANES if either else BLOCK, "all": "every thread of the block"}

    def _in_a_branch(self) -> bool:
        """Whether the place of the missing barrier is in a branch that lanes take differently."""
        first, last = self.early, self.late
        if self.loop and self.missing() == (False, True):
            first, last = self.loop
        around = self.flow.divergent_branches
        return any(start <= first and last <= end for start, end in around)


def reach_of(seen: set[str]) -> str:
    """How far apart the threads were at most: "grid", "block" or "warp"."""
    return next(name for name in ("grid", "block", "warp") if name in seen)


def _in_order(pair: tuple[int, int]) -> tuple[bool, int, int]:
    """First what the program reads before it writes."""
    load, store = pair
    return load > store, load, store
