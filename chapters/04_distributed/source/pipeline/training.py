"""Training by a pipeline, step by step as `gpt.training.train` does it in one process.

def train_a_stage(rank, ranks):
    stage = Stage(GPT().double(), rank, ranks)
    losses = train(stage, one_f_one_b(ranks, 4), emma().train, Plan(steps=3))
    return losses, gradients(stage), weights(stage)

losses, gradients, weights = joined(launch(train_a_stage, 2))
"""

from collections.abc import Sequence
from typing import TypeVar

import torch

from labkit.distributed.gpt.training import Plan
from labkit.distributed.pipeline.runner import run
from labkit.distributed.pipeline.schedules import Schedule
from labkit.distributed.pipeline.stages import Stage
from labkit_lessons.distributed.pipeline.torch_runner import run_by_torch

Value = TypeVar("Value")


def train(
    stage: Stage,
    schedule: Schedule,
    tokens: torch.Tensor,
    plan: Plan,
    ranks: Sequence[int] | None = None,
    by_torch: bool = False,
) -> list[float | None]:
    """Trains with AdamW, each stage its own weights; the losses, which only the last stage knows.

    ranks      as in `runner.run`, by hand only
    by_torch   by PyTorch's schedule of the same name
    """
    optimizer = torch.optim.AdamW(stage.parameters(), lr=plan.learning_rate)
    losses = []
    for step in range(plan.steps):
        inputs, targets = plan.batch_of(step, tokens)
        optimizer.zero_grad()
        if by_torch:
            count = schedule.micro_batches
            loss = run_by_torch(stage, schedule.name, count, inputs, targets)
        else:
            loss = run(stage, schedule, inputs, targets, ranks).loss
        optimizer.step()
        losses.append(loss)
    return losses


def joined(
    stages: Sequence[tuple[list[float | None], dict[str, Value], dict[str, Value]]],
) -> tuple[list[float], dict[str, Value], dict[str, Value]]:
    """The last stage's losses, and the gradients and weights of all stages by their names.

    Raises ValueError without any stage.
    """
    if not stages:
        raise ValueError("There is no stage whose results could be joined.")
    gradients = {}
    weights = {}
    for _, its_gradients, its_weights in stages:
        gradients |= its_gradients
        weights |= its_weights
    return stages[-1][0], gradients, weights
