"""LoRA: a trained model learns something new through a few small matrices.

    model = adapt(trained(), rank=4, alpha=8)   # only the small matrices learn
    train(model, tokens, plan)
    merge(model)                                # plain layers again, with the same outputs

A layer keeps its weights W[O,I] as they are and gets two matrices more, A[r,I] and B[O,r]:

    y = x W^T + b + (alpha / r) x A^T B^T

B begins at 0, so at the start the model is the trained one (Hu et al. 2021, arXiv:2106.09685).
Lesson fine_tuning_and_compilers.
"""

import math

import torch
from torch import nn
from torch.nn.functional import linear

from labkit.distributed.gpt.model import GPT
from labkit.errors import whole

LAYERS = ("query", "value")  # those that the paper adapts in most of its runs


class LoRA(nn.Module):
    """A linear layer that is frozen, and beside it A[r,I] and B[O,r], which learn."""

    def __init__(self, frozen: nn.Linear, rank: int, alpha: float, random: torch.Generator) -> None:
        super().__init__()
        outputs, inputs = frozen.weight.shape
        self.frozen = frozen.requires_grad_(False)
        self.scale = alpha / rank
        drawn = torch.randn(rank, inputs, generator=random) / math.sqrt(inputs)
        self.a = nn.Parameter(drawn.to(frozen.weight.dtype))
        self.b = nn.Parameter(frozen.weight.new_zeros(outputs, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[...,I] -> [...,O]."""
        low = linear(x, self.a)  # [...,r]
        return self.frozen(x) + self.scale * linear(low, self.b)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """One plain layer with the same outputs: W + (alpha / r) B A. The frozen one stays."""
        outputs, inputs = self.frozen.weight.shape
        layer = nn.Linear(inputs, outputs, bias=self.frozen.bias is not None)
        layer.to(self.frozen.weight.dtype)
        layer.weight.copy_(self.frozen.weight + self.scale * self.b @ self.a)
        if self.frozen.bias is not None:
            layer.bias.copy_(self.frozen.bias)
        return layer


def adapt(
    model: GPT, rank: int, alpha: float, layers: tuple[str, ...] = LAYERS, seed: int = 0
) -> GPT:
    """Freeze a GPT, in place, and put LoRA into these linear layers of each block.

    `layers` has names such as "query", "value", "output" or "expand". Raises ValueError for a name
    that no block has, for a rank below 1 and for an alpha that is not above 0.
    """
    whole("adapt: rank", rank)
    if not isinstance(alpha, (int, float)) or not 0 < alpha < math.inf:
        raise ValueError(f"adapt: alpha is above 0, not {alpha!r}.")
    model.requires_grad_(False)
    random = torch.Generator().manual_seed(seed)
    for block in model.blocks:
        for name in layers:
            parent = _parent_of(block, name)
            setattr(
                parent,
                name,
                LoRA(getattr(parent, name), rank, alpha, random),
            )
    return model


def merge(model: GPT) -> GPT:
    """Put a plain layer in place of each adapted one, in place; all parameters learn again."""
    for block in model.blocks:
        for parent in (block.attention, block.mlp):
            for name, layer in list(parent.named_children()):
                if isinstance(layer, LoRA):
                    setattr(parent, name, layer.merged())
    return model.requires_grad_(True)


def learning(model: nn.Module) -> int:
    """How many parameters learn."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def _parent_of(block: nn.Module, name: str) -> nn.Module:
    for parent in (block.attention, block.mlp):
        if isinstance(getattr(parent, name, None), nn.Linear):
            return parent
    raise ValueError(f"adapt: a block has no linear layer {name!r} that is not adapted yet.")
