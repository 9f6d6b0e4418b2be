"""BatchNorm over the batch of all ranks, so that n small batches normalise as one big one does.

    net = synchronised(net)         # every BatchNorm of it; before DataParallel

Over the N values of a channel, those of all ranks (mean and var are N's, not a rank's):

    y = w x^ + b      x^ = (x - mean) / sqrt(var + eps)
    dx = w / sqrt(var + eps) * (dy - sum(dy) / N - x^ sum(dy x^) / N)
    dw = sum(dy x^)   db = sum(dy)

So the forward needs N, sum(x) and sum(x^2) of all ranks, and the backward sum(dy) and sum(dy x^):
one all-reduce of a few numbers each. dw and db are this rank's sums, as with every other layer:
data parallelism averages them. Lesson data_parallel_by_hand.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from labkit.distributed.gradients.asynchronous import BackendThreads

AllReduce = Callable[[torch.Tensor], torch.Tensor]


def by_the_backend(tensor: torch.Tensor) -> torch.Tensor:
    """The sum over all ranks, by the backend's own all-reduce."""
    return BackendThreads().submit(tensor).wait()


class SynchronisedBatchNorm(_BatchNorm):
    """BatchNorm of x[N, C, ...] whose mean and variance are those of all ranks' rows.

    all_reduce   takes a tensor and returns its sum over all ranks, in every rank

    Arguments and buffers are those of `nn.BatchNorm2d`; in eval mode it is the same, and nothing
    travels. Every rank has to take part in every training step. The ranks may have different
    numbers of rows. Raises ValueError for a batch that has one value of a channel on all ranks.
    """

    def __init__(
        self, channels: int, *args: Any, all_reduce: AllReduce = by_the_backend, **named: Any
    ) -> None:
        super().__init__(channels, *args, **named)
        self.all_reduce = all_reduce

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y, shaped as x."""
        if not self.training and self.running_mean is not None:
            return super().forward(x)
        self._check_input_dim(x)
        mean, variance, count = _moments(x, self.all_reduce)
        if self.training and self.running_mean is not None:
            self._remember(mean, variance, count)
        return _Normalise.apply(
            x, self.weight, self.bias, mean, variance, count, self.eps, self.all_reduce
        )

    def _check_input_dim(self, x: torch.Tensor) -> None:
        if x.dim() < 2 or x.shape[1] != self.num_features:
            raise ValueError(
                f"SynchronisedBatchNorm: x is {list(x.shape)}, not [N, {self.num_features}, ...]."
            )

    def _remember(self, mean: torch.Tensor, variance: torch.Tensor, count: float) -> None:
        """running <- (1 - m) running + m new, with the variance over count - 1."""
        self.num_batches_tracked += 1
        m = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean), m)
        self.running_var.lerp_((variance * count / (count - 1)).to(self.running_var), m)


class _Normalise(torch.autograd.Function):
    """y from x, and the gradients above; mean, variance and count are those of all ranks."""

    @staticmethod
    def forward(ctx, x, weight, bias, mean, variance, count, eps, all_reduce):
        scale = (variance + eps).rsqrt()
        normal = ((x - _along(mean, x)) * _along(scale, x)).to(x.dtype)  # x^
        ctx.save_for_backward(normal, weight, scale)
        ctx.count = count
        ctx.all_reduce = all_reduce
        if weight is None:
            return normal
        return normal * _along(weight, x) + _along(bias, x)

    @staticmethod
    def backward(ctx, dy):
        normal, weight, scale = ctx.saved_tensors
        db = _sum(dy)
        dw = _sum(dy * normal)
        mean_dy, mean_dy_normal = ctx.all_reduce(torch.stack([db, dw])) / ctx.count
        if weight is not None:
            scale = scale * weight
        centred = dy - _along(mean_dy, dy) - normal * _along(mean_dy_normal, dy)
        dx = (_along(scale, dy) * centred).to(dy.dtype)
        if weight is None:
            return dx, *[None] * 7
        return dx, dw.to(weight.dtype), db.to(weight.dtype), *[None] * 5


def _moments(x: torch.Tensor, all_reduce: AllReduce) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Mean[C] and variance[C] of x over all ranks, float64, and how many values a channel has."""
    x = x.detach().double()  # a difference of squares: float32 would lose it where means are large
    count = x.new_full((x.shape[1],), x.numel() / x.shape[1])
    count, total, squares = all_reduce(torch.stack([count, _sum(x), _sum(x * x)]))
    if count[0] <= 1:
        raise ValueError(
            "SynchronisedBatchNorm: all ranks together have one value for each channel, and that "
            "has no variance. Take a larger batch."
        )
    mean = total / count
    variance = (squares / count - mean * mean).clamp(min=0)
    return mean, variance, float(count[0])


def synchronised(module: nn.Module, all_reduce: AllReduce = by_the_backend) -> nn.Module:
    """The module with every BatchNorm in it replaced by a synchronised one with its weights."""
    if isinstance(module, _BatchNorm):
        result = SynchronisedBatchNorm(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            all_reduce=all_reduce,
        )
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            setattr(result, name, tensor)
        return result.train(module.training)
    for name, child in module.named_children():
        setattr(module, name, synchronised(child, all_reduce))
    return module


def _sum(x: torch.Tensor) -> torch.Tensor:
    """Over all axes of x[N, C, ...] but the channels': [C], in float64."""
    return x.transpose(0, 1).flatten(1).sum(1, dtype=torch.float64)


def _along(numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """numbers[C], so that they broadcast along x[N, C, ...]."""
    return numbers.view(-1, *[1] * (x.dim() - 2))
