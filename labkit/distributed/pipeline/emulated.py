"""Stages that only sleep, for as long as you say: emulated compute for pipelines.

    ran = launch(measure, 4, one_f_one_b(4, 8), 0.02, 0.04)     # t_F = 20 ms, t_B = 40 ms
    spans = since_the_first([one.spans for one in ran])

Four busy ranks on two cores would wait for each other's arithmetic. These sleep, and leave the
cores to the messages, which are real.
"""

import time

import torch
import torch.distributed as dist
from torch import nn

from labkit.distributed.pipeline.predictions import Span, Spans
from labkit.distributed.pipeline.runner import Ran, run
from labkit.distributed.pipeline.schedules import Schedule

WIDTH = 16  # of what travels


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


def measure(
    rank: int, ranks: int, schedule: Schedule, forward: float, backward: float, repeats: int = 3
) -> list[Ran]:
    """Each of the repeats as stage `rank` saw it: what `launch` runs in each rank.

    forward, backward   t_F and t_B in seconds
    """
    stage = EmulatedStage(rank, ranks, forward, backward)
    tokens = torch.zeros(schedule.micro_batches, 1, dtype=torch.int64)
    runs = []
    for _ in range(1 + repeats):
        dist.barrier()
        runs.append(run(stage, schedule, tokens, tokens, loss=_mean))
    return runs[1:]  # the first one makes connections


def since_the_first(spans: Spans) -> Spans:
    """The same, in seconds since the first piece of work of all stages began."""
    zero = min(span.begin for row in spans for span in row)
    return [[Span(s.work, s.begin - zero, s.end - zero) for s in row] for row in spans]


def _mean(y: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return y.mean()
