"""Activation checkpointing: keep the input of each block, and compute the rest a second time.

    recomputed(model)                 # each block keeps its input alone
    loss_of(model(inputs), targets).backward()

Backward needs what forward computed on its way: its activations. A block that is recomputed throws
them away, and computes them again, from its input, when backward comes to it: one forward more for
each block, and the activations of one block at a time instead of those of all (Chen et al. 2016,
"Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174).
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from labkit.distributed.gpt.model import GPT


class Recomputed(nn.Module):
    """A module that computes the same, and keeps nothing but its input x, a tensor."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The module's own output."""
        return _Recompute.apply(x, self.module)


class _Recompute(torch.autograd.Function):
    @staticmethod
    def forward(context: FunctionCtx, x: torch.Tensor, module: Callable) -> torch.Tensor:
        context.module = module
        context.save_for_backward(x)
        return module(x)  # autograd is off in here: nothing is kept

    @staticmethod
    def backward(context: FunctionCtx, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = context.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = context.module(x)
        y.backward(dy)  # the gradients of the module's weights, too
        return x.grad, None


def recomputed(model: GPT) -> GPT:
    """The model itself, with every block recomputed in backward."""
    for place, block in enumerate(model.blocks):
        model.blocks[place] = Recomputed(block)
    return model


def forward_calls(model: GPT) -> list[str]:
    """A list that grows by "0", "1", ... whenever that block computes."""
    seen: list[str] = []
    for place, block in enumerate(model.blocks):
        inner = block.module if isinstance(block, Recomputed) else block
        inner.mlp.register_forward_pre_hook(lambda *_, name=str(place): seen.append(name))
    return seen
