"""The problem of all lessons on parameter servers: photographs, and a network of two layers.

    image [3,16,16]
      fc1  768 -> 32, ReLU
      fc2  32 -> 10

Its 24,938 weights travel as one flat tensor, in the order fc1.weight, fc1.bias, fc2.weight,
fc2.bias. A gradient is computed at weights that are handed in, so that it has no state. Lesson
parameter_servers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from labkit.errors import whole

if TYPE_CHECKING:
    import torch

VERSION = 1  # of the network: other weights or other layers are another version
PIXELS, HIDDEN, CLASSES = 3 * 16 * 16, 32, 10
SHAPES = ((HIDDEN, PIXELS), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,))


def network(seed: int = 0) -> torch.nn.Module:
    """The network with fresh weights; torch's own random numbers are left as they were."""
    from collections import OrderedDict

    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = OrderedDict(
            flatten=nn.Flatten(),
            fc1=nn.Linear(PIXELS, HIDDEN),
            relu=nn.ReLU(),
            fc2=nn.Linear(HIDDEN, CLASSES),
        )
    return nn.Sequential(layers)


def flat_weights(model: torch.nn.Module) -> torch.Tensor:
    """A copy of all weights of a model in one tensor [W], in the order of its parameters."""
    from torch.nn.utils import parameters_to_vector

    return parameters_to_vector(model.parameters()).detach().clone()


def gradient(
    flat: torch.Tensor, images: torch.Tensor, labels: torch.Tensor
) -> tuple[float, torch.Tensor]:
    """The mean loss of the network over a batch, and its gradient [W].

    L = 1/N sum_i cross_entropy(network(images[i]), labels[i]) at the weights flat[W], for
    images[N,3,16,16] and labels[N]. Raises ValueError for another number of weights.
    """
    import torch
    from torch.nn.functional import cross_entropy, linear, relu

    leaf = flat.detach().clone().requires_grad_()
    weight1, bias1, weight2, bias2 = _parts(leaf)
    hidden = relu(linear(images.flatten(1), weight1, bias1))
    loss = cross_entropy(linear(hidden, weight2, bias2), labels)
    (slope,) = torch.autograd.grad(loss, leaf)
    return loss.item(), slope


def batch(worker: int, step: int, size: int, workers: int) -> torch.Tensor:
    """Which photographs a worker looks at in a step: their places [size].

    One shuffled row of all photographs is dealt, step after step, and within a step worker after
    worker: what all workers get in a step are `workers * size` neighbours, one big batch. At the
    end of the row it begins again.
    """
    import torch

    row = _row()
    begin = (step * workers + worker) * size
    return row[torch.arange(begin, begin + size) % len(row)]


def fingerprint(model: torch.nn.Module) -> str:
    """What model this is: its version, and each weight's name and shape."""
    shapes = [f"{name}{list(weight.shape)}" for name, weight in model.named_parameters()]
    return f"version {VERSION}: {', '.join(shapes)}"


@dataclass(frozen=True)
class Photographs:
    """A job for workers: what they compute in each step.

    batch   photographs for each worker in a step
    seed    of the weights at the beginning

    Another job is any class with these three methods that can be pickled. Raises ValueError for a
    batch or a seed that is none.
    """

    batch: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("batch", 1), ("seed", 0)):
            whole(f"Photographs: {name}", getattr(self, name), least)

    def start(self) -> torch.Tensor:
        """The weights [W] at the beginning."""
        return flat_weights(network(self.seed))

    def fingerprint(self) -> str:
        """Of the model that this job trains."""
        return fingerprint(network(self.seed))

    def gradient(
        self, flat: torch.Tensor, worker: int, step: int, workers: int
    ) -> tuple[float, torch.Tensor, int]:
        """Loss, gradient [W] and number of photographs of a worker's step at these weights [W]."""
        from labkit.distributed.small_training import photographs

        images, labels = photographs()
        places = batch(worker, step, self.batch, workers)
        loss, slope = gradient(flat, images[places], labels[places])
        return loss, slope, self.batch


def _parts(flat: torch.Tensor) -> list[torch.Tensor]:
    """Views of the flat weights in the shapes of the network, in its order."""
    sizes = [math.prod(shape) for shape in SHAPES]
    if list(flat.shape) != [sum(sizes)]:
        raise ValueError(
            f"The network has {sum(sizes)} weights in one row; these have the shape "
            f"{list(flat.shape)}."
        )
    return [part.view(shape) for part, shape in zip(flat.split(sizes), SHAPES, strict=True)]


@cache
def _row() -> torch.Tensor:
    """All photographs, shuffled once."""
    import torch

    from labkit.distributed.small_training import photographs

    _, labels = photographs()
    return torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
