"""Who may begin a step: the rules of a parameter server.

    Synchronous()       all together; the mean of a step's gradients is applied once
    Asynchronous()      everybody at any time; each gradient is applied when it comes
    Bounded(3)          a worker may be at most 3 steps ahead of the slowest one

`finished[w]` says how many steps worker w has finished. Nothing here knows of sockets, or of time.
Lesson parameter_servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from labkit.errors import whole


class Rule(Protocol):
    """What a server asks.

    together   whether it collects the gradients of a step from all workers, and applies their mean
    """

    together: bool

    def may_begin(self, worker: int, finished: Sequence[int]) -> bool:
        """Whether a worker may begin its next step, when all have finished so many."""

    def most_staleness(self, workers: int) -> int | None:
        """The most updates between a worker's pull and its push; None where nothing limits it."""


@dataclass(frozen=True)
class Synchronous:
    """All workers make a step with the same weights: n small batches are one big one."""

    together = True

    def may_begin(self, worker: int, finished: Sequence[int]) -> bool:
        """When nobody has finished fewer steps: the last step's update is applied then."""
        return finished[worker] <= min(finished)

    def most_staleness(self, workers: int) -> int:
        """0: nothing is applied while anybody computes."""
        return 0

    def __str__(self) -> str:
        return "sync"


@dataclass(frozen=True)
class Asynchronous:
    """Nobody waits for anybody."""

    together = False

    def may_begin(self, worker: int, finished: Sequence[int]) -> bool:
        """Always."""
        return True

    def most_staleness(self, workers: int) -> None:
        """No limit: the others may make any number of steps while one computes."""
        return

    def __str__(self) -> str:
        return "async"


@dataclass(frozen=True)
class Bounded:
    """Bounded staleness (stale synchronous parallel): nobody begins more than `bound` steps ahead.

    finished[worker] - min(finished) <= bound; with 0, nobody begins a step before all others have
    finished the last one. Raises ValueError for a bound that is no whole number from 0 on.
    """

    bound: int
    together = False

    def __post_init__(self) -> None:
        whole("Bounded: the bound", self.bound, 0)

    def may_begin(self, worker: int, finished: Sequence[int]) -> bool:
        """When it has finished at most `bound` steps more than the slowest."""
        return finished[worker] - min(finished) <= self.bound

    def most_staleness(self, workers: int) -> int:
        """(workers - 1) * (2 bound + 1).

        A worker that begins its step c may be `bound` ahead of another, which then catches up,
        and goes on until it has finished step c + bound: steps c - bound to c + bound.
        """
        return (workers - 1) * (2 * self.bound + 1)

    def __str__(self) -> str:
        return f"bounded:{self.bound}"


def rule_of(text: str) -> Rule:
    """ "sync", "async" or "bounded:3" as a rule; raises ValueError for anything else."""
    name, _, bound = text.partition(":")
    if name == "bounded" and bound.isdecimal():
        return Bounded(int(bound))
    found = {"sync": Synchronous, "async": Asynchronous}.get(text)
    if found is None:
        raise ValueError(f"A rule is sync, async or bounded:S with a whole number S, not {text!r}.")
    return found()
