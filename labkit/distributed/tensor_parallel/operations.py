"""The two conjugate operations: each is in the forward what the other is in the backward.

                      forward          backward
    copy_to_ranks     identity         all-reduce
    sum_over_ranks    all-reduce       identity

The same x enters n layers, one in each rank, and L depends on it through all of them: so dL/dx is
the sum of what the ranks find. And y = y_0 + ... + y_(n-1) has dL/dy_r = dL/dy in every rank
(Shoeybi et al. 2019, arXiv:1909.08053, call them f and g).
"""

import torch
from torch.autograd.function import FunctionCtx

from labkit.distributed.tensor_parallel.group import TensorGroup


def copy_to_ranks(x: torch.Tensor, group: TensorGroup) -> torch.Tensor:
    """x itself, which is the same in every rank; its gradient is summed over the group."""
    return _CopyToRanks.apply(x, group)


def sum_over_ranks(x: torch.Tensor, group: TensorGroup) -> torch.Tensor:
    """The sum of every rank's x; each rank's gradient of x is that of the sum."""
    return _SumOverRanks.apply(x, group)


class _CopyToRanks(torch.autograd.Function):
    @staticmethod
    def forward(context: FunctionCtx, x: torch.Tensor, group: TensorGroup) -> torch.Tensor:
        context.group = group
        return x.view_as(x)

    @staticmethod
    def backward(context: FunctionCtx, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        return context.group.all_reduce(dy), None


class _SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(context: FunctionCtx, x: torch.Tensor, group: TensorGroup) -> torch.Tensor:
        return group.all_reduce(x)

    @staticmethod
    def backward(context: FunctionCtx, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        return dy, None
