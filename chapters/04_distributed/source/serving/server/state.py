"""What the server knows of a request while it serves it, and how a step changes that."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from labkit_lessons.distributed.serving.caches import Contiguous, Paged, Waiting
from labkit_lessons.distributed.serving.server.requests import (
    Request,
    demand_count,
    refuse_disorder,
)
from labkit_lessons.distributed.serving.server.runs import Row, Run, Served, Step
from labkit_lessons.distributed.serving.server.step_times import StepTime

Cache = Paged | Contiguous


@dataclass
class Progress:
    """A request on its way.

    cached   tokens whose keys and values are in the cache
    tokens   the time of each token so far
    place    its row of the batch, from its first step on
    """

    name: int
    request: Request
    cached: int = 0
    place: int = -1
    preemptions: int = 0
    tokens: list[float] = field(default_factory=list)

    @property
    def new(self) -> int:
        """Tokens of its next step: one; without a cache, all that there are so far."""
        if self.cached:
            return 1
        return self.request.prompt + len(self.tokens)

    @property
    def is_done(self) -> bool:
        """Whether its last token is there."""
        return len(self.tokens) == self.request.output

    def waiting(self) -> Waiting:
        """As the cache sees it."""
        return Waiting(self.name, self.request, self.cached + self.new)

    def served(self) -> Served:
        """The outcome."""
        return Served(self.request, tuple(self.tokens), self.preemptions)


class Service:
    """The requests of a simulation, its virtual time, and the steps so far."""

    def __init__(
        self, requests: Sequence[Request], time: StepTime, rows: int, cache: Cache | None
    ) -> None:
        demand_count("Serving: rows", rows, "requests in a step")
        refuse_disorder(requests)
        for name, request in enumerate(requests):
            if cache is not None:
                cache.refuse_too_long(name, request)
        self.all = [Progress(name, request) for name, request in enumerate(requests)]
        self.time = time
        self.rows = rows
        self.cache = cache
        self.now = 0.0
        self.arrived = 0
        self.waiting: list[Progress] = []  # in order of arrival
        self.steps: list[Step] = []

    def let_arrive(self) -> None:
        """Who has arrived by now waits."""
        while self.arrived < len(self.all):
            one = self.all[self.arrived]
            if one.request.arrival > self.now:
                break
            self.waiting.append(one)
            self.arrived += 1

    def sleep(self) -> None:
        """Nobody is here: on to the next arrival."""
        self.now = max(self.now, self.all[self.arrived].request.arrival)

    def refuse_standstill(self, running: Sequence[Progress]) -> None:
        """ValueError where some wait and none may ever join: the simulation would not end."""
        if not running:
            raise ValueError(
                f"Serving: {len(self.waiting)} wait, no request runs, and none may join. Give an "
                "empty cache, and a rule that lets the first one in."
            )

    def step(self, running: Sequence[Progress]) -> None:
        """One step for these; who has its last token already computes one that nobody reads."""
        rows = []
        for one in running:
            rows.append(Row(one.name, one.place, one.new, one.cached, not one.is_done))
        begin = self.now
        self.now += self.time.seconds(rows)
        held = 0
        for one in running:
            if not one.is_done:
                one.cached += one.new
                one.tokens.append(self.now)
                held += one.cached
        reserved = held if self.cache is None else self.cache.reserved
        self.steps.append(Step(begin, self.now, tuple(rows), held, reserved, len(self.waiting)))

    def run(self) -> Run:
        """All that happened."""
        cache_slots = None if self.cache is None else self.cache.slots
        served = tuple(one.served() for one in self.all)
        return Run(self.rows, cache_slots, tuple(self.steps), served)


def give_places(joining: Sequence[Progress], running: Sequence[Progress], rows: int) -> None:
    """Each that joins gets the lowest row of the batch that is free."""
    taken = {one.place for one in running}
    free = [place for place in range(rows) if place not in taken]
    for one, place in zip(joining, free, strict=False):
        one.place = place
