"""How long a training goes: a server grants steps until its limit is reached.

    Limit(steps=400)        400 steps, whoever makes them
    Limit(seconds=5)        no step begins later than 5 s after the first one

A step that all make together is granted to all or to nobody: where one has begun it, the others may
begin it, too, though the limit is reached. So no gradient of the last step is left over.

A worker that comes back after its death repeats the step that it had begun: it was granted already.
Lesson parameter_servers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """Exactly one of the two; raises ValueError otherwise.

    steps     of all workers together
    seconds   from the first pull on
    """

    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.seconds is None):
            raise ValueError(
                "A training ends after so many steps of all workers together, or after so many "
                "seconds: give one of the two."
            )
        steps, seconds = self.steps, self.seconds
        if steps is not None and (
            isinstance(steps, bool) or not isinstance(steps, int) or steps < 1
        ):
            raise ValueError(f"A training's steps are a whole number from 1 on, not {steps!r}.")
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"A training's seconds are a number above 0, not {seconds!r}.")

    def grants(self, begun: Sequence[int], elapsed: float) -> bool:
        """Whether another step is granted.

        begun     how many steps each worker was granted so far
        elapsed   seconds since the first pull
        """
        if self.steps is not None:
            return sum(begun) < self.steps
        return elapsed < self.seconds
