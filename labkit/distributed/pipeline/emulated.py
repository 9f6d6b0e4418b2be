"""Stages that only sleep, for as long as you say: emulated compute for pipelines.

    ways = {"GPipe": Emulated(gpipe(4, 8), forward=0.01, backward=0.02)}
    measure_ways(ways, ranks=4)["GPipe"]         # the spans of each stage, in its fastest step
    predict(*ways["GPipe"])                 # what they would be, if messages took no time

Four busy ranks on two cores would wait for each other's arithmetic. These sleep, and leave the
cores to the messages, which are real.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import nn

from labkit.distributed.launch import launch
from labkit.distributed.pipeline.predictions import (
    Span,
    Spans,
    refuse_times,
    seconds_of,
    step_seconds,
)
from labkit.distributed.pipeline.runner import run
from labkit.distributed.pipeline.schedules import Schedule

WIDTH = 16  # of what travels
LIMIT = 600.0  # seconds: ends a hang, nothing else


class Emulated(NamedTuple):
    """A step to emulate: its schedule, and t_F and t_B of every stage, in seconds."""

    schedule: Schedule
    forward: float
    backward: float = 0.0

    def by_formula(self) -> float:
        """(m + p - 1) (t_F + t_B): what the step takes, if messages take no time."""
        stages = self.schedule.stages
        return step_seconds(stages, self.schedule.micro_batches, self.forward, self.backward)


class EmulatedStage(nn.Module):
    """y = x + w, with so many seconds of forward and of backward; a place in a pipeline."""

    def __init__(self, stage: int, stages: int, forward: float, backward: float) -> None:
        super().__init__()
        self.stage = stage
        self.stages = stages
        self.width = WIDTH
        self.seconds = (forward, backward)
        self.weight = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[n,T] in the first stage, else [n,T,D] -> [n,T,D]."""
        if self.stage == 0:
            x = torch.zeros(*x.shape, self.width)
        return _Sleep.apply(x + self.weight, *self.seconds)


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.seconds = backward
        time.sleep(forward)
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        time.sleep(ctx.seconds)
        return dy, None, None


def measure_ways(ways: Mapping[str, Emulated], ranks: int, repeats: int = 2) -> dict[str, Spans]:
    """Each way's fastest step of `repeats`: for each stage its work, in seconds since the first.

    A way has at most as many stages as there are ranks; the other ranks wait meanwhile. The ways
    take turns, so that what else the machine does meets all of them.
    Raises ValueError for more stages than ranks, for no repeats, and for no numbers of seconds.
    """
    for name, way in ways.items():
        _refuse_what_cannot_run(name, way, ranks)
    if repeats < 1:
        raise ValueError(f"Each way is measured once or more, not {repeats} times.")
    by_rank = launch(take_turns, ranks, dict(ways), repeats, timeout=LIMIT)
    found = {}
    for name, way in ways.items():
        steps = []
        for turn in range(repeats):
            rows = [by_rank[stage][name][turn] for stage in range(way.schedule.stages)]
            steps.append(since_the_first(rows))
        found[name] = min(steps, key=seconds_of)
    return found


def take_turns(
    rank: int, ranks: int, ways: dict[str, Emulated], repeats: int
) -> dict[str, list[list[Span]]]:
    """Every step of each way as this rank saw it: what `launch` runs in each rank."""
    found: dict[str, list[list[Span]]] = {name: [] for name in ways}
    for way in ways.values():
        one_step(rank, Emulated(way.schedule, 0.0))  # the first messages make connections
    for _ in range(repeats):
        for name, way in ways.items():
            dist.barrier()
            found[name].append(one_step(rank, way))
    return found


def one_step(rank: int, way: Emulated) -> list[Span]:
    """One step of this rank; nothing where the way has no such stage."""
    schedule = way.schedule
    if rank >= schedule.stages:
        return []
    stage = EmulatedStage(rank, schedule.stages, way.forward, way.backward)
    tokens = torch.zeros(schedule.micro_batches, 1, dtype=torch.int64)
    return run(stage, schedule, tokens, tokens, loss=_mean).spans


def since_the_first(spans: Spans) -> Spans:
    """The same, in seconds since the first piece of work of all stages began."""
    zero = min(span.begin for row in spans for span in row)
    return [[Span(s.work, s.begin - zero, s.end - zero) for s in row] for row in spans]


def _refuse_what_cannot_run(name: str, way: Emulated, ranks: int) -> None:
    if way.schedule.stages > ranks:
        raise ValueError(
            f"{name!r} has {way.schedule.stages} stages, and there are {ranks} ranks: each stage "
            "needs a rank of its own."
        )
    try:
        refuse_times(way.forward, way.backward)
    except ValueError as error:
        raise ValueError(f"The way {name!r} cannot be run. {error}") from None


def _mean(y: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return y.mean()
