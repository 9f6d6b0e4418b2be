"""Data parallel training at its simplest: each rank its shard, then the mean of the gradients.

    same_weights(model)
    for images, labels in batches_of_this_rank:
        loss = step(model, images, labels, learning_rate=0.05)

Every rank has the whole model and a part of the batch. With gradient g_r of the mean loss over
rank r's b_r examples, and B = sum of b_r, the gradient of one big batch is

    g = sum over r of  (b_r / B) g_r            the plain mean, where all b_r are equal

which is one all-reduce for each weight. Lesson data_parallel_by_hand.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from labkit.distributed.collectives import broadcast, ring_all_reduce
from labkit.distributed.network import transport
from labkit.distributed.one_big_batch import descend, forward_backward

if TYPE_CHECKING:
    import torch

AllReduce = Callable[["torch.Tensor"], "torch.Tensor"]


def same_weights(model: "torch.nn.Module", root: int = 0) -> None:
    """Gives every rank the root's weights and buffers: ranks that begin apart stay apart."""
    import torch

    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.copy_(broadcast(tensor.detach(), root))


def average_gradients(
    model: "torch.nn.Module",
    share: float | None = None,
    all_reduce: AllReduce = ring_all_reduce,
) -> None:
    """Replaces each gradient by that of the whole batch, after `backward` on this rank's shard.

    share        this rank's part of the batch, b_r / B; 1 / ranks by default. All shares sum to 1.
    all_reduce   takes a tensor and returns its sum over all ranks, in every rank

    Raises ValueError for a weight without a gradient: the other ranks may have one, and would wait
    for this rank.
    """
    if share is None:
        _, ranks = transport().place()
        share = 1 / ranks
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        if weight.grad is None:
            raise ValueError(
                f"average_gradients: {name} has no gradient. Call backward() first, on a loss "
                "that depends on every weight."
            )
        weight.grad = all_reduce(share * weight.grad)


def step(
    model: "torch.nn.Module",
    images: "torch.Tensor",
    labels: "torch.Tensor",
    learning_rate: float,
    share: float | None = None,
    all_reduce: AllReduce = ring_all_reduce,
) -> float:
    """One step of gradient descent on the whole batch, from this rank's shard of it.

    Returns the shard's mean loss, which differs between ranks; the weights stay alike.
    """
    loss = forward_backward(model, images, labels)
    average_gradients(model, share, all_reduce)
    descend(model, learning_rate)
    return loss
