"""A replayed order: whose pull or push is next.

    turns = Turns([(0, "pull"), (1, "pull"), (1, "push"), (0, "push")])
    turns.is_next(0, "pull")        # True
    turns.take()

Free runs differ from each other, since the machine decides who comes first. A shard that admits
pulls and pushes in a fixed order gives the same weights each time, bit by bit, from real processes.
Lesson parameter_servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Event = tuple[int, str]  # a worker, and "pull" or "push"


class Turns:
    """The events in their order; raises ValueError for one that is no (worker, kind)."""

    def __init__(self, order: Sequence[Event], workers: int) -> None:
        for place, (worker, kind) in enumerate(order):
            if kind not in ("pull", "push") or worker not in range(workers):
                raise ValueError(
                    f"Event {place} of the order is a worker from 0 to {workers - 1} with pull or "
                    f"push, not {worker!r} with {kind!r}."
                )
        self.order = [(worker, kind) for worker, kind in order]
        self.go_to(0)

    def go_to(self, place: int) -> None:
        """Goes on after so many events, as a server does that comes back from a checkpoint."""
        self.place = place
        self._pulls = Counter(worker for worker, kind in self.order[place:] if kind == "pull")

    def has_pull(self, worker: int) -> bool:
        """Whether a step of this worker is still to begin."""
        return self._pulls[worker] > 0

    def is_next(self, worker: int, kind: str) -> bool:
        """Whether it is this event's turn."""
        return self.order[self.place : self.place + 1] == [(worker, kind)]

    def take(self) -> None:
        """The next event has been admitted."""
        worker, kind = self.order[self.place]
        self._pulls[worker] -= kind == "pull"
        self.place += 1

    def missing(self) -> str:
        """Which event all others wait for."""
        if self.place == len(self.order):
            return "all its events are over"
        worker, kind = self.order[self.place]
        return f"event {self.place} of {len(self.order)}, the {kind} of worker {worker}, is missing"
