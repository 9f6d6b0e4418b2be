"""A training that takes seconds: a small network on the embedded sample, to compare many of them.

    run = train(Plan(batch=64, learning_rate=0.08))
    run.losses                      # mean training loss of each epoch
    run.accuracy                    # share of the 500 test images that are right

Data parallel training gives the weights of one process with the whole batch, and so this one
process tells how a batch of that size learns on any number of ranks. Images are shrunk to 16 x 16.
Equal plans give equal runs on one machine. Lesson fewer_bytes.

    image [3,16,16]
      conv1 3x3, 8 channels, ReLU, pool     [8,8,8]
      conv2 3x3, 16 channels, ReLU, pool    [16,4,4]
      fc                                    [10]
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from labkit.errors import whole

if TYPE_CHECKING:
    import torch

BASE_BATCH = 16
BASE_RATE = 0.02  # learning rate that goes with it
EPOCHS = 20
WARM_UP = 5  # epochs, where there is a warm-up
RULES = ("unscaled", "linear", "linear with warm-up")


@dataclass(frozen=True)
class Plan:
    """What decides a training; nonsense raises ValueError.

    batch           images per step, over all ranks together
    learning_rate   after the warm-up
    warm_up         epochs over which it rises to that
    """

    batch: int
    learning_rate: float
    epochs: int = EPOCHS
    warm_up: int = 0
    momentum: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("batch", 1), ("epochs", 1), ("warm_up", 0), ("seed", 0)):
            whole(f"Plan: {name}", getattr(self, name), least)
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"Plan: learning_rate is above 0, not {self.learning_rate!r}.")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"Plan: momentum is at least 0 and below 1, not {self.momentum!r}.")


@dataclass(frozen=True)
class Run:
    """What came of a plan.

    steps      that were made: each would be one all-reduce of the gradients
    losses     mean loss over each epoch's steps; shorter than the plan, where the run diverged
    loss       over all training images at the end, accuracy over the test images
    diverged   whether the loss became infinite or no number; then it ended there
    """

    plan: Plan
    steps: int
    losses: tuple[float, ...]
    loss: float
    accuracy: float
    diverged: bool


def plan_by(rule: str, batch: int, **options: int) -> Plan:
    """The plan for a batch by one of RULES.

    unscaled              the base learning rate, for every batch
    linear                batch / base batch times as much
    linear with warm-up   the same, reached over the first WARM_UP epochs
    """
    if rule not in RULES:
        raise ValueError(f"plan_by: the rule is one of {', '.join(RULES)}, not {rule!r}.")
    scale = 1 if rule == "unscaled" else batch / BASE_BATCH
    warm_up = WARM_UP if rule == "linear with warm-up" else 0
    return Plan(batch, BASE_RATE * scale, warm_up=warm_up, **options)


def learning_rate(plan: Plan, epoch: float) -> float:
    """At a moment, counted in epochs from 0 on: it rises from the base rate, then stays.

    base + (plan's - base) * epoch / warm_up, until epoch is warm_up.
    """
    if epoch >= plan.warm_up:
        return plan.learning_rate
    begin = min(BASE_RATE, plan.learning_rate)
    return begin + (plan.learning_rate - begin) * epoch / plan.warm_up


def train(plan: Plan) -> Run:
    """Trains a fresh network by SGD as planned; each epoch visits every image in a new order."""
    import torch

    images, labels, test_images, test_labels = _data()
    model = network(plan.seed)
    optimiser = torch.optim.SGD(model.parameters(), plan.learning_rate, plan.momentum)
    order = torch.Generator().manual_seed(plan.seed)
    losses = []
    steps = 0
    for epoch in range(plan.epochs):
        batches = torch.randperm(len(labels), generator=order).split(plan.batch)
        sum_of_losses = 0.0
        for place, chosen in enumerate(batches):
            moment = epoch + place / len(batches)
            optimiser.param_groups[0]["lr"] = learning_rate(plan, moment)
            sum_of_losses += _step(model, optimiser, images[chosen], labels[chosen])
            steps += 1
            if not math.isfinite(sum_of_losses):
                return Run(plan, steps, tuple(losses), math.inf, 0.0, True)
        losses.append(sum_of_losses / len(batches))
    loss, _ = _judged(model, images, labels)
    _, accuracy = _judged(model, test_images, test_labels)
    return Run(plan, steps, tuple(losses), loss, accuracy, not math.isfinite(loss))


def photographs() -> "tuple[torch.Tensor, torch.Tensor]":
    """The training images [2000,3,16,16], normalised, and their labels [2000]."""
    images, labels, _, _ = _data()
    return images, labels


def network(seed: int = 0) -> "torch.nn.Module":
    """The small network with fresh weights; torch's own random numbers are left as they were."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(256, 10),
        )


def _step(
    model: "torch.nn.Module",
    optimiser: "torch.optim.Optimizer",
    images: "torch.Tensor",
    labels: "torch.Tensor",
) -> float:
    """One step; the mean loss before it."""
    from labkit.distributed.one_big_batch import forward_backward

    loss = forward_backward(model, images, labels)
    optimiser.step()
    return loss


def _judged(
    model: "torch.nn.Module", images: "torch.Tensor", labels: "torch.Tensor"
) -> tuple[float, float]:
    """Mean loss, and the share that is right."""
    import torch
    from torch.nn.functional import cross_entropy

    with torch.no_grad():
        logits = model(images)
    right = (logits.argmax(1) == labels).float().mean()
    return cross_entropy(logits, labels).item(), right.item()


@cache
def _data() -> "tuple[torch.Tensor, ...]":
    """Training images [2000,3,16,16] and labels [2000], then 500 for the test."""
    import torch
    from torch.nn.functional import avg_pool2d

    from labkit.convnet import normalise
    from labkit.datasets import cifar10

    data = cifar10("sample")
    tensors = []
    for split in (data.train, data.test):
        tensors.append(avg_pool2d(torch.from_numpy(normalise(split.images)), 2))
        tensors.append(torch.from_numpy(split.labels))
    return tuple(tensors)
