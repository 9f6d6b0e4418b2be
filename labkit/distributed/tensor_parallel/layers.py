"""Attention and MLP of which each rank has a part: columns first, then rows, and one sum.

    y = f(x A) B        A split by columns, B by rows, into n parts each
      = f(x A_0) B_0 + ... + f(x A_(n-1)) B_(n-1)

f is GELU in the MLP and all that happens within the heads in attention: it works on each column
(each head) by itself, so that no rank needs another's. PyTorch stores a layer's weight as its
transpose, [outputs, inputs]: what the formula calls columns are its rows.
"""

import torch
from torch import nn
from torch.nn.functional import linear

from labkit.distributed.gpt.model import MLP, Attention, Config
from labkit.distributed.tensor_parallel.group import TensorGroup
from labkit.distributed.tensor_parallel.operations import copy_to_ranks, sum_over_ranks


class ColumnSplitLinear(nn.Linear):
    """x[...,D] -> this rank's F/n of the F outputs; weight [F/n,D], bias [F/n].

    It sends nothing. Its x comes through `copy_to_ranks`, once for all layers that share it.
    """

    def __init__(self, inputs: int, outputs: int, group: TensorGroup) -> None:
        super().__init__(inputs, share_of(outputs, group.ranks, "outputs"))


class RowSplitLinear(nn.Module):
    """This rank's F/n of the inputs -> y[...,D] in every rank; weight [D,F/n], bias [D].

    Each rank multiplies its part, and one all-reduce adds the products up. Every rank has the whole
    bias and adds it afterwards: before the sum, it would be counted n times.
    """

    def __init__(self, inputs: int, outputs: int, group: TensorGroup) -> None:
        super().__init__()
        self.group = group
        part = nn.Linear(share_of(inputs, group.ranks, "inputs"), outputs)
        self.weight = part.weight
        self.bias = part.bias

    def forward(self, part: torch.Tensor) -> torch.Tensor:
        """[...,F/n] -> [...,D]."""
        return sum_over_ranks(linear(part, self.weight), self.group) + self.bias


class SplitAttention(Attention):
    """The heads of this rank: their columns of Q, K and V, and their rows of the output."""

    def __init__(self, config: Config, group: TensorGroup) -> None:
        nn.Module.__init__(self)
        share_of(config.heads, group.ranks, "heads")
        width = config.width
        self.group = group
        self.head_width = config.head_width
        self.query = ColumnSplitLinear(width, width, group)
        self.key = ColumnSplitLinear(width, width, group)
        self.value = ColumnSplitLinear(width, width, group)
        self.output = RowSplitLinear(width, width, group)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[N,T,D] -> [N,T,D], the same in every rank."""
        return super().forward(copy_to_ranks(x, self.group))


class SplitMLP(MLP):
    """This rank's share of the 4D numbers between the two layers."""

    def __init__(self, config: Config, group: TensorGroup) -> None:
        nn.Module.__init__(self)
        self.group = group
        self.expand = ColumnSplitLinear(config.width, 4 * config.width, group)
        self.contract = RowSplitLinear(4 * config.width, config.width, group)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[N,T,D] -> [N,T,D], the same in every rank."""
        return super().forward(copy_to_ranks(x, self.group))


def share_of(size: int, ranks: int, what: str) -> int:
    """What each of the ranks gets of it; ValueError where they do not divide it."""
    if size % ranks:
        raise ValueError(
            f"Tensor parallel: {ranks} ranks cannot share {size} {what} evenly; take a number of "
            f"ranks that divides {size}."
        )
    return size // ranks
