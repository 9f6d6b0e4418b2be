"""How long a training goes: a server grants steps until its limit is reached.

    Limit(steps=100)        each worker makes 100 steps
    Limit(total=400)        400 steps, whoever makes them
    Limit(seconds=5)        no step begins later than 5 s after the first one

A worker that comes back after its death repeats the step that it had begun: it was granted already.
Lesson parameter_servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """Exactly one of the three; raises ValueError otherwise."""

    steps: int | None = None
    total: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.steps, self.total, self.seconds) if value is not None]
        if len(given) != 1:
            raise ValueError(
                "A training is limited by one of steps (of each worker), total (steps of all "
                f"together) and seconds; {len(given)} of them are given."
            )
        whole = self.seconds is not None or isinstance(given[0], int)
        if isinstance(given[0], bool) or not isinstance(given[0], int | float) or not whole:
            raise ValueError(f"The limit of a training is a number, not {given[0]!r}.")
        if not 0 < given[0] < float("inf"):
            raise ValueError(f"The limit of a training is above 0, not {given[0]!r}.")

    def grants(self, worker: int, begun: Sequence[int], elapsed: float) -> bool:
        """Whether a worker gets another step.

        begun     how many steps each worker was granted
        elapsed   seconds since the first of them
        """
        if self.steps is not None:
            return begun[worker] < self.steps
        if self.total is not None:
            return sum(begun) < self.total
        return elapsed < self.seconds
