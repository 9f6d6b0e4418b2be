"""What happened in a simulation, token by token, and the figures that a service is judged by.

    run = serve(...)
    percentile(run.latencies, 99)          # s: 99 of 100 requests were done within it
    run.steps[0].rows                      # who was in the first step

Everything here is counted from the steps and from the times of the tokens; nothing is computed from
the requests alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labkit_lessons.distributed.serving.server.requests import Request


class Row(NamedTuple):
    """One request in one step.

    request  its number
    place    its row of the batch, from 0
    new      tokens that go through the network: the prompt, or one
    past     tokens whose keys and values were in the cache before
    useful   whether the token that comes out is one that was asked for
    """

    request: int
    place: int
    new: int
    past: int
    useful: bool


@dataclass(frozen=True)
class Step:
    """One pass through the network, from `begin` to `end` in virtual seconds.

    held      slots of the cache that hold a token of its useful rows, before anybody leaves
    reserved  slots that are taken for those in it
    waiting   requests that have arrived at its begin and are not in it
    """

    begin: float
    end: float
    rows: tuple[Row, ...]
    held: int
    reserved: int
    waiting: int


@dataclass(frozen=True)
class Served:
    """A request and the time of each of its tokens, and how often it was preempted."""

    request: Request
    tokens: tuple[float, ...]
    preemptions: int

    @property
    def finish(self) -> float:
        """When its last token was there."""
        return self.tokens[-1]

    @property
    def latency(self) -> float:
        """Seconds from its arrival to its last token."""
        return self.finish - self.request.arrival

    @property
    def to_first_token(self) -> float:
        """Seconds from its arrival to its first token (TTFT)."""
        return self.tokens[0] - self.request.arrival

    @property
    def per_token(self) -> float | None:
        """Mean seconds from one token to the next (TPOT); None for a single token."""
        gaps = len(self.tokens) - 1
        return (self.tokens[-1] - self.tokens[0]) / gaps if gaps else None


@dataclass(frozen=True)
class Run:
    """A whole simulation. rows: the most requests in a step; cache_slots: None without a cache."""

    rows: int
    cache_slots: int | None
    steps: tuple[Step, ...]
    served: tuple[Served, ...]

    @property
    def arrivals(self) -> np.ndarray:
        """[n] of each request, s."""
        return np.array([one.request.arrival for one in self.served])

    @property
    def finishes(self) -> np.ndarray:
        """[n] when each had its last token, s."""
        return np.array([one.finish for one in self.served])

    @property
    def latencies(self) -> list[float]:
        """Of each request, in order of arrival, s."""
        return [one.latency for one in self.served]

    @property
    def to_first_token(self) -> list[float]:
        """Of each request, s."""
        return [one.to_first_token for one in self.served]

    @property
    def median_to_first_token(self) -> float:
        """Half of the requests have their first token within so many seconds."""
        return percentile(self.to_first_token, 50)

    @property
    def per_token(self) -> list[float]:
        """Of each request with two tokens or more, s."""
        return [one.per_token for one in self.served if one.per_token is not None]

    @property
    def median_per_token(self) -> float:
        """Half of the requests with two tokens or more need at most so many seconds for each."""
        return percentile(self.per_token, 50)

    @property
    def seconds(self) -> float:
        """From the first arrival to the last token."""
        return self.steps[-1].end - self.served[0].request.arrival

    @property
    def output_tokens(self) -> int:
        """Tokens that were asked for and came."""
        return sum(len(one.tokens) for one in self.served)

    @property
    def requests_per_second(self) -> float:
        """How many are done in a second, in the middle of the run.

        Where all were there at the beginning, this is what the service can do at most: without the
        start, when prefills come all at once, and without the end, when rows stay empty.
        """
        begin, end = self._middle()
        return 3 * (len(self.served) // 5) / (end - begin)

    @property
    def middle_steps(self) -> list[Step]:
        """The steps of the middle, in order."""
        begin, end = self._middle()
        return [step for step in self.steps if begin <= step.begin and step.end <= end]

    @property
    def mean_requests(self) -> float:
        """Unfinished requests in a step, on average over the steps of the middle."""
        return float(np.mean([sum(row.useful for row in step.rows) for step in self.middle_steps]))

    @property
    def mean_step(self) -> float:
        """Seconds that a step takes, on average over the steps of the middle."""
        return float(np.mean([step.end - step.begin for step in self.middle_steps]))

    @property
    def tokens_per_second(self) -> float:
        """Output tokens over the whole time."""
        return self.output_tokens / self.seconds

    @property
    def computed(self) -> int:
        """Tokens that came out of the network, one for each row of each step."""
        return sum(len(step.rows) for step in self.steps)

    @property
    def wasted(self) -> int:
        """Those of them that nobody asked for."""
        return sum(not row.useful for step in self.steps for row in step.rows)

    @property
    def preemptions(self) -> int:
        """How often a request was thrown out of the cache."""
        return sum(one.preemptions for one in self.served)

    @property
    def prefilled_tokens(self) -> int:
        """Tokens of all prefills, those that were computed again included."""
        return sum(row.new for step in self.steps for row in step.rows if row.past == 0)

    @property
    def held_share(self) -> float | None:
        """Of the slots that are reserved, the share that hold a token, over time; or None."""
        if self.cache_slots is None:
            return None
        held = sum((step.end - step.begin) * step.held for step in self.steps)
        reserved = sum((step.end - step.begin) * step.reserved for step in self.steps)
        return held / reserved

    def _middle(self) -> tuple[float, float]:
        """From when a fifth of the requests is done until four fifths are, s.

        ValueError with fewer than 10 requests: there is no middle then.
        """
        finishes = sorted(one.finish for one in self.served)
        fifth = len(finishes) // 5
        if fifth < 2:
            raise ValueError("Run: give at least 10 requests, to have a middle.")
        return finishes[fifth - 1], finishes[4 * fifth - 1]


def percentile(values: Sequence[float], percent: int) -> float:
    """The nearest rank: the smallest value that at least `percent` % of all values do not exceed.

    It is number ceil(percent / 100 x n) of the n values in order, counted from 1: one that really
    occurred. ValueError without values, and for a percent that is no whole number from 1 to 100.
    """
    if len(values) == 0:
        raise ValueError("percentile: there are no values.")
    if isinstance(percent, bool) or not isinstance(percent, int) or not 1 <= percent <= 100:
        raise ValueError(f"percentile: percent is a whole number from 1 to 100, not {percent!r}.")
    rank = (percent * len(values) + 99) // 100
    return sorted(values)[rank - 1]
