"""Activation checkpointing: keep the input of each block, and compute the rest a second time.

    recomputed(model)                 # each block keeps its input alone
    loss_of(model(inputs), targets).backward()

Backward needs what forward computed on its way: its activations. A block that is recomputed throws
them away, and computes them again, from its input, when backward comes to it: one forward more for
each block, and the activations of one block at a time instead of those of all (Chen et al. 2016,
"Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.live_bytes import counted_bytes


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


@dataclass(frozen=True)
class StepActivations:
    """What one step of one process needed.

    peak             bytes of activations at the moment when there were most
    forwards         how often a block computed its output
    same_gradients   whether each gradient has the bits of a step without recomputing
    """

    peak: int
    forwards: int
    same_gradients: bool


def activations_of_step(blocks: int, recompute: bool = False) -> StepActivations:
    """Forward and backward of the small GPT with so many blocks, on 8 sequences of 64 tokens."""
    plain = GPT(Config(layers=blocks))
    loss_of(plain(_batch()[0]), _batch()[1]).backward()
    model = GPT(Config(layers=blocks))
    seen = forward_calls(model)
    if recompute:
        recomputed(model)
    inputs, targets = _batch()
    with counted_bytes(model) as memory:
        loss_of(model(inputs), targets).backward()
    pairs = zip(plain.parameters(), model.parameters(), strict=True)
    same = all(torch.equal(one.grad, other.grad) for one, other in pairs)
    return StepActivations(memory.peak_activations, len(seen), same)


def _batch() -> tuple[torch.Tensor, torch.Tensor]:
    return Plan().batch_of(0, emma().train)
