"""Local SGD: every rank learns alone for H steps; then all take the mean of their weights.

    train(model, batches_of_this_rank, optimiser, every=10)

With weights w_r and rank r's share s_r of the examples, the ranks meet in

    w = sum over r of  s_r w_r            one all-reduce in H steps, instead of one in each

For plain SGD and H = 1 this is data parallel training, since sum of s_r (w - eta g_r) is
w - eta (sum of s_r g_r). It is not where the step is no linear function of the gradient (Adam), and
not for H > 1. With shards that differ, and long rounds, it is federated averaging (McMahan et al.
2017, arXiv:1602.05629). Lesson fewer_bytes.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.data_parallel import AllReduce
from labkit.distributed.network import transport
from labkit.distributed.one_big_batch import forward_backward
from labkit.errors import whole

if TYPE_CHECKING:
    import torch

Batches = Iterable[tuple["torch.Tensor", "torch.Tensor"]]


def average_parameters(
    model: "torch.nn.Module",
    share: float | None = None,
    all_reduce: AllReduce = ring_all_reduce,
) -> None:
    """Replaces this rank's weights by the weighted mean of all ranks', in one all-reduce.

    share   this rank's part of the examples; 1 / ranks by default. All shares sum to 1.

    The optimiser's own numbers, and buffers such as BatchNorm's means, stay the rank's own.
    """
    import torch
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    if share is None:
        share = 1 / transport().place()[1]
    with torch.no_grad():
        mine = share * parameters_to_vector(model.parameters())
        vector_to_parameters(all_reduce(mine), model.parameters())


def train(
    model: "torch.nn.Module",
    batches: Batches,
    optimiser: "torch.optim.Optimizer",
    every: int,
    share: float | None = None,
    all_reduce: AllReduce = ring_all_reduce,
) -> list[float]:
    """Local steps on this rank's batches, the weights averaged after each `every` of them.

    Returns the loss of each step. Steps after the last average stay local: give every rank the
    same number of batches, a multiple of `every`. Raises ValueError for an `every` below 1.
    """
    whole("local_sgd.train: every", every)
    losses = []
    for images, labels in batches:
        losses.append(forward_backward(model, images, labels))
        optimiser.step()
        if len(losses) % every == 0:
            average_parameters(model, share, all_reduce)
    return losses


def federated_round(
    model: "torch.nn.Module",
    batches: Sequence[tuple["torch.Tensor", "torch.Tensor"]],
    optimiser: "torch.optim.Optimizer",
    examples: int,
    epochs: int = 1,
    all_reduce: AllReduce = ring_all_reduce,
) -> list[float]:
    """One round of federated averaging: all of this rank's batches, `epochs` times, then the mean.

    examples   on this rank; the others are told, and each rank's share is examples / their sum.
               So ranks may have different numbers of batches.

    Returns the loss of each step. Raises ValueError where no rank has examples.
    """
    import torch

    losses = []
    for _ in range(epochs):
        for images, labels in batches:
            losses.append(forward_backward(model, images, labels))
            optimiser.step()
    total = float(all_reduce(torch.tensor([float(examples)])))
    if total == 0:
        raise ValueError("federated_round: no rank has examples.")
    average_parameters(model, examples / total, all_reduce)
    return losses


def sgd_with_momentum(weights: "Iterable[torch.Tensor]", lr: float) -> "torch.optim.Optimizer":
    """`torch.optim.SGD` with momentum 0.9, made like the optimisers that need no more arguments."""
    import torch

    return torch.optim.SGD(weights, lr, momentum=0.9)
