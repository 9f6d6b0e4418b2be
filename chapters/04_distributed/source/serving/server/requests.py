"""Requests: when each arrives, how long its prompt is, and how many tokens it will get.

    poisson(400, rate=4.0, lengths=Lengths(200, 200, limit=2048), seed=0)
    bursts(40, size=8, gap=2.0, lengths=Lengths(20, 50, limit=400), seed=0)
    trace([(0.0, 12, 5), (0.5, 3, 40)])

The server learns `output` only when the last token is there. Arrivals of `poisson` have gaps that
are exponential with mean 1 / rate: each moment is as likely as any other, whatever came before.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Request:
    """One question to the service; ValueError, a sentence, for nonsense.

    arrival   s, from the start of the simulation
    prompt    tokens that are given
    output    tokens that are asked for, one in each step
    """

    arrival: float
    prompt: int
    output: int

    def __post_init__(self) -> None:
        if not is_number(self.arrival) or not 0 <= self.arrival < math.inf:
            raise ValueError(f"Request: arrival is a time from 0 s on, not {self.arrival!r}.")
        for name in ("prompt", "output"):
            demand_count(f"Request: {name}", getattr(self, name), "tokens")

    @property
    def cached(self) -> int:
        """Tokens whose keys and values are kept at the end: the last output is never read."""
        return self.prompt + self.output - 1


@dataclass(frozen=True)
class Lengths:
    """How long prompts and outputs are: geometric, so each token is the last with the same chance.

    prompt, output   means, in tokens, before the limit
    limit            the longest of either: what would be longer is cut to it
    """

    prompt: float
    output: float
    limit: int

    def __post_init__(self) -> None:
        demand_count("Lengths: limit", self.limit, "tokens")
        for name in ("prompt", "output"):
            mean = getattr(self, name)
            if not is_number(mean) or not 1 <= mean < math.inf:
                raise ValueError(f"Lengths: the mean {name} is from 1 token on, not {mean!r}.")

    def draw(self, random: np.random.Generator, count: int) -> list[tuple[int, int]]:
        """(prompt, output) of so many requests."""
        prompts = np.minimum(random.geometric(1 / self.prompt, count), self.limit)
        outputs = np.minimum(random.geometric(1 / self.output, count), self.limit)
        return list(zip(prompts.tolist(), outputs.tolist(), strict=True))


def poisson(count: int, rate: float, lengths: Lengths, seed: int) -> list[Request]:
    """So many requests that arrive at `rate` per second on average, independent of each other.

    Equal seeds give equal lengths at all rates, and arrivals that differ only by the scale of time:
    so two loads differ in nothing but the load. ValueError for a rate that is not above 0.
    """
    if not is_number(rate) or not 0 < rate < math.inf:
        raise ValueError(
            f"poisson: the rate is a number of requests per second above 0, not {rate!r}."
        )
    demand_count("poisson: count", count, "requests")
    random = np.random.default_rng(seed)
    gaps = random.exponential(1.0, count)
    arrivals = np.cumsum(gaps) / rate
    return _joined(arrivals.tolist(), lengths.draw(random, count))


def bursts(count: int, size: int, gap: float, lengths: Lengths, seed: int) -> list[Request]:
    """So many requests, of which `size` arrive at once, and the next ones `gap` seconds later."""
    demand_count("bursts: count", count, "requests")
    demand_count("bursts: size", size, "requests")
    if not is_number(gap) or not 0 <= gap < math.inf:
        raise ValueError(f"bursts: the gap is 0 s or more, not {gap!r}.")
    random = np.random.default_rng(seed)
    arrivals = [gap * (place // size) for place in range(count)]
    return _joined(arrivals, lengths.draw(random, count))


def trace(rows: Iterable[tuple[float, int, int]]) -> list[Request]:
    """Requests as they are given: (arrival, prompt, output), in order of arrival."""
    requests = [Request(*row) for row in rows]
    refuse_disorder(requests)
    return requests


def refuse_disorder(requests: Sequence[Request]) -> None:
    """ValueError where there is no `Request`, or one arrives before the one that it follows."""
    if not requests:
        raise ValueError("Serving: there is no request; give at least one.")
    for one in requests:
        if not isinstance(one, Request):
            raise ValueError(f"Serving: {one!r} is no Request; `trace` makes some of numbers.")
    for place in range(1, len(requests)):
        if requests[place].arrival < requests[place - 1].arrival:
            raise ValueError(
                f"Serving: request {place} arrives before request {place - 1}; sort them by "
                "arrival."
            )


def demand_count(what: str, number: object, of: str) -> None:
    """ValueError for what is no whole number from 1 on."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"{what} is a whole number of {of} from 1 on, not {number!r}.")


def is_number(value: object) -> bool:
    """Whether it is an int or a float; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _joined(arrivals: list[float], sizes: list[tuple[int, int]]) -> list[Request]:
    requests = []
    for arrival, (prompt, output) in zip(arrivals, sizes, strict=True):
        requests.append(Request(arrival, prompt, output))
    return requests
