"""Functions on ranks beside each other: what they send, and how long they take.

    run = counted_run(ring_all_reduce, inputs)       # a function (rank, ranks, x)
    run.results, run.sent                            # of each rank

    runs = measure_ways({"ring": ring_all_reduce, "tree": ...}, ranks=4, bytes=16 << 20)
    runs["ring"].seconds

All of it on real processes, over the machine's loopback or an emulated link. The ways take turns,
so that what else the machine does meets all of them. Lesson the_ring.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.distributed.launch import launch
from labkit.distributed.messages import Message, recorded

if TYPE_CHECKING:
    import torch

    from labkit.distributed.costs.cost_model import CostModel

LIMIT = 600.0  # seconds: ends a hang, nothing else


@dataclass(frozen=True)
class Run:
    """A function's run on all ranks.

    seconds   from the moment at which the first rank begins to that at which the last one ends
    results   what it returned, in the ranks' order
    records   for each rank the messages that it sent and received
    """

    seconds: float
    results: list[Any]
    records: list[list[Message]]

    @property
    def messages(self) -> list[Message]:
        """Those of all ranks, so that each message is there as sent and as received."""
        return [message for record in self.records for message in record]

    @property
    def sent(self) -> list[int]:
        """Bytes that each rank sent."""
        return [sum(m.bytes for m in record if m.sent) for record in self.records]

    @property
    def carried(self) -> list[int]:
        """Bytes that each rank sent or received."""
        return [sum(m.bytes for m in record) for record in self.records]


def counted_run(function: Callable, inputs: Sequence[torch.Tensor]) -> Run:
    """One run of `function(rank, ranks, x)`, with as many ranks as there are inputs.

    Raises LaunchError as `launch` does, also where the function raises in a rank.
    """
    ranks = len(inputs)
    return _joined(launch(_counted, ranks, function, list(inputs), backend="gloo", timeout=LIMIT))


def measure_ways(
    ways: Mapping[str, Callable],
    ranks: int,
    bytes: int,
    repeats: int = 5,
    link: CostModel | None = None,
) -> dict[str, Run]:
    """The fastest of `repeats` runs of each way, on float32 tensors of so many bytes in each rank.

    link   the latency and bandwidth of an emulated link; None for the machine's own loopback

    The runs have no results. Raises LaunchError as `launch` does.
    """
    turns = launch(
        _take_turns, ranks, dict(ways), bytes, repeats, link, backend="gloo", timeout=LIMIT
    )
    found = {}
    for name in ways:
        runs = [_joined(run) for run in zip(*(rank[name] for rank in turns), strict=True)]
        found[name] = min(runs, key=lambda run: run.seconds)
    return found


@dataclass(frozen=True)
class _Turn:
    """One run as one rank saw it, in seconds of the clock that all processes share."""

    begin: float
    end: float
    result: Any
    record: list[Message]


def _counted(rank: int, ranks: int, function: Callable, inputs: list) -> _Turn:
    return _turn(function, rank, ranks, inputs[rank])


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
                turn = _turn(function, rank, ranks, x)
                turns[name].append(_Turn(turn.begin, turn.end, None, turn.record))
    return turns


def _turn(function: Callable, rank: int, ranks: int, x: torch.Tensor) -> _Turn:
    import torch.distributed as dist

    dist.barrier()
    with recorded() as record:
        begin = time.monotonic()
        result = function(rank, ranks, x)
        end = time.monotonic()
    return _Turn(begin, end, result, record)


def _joined(turns: Sequence[_Turn]) -> Run:
    """One run, from what all ranks saw of it."""
    begin = min(turn.begin for turn in turns)
    end = max(turn.end for turn in turns)
    return Run(end - begin, [turn.result for turn in turns], [turn.record for turn in turns])
