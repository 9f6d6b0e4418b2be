"""When gradients are ready: in which order a backward finishes them, and at what time.

    with watched(model) as ready:
        loss.backward()
    [gradient.name for gradient in ready]       # "fc2.bias", "fc2.weight", ..., "conv1.weight"

A gradient is ready when autograd has added its last part to `.grad`; PyTorch then calls the
weight's post-accumulate-grad hook. From that moment on it may travel, while the backward goes on
with the layers before. Lesson overlap_and_buckets.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Ready:
    """A gradient, and when it became ready, in seconds on the machine's clock."""

    name: str
    bytes: int
    moment: float


@contextmanager
def watched(model: "torch.nn.Module") -> Iterator[list[Ready]]:
    """A list of the gradients that become ready in the `with` block, in their order.

    A weight that two layers share is ready once, after both. One that the loss does not depend on,
    or that is not trained, is never ready.
    """
    ready: list[Ready] = []
    hooks = []
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            hooks.append(weight.register_post_accumulate_grad_hook(_noting(name, ready)))
    try:
        yield ready
    finally:
        for hook in hooks:
            hook.remove()


def _noting(name: str, ready: list[Ready]) -> "Callable[[torch.Tensor], None]":
    def note(weight: "torch.Tensor") -> None:
        size = weight.grad.numel() * weight.grad.element_size()
        ready.append(Ready(name, size, time.monotonic()))

    return note
