"""How long collectives take beside each other, on real processes: loopback, or an emulated link.

    ways = {"ring": ring_all_reduce, "tree": ...}      # functions (rank, ranks, x)
    runs = measure_ways(ways, ranks=4, bytes=16 << 20)
    runs["ring"].seconds, runs["ring"].messages

The ways take turns, so that what else the machine does meets all of them. Lesson the_ring.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from labkit.distributed.launch import launch
from labkit.distributed.messages import Message, recorded

if TYPE_CHECKING:
    from labkit.distributed.cost_model import CostModel

LIMIT = 300.0  # seconds: ends a hang, nothing else


@dataclass(frozen=True)
class Run:
    """The fastest run of one way.

    seconds   from the moment at which the first rank begins to that at which the last one ends
    messages  what the ranks have sent, with times from the run's begin
    """

    seconds: float
    messages: list[Message]


class _Turn(NamedTuple):
    """One run as one rank saw it, in seconds of the clock that all processes share."""

    begin: float
    end: float
    messages: list[Message]


def measure_ways(
    ways: Mapping[str, Callable],
    ranks: int,
    bytes: int,
    repeats: int = 5,
    link: CostModel | None = None,
) -> dict[str, Run]:
    """The fastest of `repeats` runs of each way, on float32 tensors of so many bytes in each rank.

    link   the latency and bandwidth of an emulated link; None for the machine's own loopback

    Raises LaunchError as `launch` does, also where a way raises in a rank.
    """
    turns = launch(
        _take_turns, ranks, dict(ways), bytes, repeats, link, backend="gloo", timeout=LIMIT
    )
    found = {}
    for name in ways:
        runs = [_joined(run) for run in zip(*(rank[name] for rank in turns), strict=True)]
        found[name] = min(runs, key=lambda run: run.seconds)
    return found


def _take_turns(
    rank: int, ranks: int, ways: dict, bytes: int, repeats: int, link: CostModel | None
) -> dict[str, list[_Turn]]:
    import torch

    from labkit.distributed.network import emulated_link

    x = torch.ones(bytes // 4)
    turns: dict[str, list[_Turn]] = {name: [] for name in ways}
    with emulated_link(link.latency, link.bandwidth) if link else nullcontext():
        for function in ways.values():
            function(rank, ranks, x[: 4 * ranks])  # the first messages set up connections
        for _ in range(repeats):
            for name, function in ways.items():
                turns[name].append(_turn(function, rank, ranks, x))
    return turns


def _turn(function: Callable, rank: int, ranks: int, x: object) -> _Turn:
    import torch.distributed as dist

    dist.barrier()
    with recorded() as messages:
        begin = time.monotonic()
        function(rank, ranks, x)
        end = time.monotonic()
    return _Turn(begin, end, [message for message in messages if message.sent])


def _joined(turns: tuple[_Turn, ...]) -> Run:
    """One run, from what all ranks saw of it."""
    begin = min(turn.begin for turn in turns)
    end = max(turn.end for turn in turns)
    messages = [
        replace(message, begin=message.begin - begin, end=message.end - begin)
        for turn in turns
        for message in turn.messages
    ]
    return Run(end - begin, sorted(messages, key=lambda message: message.begin))
