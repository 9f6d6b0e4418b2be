"""Training in one process: the reference that every split of the GPT has to equal.

losses = train(model, emma().train, Plan(steps=10, sequences=8, length=64))
loss = evaluate(model, emma().validation, length=64)
"""

import math
from dataclasses import dataclass

import torch
import torch._dynamo  # the first optimizer loads it; loaded here, ranks inherit it (processes.py)

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.gpt.text import batch
from labkit.errors import whole


@dataclass(frozen=True)
class Plan:
    """What decides a training; nonsense raises ValueError. Step s reads `batch(..., seed + s)`."""

    steps: int = 10
    sequences: int = 8  # per step, over all ranks together
    length: int = 64  # tokens of each
    learning_rate: float = 3e-4
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("sequences", 1), ("length", 1), ("seed", 0)):
            whole(f"Plan: {name}", getattr(self, name), least)
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"Plan: learning_rate is above 0, not {self.learning_rate!r}.")

    def batch_of(self, step: int, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs[N,T] and targets[N,T] of a step, counted from 0."""
        return batch(tokens, self.seed + step, self.sequences, self.length)


def train(model: GPT, tokens: torch.Tensor, plan: Plan, first_step: int = 0) -> list[float]:
    """Train with AdamW on `plan.steps` batches; returns each step's loss before its update.

    Each call begins with a fresh optimizer, whose moments are 0. So training 5 steps and, in a
    second call, 5 more from `first_step=5` sees the same batches as training 10 at once, and ends
    with other weights.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate)
    losses = []
    for step in range(first_step, first_step + plan.steps):
        inputs, targets = plan.batch_of(step, tokens)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(model: GPT, tokens: torch.Tensor, length: int, sequences: int = 32) -> float:
    """Mean loss over all tokens[T] but the first, read in pieces of `length`, in nats per token.

    Each token is predicted once, from those before it in its piece. A last piece that would be
    shorter is left out. Raises ValueError when there is not one whole piece.
    """
    if not 1 <= length < len(tokens):
        raise ValueError(f"evaluate: {len(tokens)} tokens are no piece of {length} and one more.")
    pieces = (len(tokens) - 1) // length
    inputs = tokens[: pieces * length].reshape(pieces, length)
    targets = tokens[1 : pieces * length + 1].reshape(pieces, length)
    total = 0.0
    for some, their in zip(inputs.split(sequences), targets.split(sequences), strict=True):
        total += loss_of(model(some), their).item() * len(some)
    return total / pieces
