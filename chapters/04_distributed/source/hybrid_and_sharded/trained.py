"""Trainings of the small GPT by each stage of ZeRO, and what they sent and held.

runs = launch(train_stages, 4, GPT, emma().train, Plan(steps=3))
runs[0][3].held                 # bytes of rank 0 in stage 3, by kind
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.gpt.training import Plan
from labkit.distributed.launching.live_bytes import counted_bytes
from labkit.distributed.messages import recorded
from labkit_lessons.distributed.hybrid_and_sharded.zero import STAGES, Sharded


@dataclass(frozen=True)
class Run:
    """A training in one rank; what it sent and held is of its last step.

    losses    of this rank's sequences, before each update
    weights   after the last update, whole
    sent      bytes of all messages
    sizes     how many numbers each unit has, padding included
    held      bytes by kind between backward and the update
    at_peak   bytes by kind at the peak of the step
    """

    losses: list[float]
    weights: dict[str, torch.Tensor]
    sent: int
    sizes: list[int]
    held: dict[str, int]
    at_peak: dict[str, int]

    @property
    def peak(self) -> int:
        """Bytes at the peak."""
        return sum(self.at_peak.values())


def train_stages(
    rank: int, ranks: int, make: Callable[[], GPT], tokens: torch.Tensor, plan: Plan
) -> dict[int, Run]:
    """In a launch: the same training in each stage, from the same weights."""
    return {stage: train_stage(rank, ranks, make(), tokens, plan, stage) for stage in STAGES}


def train_stage(
    rank: int, ranks: int, model: GPT, tokens: torch.Tensor, plan: Plan, stage: int
) -> Run:
    """In a launch: as `gpt.training.train`, on this rank's share of each step's sequences.

    Raises ValueError where these do not divide into equal shares.
    """
    sharded = Sharded(model, stage)
    optimizer = torch.optim.AdamW(sharded.parameters(), lr=plan.learning_rate)
    losses = []
    for step in range(plan.steps):
        inputs, targets = share_of(plan.batch_of(step, tokens), ranks, rank)
        last = step == plan.steps - 1  # to count bytes takes longer than to train
        with (
            recorded() as messages,
            counted_bytes(sharded, optimizer) if last else nullcontext() as memory,
        ):
            losses.append(backward(sharded, inputs, targets))
            held = memory.by_kind() if last else {}
            sharded.finish()
            optimizer.step()
            optimizer.zero_grad()
    sent = sum(message.bytes for message in messages if message.sent)
    sizes = [unit.whole.numel() for unit in sharded.units]
    run = Run(losses, sharded.weights(), sent, sizes, held, memory.at_peak)
    sharded.close()
    return run


def backward(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> float:
    """Forward and backward of this rank's inputs[N,T] and targets[N,T]; their mean loss."""
    loss = loss_of(model(inputs), targets)
    loss.backward()
    return loss.item()


def share_of(batch: Sequence[torch.Tensor], parts: int, place: int) -> list[torch.Tensor]:
    """One of so many equal parts of inputs[N,T] and targets[N,T]; ValueError for a rest."""
    if len(batch[0]) % parts:
        raise ValueError(f"{len(batch[0])} sequences do not divide into {parts} equal parts.")
    return [whole.chunk(parts)[place] for whole in batch]


def mean_losses(losses: Sequence[Sequence[float]]) -> list[float]:
    """Step by step, the mean over the ranks."""
    return torch.tensor(losses, dtype=torch.float64).mean(0).tolist()
