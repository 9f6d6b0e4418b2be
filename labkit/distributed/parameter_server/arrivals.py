"""In which order workers of unlike speed pull and push: a simulation in virtual time.

    order = arrival_order([0.01, 0.01, 0.04], steps=300, rule=Bounded(2), seed=0)
    order.events[0]                 # Event(moment=0.0, worker=2, kind="pull")
    order.requests                  # [(2, "pull"), (0, "pull"), ...]: what servers can replay
    order.pushed(by=1.0)            # gradients that arrived within the first second

No process runs and no time passes. A worker pulls as soon as the rule lets it, computes for its
seconds, and pushes; messages take no time. Equal arguments give equal orders on every machine, so
a training that replays one has the same staleness everywhere. Lesson parameter_servers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Literal, Protocol

from labkit.errors import whole

if TYPE_CHECKING:
    import numpy as np

JITTER = 0.02  # a step takes up to this share more or less than its worker's seconds
DIGITS = 9  # moments are whole nanoseconds, so that 4 x 10 ms meet 1 x 40 ms

Kind = Literal["pull", "push"]


class Rule(Protocol):
    """Who may begin a step; `rules.py` has three."""

    def may_begin(self, worker: int, finished: Sequence[int]) -> bool:
        """Whether the worker may, after so many finished steps of each worker."""
        ...


@dataclass(frozen=True)
class Event:
    """A request that reaches the servers.

    moment   virtual seconds since the training began
    kind     "pull" where a step begins, "push" where it ends
    """

    moment: float
    worker: int
    kind: Kind


@dataclass(frozen=True)
class Arrivals:
    """The events of a training, in their order: every pull has its push."""

    events: tuple[Event, ...]

    @property
    def requests(self) -> list[tuple[int, Kind]]:
        """Worker and kind of each event, which fix the order of a replay."""
        return [(event.worker, event.kind) for event in self.events]

    @property
    def pushes(self) -> list[Event]:
        """The events at which a gradient arrives."""
        return [event for event in self.events if event.kind == "push"]

    def moments(self) -> "tuple[np.ndarray, np.ndarray]":
        """When each step was pulled and pushed, in virtual seconds: two [N], in order of pushes."""
        import numpy as np

        begun: dict[int, float] = {}
        pulled = []
        for event in self.events:
            if event.kind == "pull":
                begun[event.worker] = event.moment
            else:
                pulled.append(begun[event.worker])
        return np.array(pulled), np.array([event.moment for event in self.pushes])

    def pushed(self, by: float) -> int:
        """How many gradients have arrived by then, in virtual seconds."""
        return sum(event.moment <= by for event in self.pushes)


def arrival_order(
    seconds: Sequence[float], steps: int, rule: Rule, seed: int = 0, jitter: float = JITTER
) -> Arrivals:
    """The requests of workers that need `seconds` for a step, until so many steps are done.

    seconds   of each worker
    steps     of all workers together: no further one begins once so many have begun
    rule      asked before each step; a worker that may not begin waits for the next push
    seed      decides who comes first at equal moments, and how much each step's time varies
    jitter    by how much it varies: a share of the worker's seconds, drawn evenly up to +- this

    Raises ValueError for no worker, for seconds, steps or jitter that are none, and for a rule that
    lets nobody begin.
    """
    _refuse_wrong(seconds, steps, jitter)
    random = Random(seed)
    finished = [0] * len(seconds)
    waiting = list(range(len(seconds)))
    computing: list[tuple[float, float, int]] = []  # end, draw that breaks ties, worker
    events: list[Event] = []
    moment = 0.0
    begun = 0
    while len(events) < 2 * steps:
        random.shuffle(waiting)
        for worker in list(waiting):
            if begun < steps and rule.may_begin(worker, finished):
                waiting.remove(worker)
                begun += 1
                events.append(Event(moment, worker, "pull"))
                took = seconds[worker] * random.uniform(1 - jitter, 1 + jitter)
                heappush(computing, (round(moment + took, DIGITS), random.random(), worker))
        if not computing:
            raise ValueError(f"arrival_order: {rule} lets nobody begin after {finished} steps.")
        moment, _, worker = heappop(computing)
        events.append(Event(moment, worker, "push"))
        finished[worker] += 1
        waiting.append(worker)
    return Arrivals(tuple(events))


def _refuse_wrong(seconds: Sequence[float], steps: int, jitter: float) -> None:
    if not seconds or not all(0 < one < math.inf for one in seconds):
        raise ValueError(
            f"arrival_order: seconds has a number above 0 for each worker, not {list(seconds)}."
        )
    whole("arrival_order: steps", steps)
    if not 0 <= jitter < 1:
        raise ValueError(f"arrival_order: jitter is a share from 0 to below 1, not {jitter!r}.")
