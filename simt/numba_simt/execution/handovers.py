"""What one thread tells another through memory: flags, locks and tickets, and what they lack."""

from typing import NamedTuple

from numba_simt.execution.flow import ATOMICS, BARRIERS, STORES, TESTS, Flow
from numba_simt.execution.racing_pair import RacingPair

_TAKES_A_LOCK = {"ATOMIC_CAS", "ATOMIC_EXCH"}


class Lack(NamedTuple):
    """A cure of hazards.toml, and the instructions whose lines it names."""

    cure: str
    places: dict[str, int]


def waits_for(pair: RacingPair) -> bool:
    """Whether one access is the plain look for which a loop waits."""
    flow = pair.flow
    for load in pair.loads:
        loop = flow.loop_around(load)
        if not loop or flow.within(*loop, STORES | BARRIERS):
            continue
        for test in flow.within(*loop, TESTS):
            if load in _decided_by(flow, test):
                return True
    return False


def lock_around(pair: RacingPair) -> int | None:
    """The atomic that takes a lock before both accesses, if one does that is given back behind."""
    flow = pair.flow
    behind = flow.within(pair.late, len(flow.ops) - 1, ATOMICS | STORES)
    changed = {flow.operand(at, "array") for at in behind}
    for start, end in flow.loops:
        if end > pair.early:
            continue
        for take in flow.within(start, end, _TAKES_A_LOCK):
            if flow.operand(take, "array") in changed:
                return take
    return None


def lack_of(pair: RacingPair) -> Lack | None:
    """What is missing where an atomic tells another block that something is written."""
    flow = pair.flow
    if not pair.loads or not pair.stores:
        return None
    store, load = min(pair.stores), max(pair.loads)
    tells = flow.within(store, len(flow.ops) - 1, ATOMICS)
    looks = _looks_before(flow, load)
    if not tells or not looks:
        return None
    places = {"store": store, "load": load, "tell": tells[0], "told": max(looks)}
    fences = flow.within(store, tells[0], {"FENCE"})
    if not fences:
        near = flow.within(store, tells[0], {"FENCE_BLOCK"})
        return Lack("fence_block" if near else "fence", places)
    if not flow.within(store, fences[0], BARRIERS):
        alone = _only_who_does(flow, store, tells[0])
        return Lack("wait" if alone else "tell_after_all", places | {"fence": fences[0]})
    alone = _only_who_does(flow, load, places["told"])
    return Lack("wait" if alone else "read_after_one", places)


def _only_who_does(flow: Flow, access: int, atomic: int) -> bool:
    """Whether the atomic is in a branch that lanes take differently, and the access within it.

    Then the same thread does both, and a barrier there would not be passed by all.
    """
    around = [(start, end) for start, end in flow.divergent_branches if start <= atomic <= end]
    return bool(around) and all(start <= access <= end for start, end in around)


def _looks_before(flow: Flow, load: int) -> set[int]:
    """The atomics on which a condition before the load depends."""
    found = set()
    for test in flow.within(0, load, TESTS):
        found |= {at for at in _known_by(flow, test) if flow.ops[at] in ATOMICS}
    return found


def _known_by(flow: Flow, test: int) -> set[int]:
    """What decides a condition, also where one thread has stored it for its block."""
    found = _decided_by(flow, test)
    arrays = {flow.operand(at, "array") for at in found if flow.ops[at] == "LD"}
    for store in flow.within(0, test, {"ST"}):
        if flow.operand(store, "array") in arrays:
            found |= flow.stored_from(store)
    return found


def _decided_by(flow: Flow, test: int) -> set[int]:
    return flow.computed_from(test, [flow.operand(test, "test")])
