"""A small network without BatchNorm, with it, and with a synchronised one, on shards of a batch.

    launch(gradients_of_shards, 4, with_and_without()["BatchNorm"], images, labels)[0]

Lesson overlap_and_buckets compares them with one big batch.
"""

from typing import TYPE_CHECKING

from labkit.distributed.data_parallel import average_gradients
from labkit.distributed.one_big_batch import forward_backward, gradients

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import nn

    Make = Callable[[], nn.Module]


def with_and_without() -> "dict[str, Make]":
    """Three functions that make a network, by what is between its convolution and its ReLU."""
    return {
        "without BatchNorm": without_batch_norm,
        "with BatchNorm": with_batch_norm,
        "with synchronised BatchNorm": with_synchronised_batch_norm,
    }


def without_batch_norm() -> "nn.Module":
    """images [N, 3, 32, 32] -> logits [N, 10]."""
    return _network(batch_norm=False)


def with_batch_norm() -> "nn.Module":
    """The same, with a BatchNorm of 16 channels behind the convolution."""
    return _network(batch_norm=True)


def with_synchronised_batch_norm() -> "nn.Module":
    """The same, with mean and variance over the images of all ranks."""
    from labkit_lessons.distributed.overlap_and_buckets.batch_norm import synchronised

    return synchronised(_network(batch_norm=True))


def gradients_of_shards(
    rank: int, ranks: int, make: "Make", images: "torch.Tensor", labels: "torch.Tensor"
) -> "dict[str, torch.Tensor]":
    """The mean of the ranks' gradients, each from every `ranks`-th image; the same in all ranks."""
    network = make()
    forward_backward(network, images[rank::ranks], labels[rank::ranks])
    average_gradients(network)
    return gradients(network)


def _network(batch_norm: bool) -> "nn.Module":
    """With the same weights every time."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        convolution = nn.Conv2d(3, 16, 3, bias=not batch_norm)  # BatchNorm has a bias of its own
        linear = nn.Linear(16 * 30 * 30, 10)
    between = [nn.BatchNorm2d(16)] if batch_norm else []
    return nn.Sequential(convolution, *between, nn.ReLU(), nn.Flatten(), linear)
