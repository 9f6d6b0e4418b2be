"""What lies in each slot of the cache at one moment of a simulation.

    map_at(requests, rows=6, cache=Paged(blocks=24, size=8), step=30)

The simulation runs to that step as any other; nothing is placed by hand.
"""

from collections.abc import Sequence
from typing import NamedTuple

from labkit_lessons.distributed.serving.server.continuous import serve
from labkit_lessons.distributed.serving.server.requests import Request
from labkit_lessons.distributed.serving.server.state import Cache, Progress
from labkit_lessons.distributed.serving.server.step_times import Units


class Slot(NamedTuple):
    """One slot: the request that has reserved it, or None; and whether a token is in it."""

    owner: int | None
    holds: bool


def map_at(
    requests: Sequence[Request],
    rows: int,
    cache: Cache,
    step: int,
) -> list[Slot]:
    """All slots of the cache after this step, counted from 1, each step taking one unit of time.

    Raises ValueError where the simulation ends before it.
    """
    found: list[list[Slot]] = []

    def watch(running: Sequence[Progress]) -> None:
        full = set()
        for one in running:
            full |= {cache.place(one.name, token) for token in range(one.cached)}
        owners = cache.owners()
        found.append([Slot(owner, place in full) for place, owner in enumerate(owners)])

    serve(requests, Units(), rows, cache, watch)
    if not 1 <= step <= len(found):
        raise ValueError(f"map_at: there are steps 1 to {len(found)}, and no step {step}.")
    return found[step - 1]


def counts(slots: Sequence[Slot]) -> tuple[int, int, int]:
    """Slots that hold a token, that are reserved and empty, and that are free."""
    held = sum(slot.holds for slot in slots)
    taken = sum(slot.owner is not None for slot in slots)
    return held, taken - held, len(slots) - taken
