"""Halves of a GPT's block made of a learner's functions, to compare them with the whole halves.

    attention_of_heads(rank, ranks, block.attention, heads_of_rank)(x)      # this rank's summand
    mlp_of_rank(rank, ranks, block.mlp, split_mlp)(x)                       # the MLP's result

Lesson tensor_parallel does so with the weights of a fresh model.
"""

import copy
from collections.abc import Callable

import torch
from torch import nn

from labkit.distributed.gpt.model import MLP, Attention


def attention_of_heads(
    rank: int, ranks: int, whole: Attention, heads_of_rank: Callable
) -> Attention:
    """Attention with this rank's heads alone; over all ranks, the results sum to the whole's.

    heads_of_rank   (rank, ranks, head_width, query, output), tensors -> this rank's part of each

    Biases are left out: in a fresh model they are 0. Raises ValueError where a rank would get no
    head, and for a rank that is not one of them.
    """
    _refuse_no_rank(rank, ranks)
    output = whole.output.weight.detach()
    heads = len(output) // whole.head_width
    if ranks > heads:
        raise ValueError(f"{heads} heads are too few for {ranks} ranks: each needs one or more.")
    part = copy.deepcopy(whole)
    for name in ("query", "key", "value"):
        columns = getattr(whole, name).weight.detach()
        mine, rows = heads_of_rank(rank, ranks, whole.head_width, columns, output)
        setattr(part, name, _layer(mine))
    part.output = _layer(rows)
    return part


def mlp_of_rank(
    rank: int, ranks: int, whole: MLP, split_mlp: Callable
) -> Callable[[torch.Tensor], torch.Tensor]:
    """x[N,T,D] -> y[N,T,D], by a function of one row for each token, as in the exercise.

    Raises ValueError for a rank that is not one of them.
    """
    _refuse_no_rank(rank, ranks)
    expand, contract = whole.expand, whole.contract
    parts = (
        expand.weight.chunk(ranks, 0)[rank],
        expand.bias.chunk(ranks, 0)[rank],
        contract.weight.chunk(ranks, 1)[rank],
        contract.bias,
    )

    def mlp(x: torch.Tensor) -> torch.Tensor:
        return split_mlp(rank, ranks, x.flatten(0, 1), *parts).view(x.shape)

    return mlp


def _refuse_no_rank(rank: int, ranks: int) -> None:
    if not 0 <= rank < ranks:
        raise ValueError(f"There is no rank {rank} among {ranks}, counted from 0.")


def _layer(weight: torch.Tensor) -> nn.Linear:
    """A linear layer without bias, of a weight [outputs, inputs]."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    layer.weight = nn.Parameter(weight.contiguous(), requires_grad=False)
    return layer
