"""Layers whose backward takes as long as you say: emulated compute, on any machine.

    net = emulated_net(layers=8, bytes=1 << 20, seconds=0.01)
    net(torch.zeros(1)).sum().backward()        # 8 x 10 ms, last layer first

Two cores cannot show four busy ranks: they would wait for each other's arithmetic. A layer here
sleeps instead, and leaves the cores to what is looked at, the communication. Lesson
overlap_and_buckets.
"""

import time

import torch
from torch import nn

FLOAT = 4  # bytes


class EmulatedLayer(nn.Module):
    """y = x + sum(w), with as many bytes of weights and seconds of backward as are asked for."""

    def __init__(self, bytes: int, seconds: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(bytes // FLOAT))
        self.seconds = seconds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x[1] -> y[1], at once: only the backward takes its time."""
        return _Slow.apply(x, self.weight, self.seconds)


class _Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, seconds):
        ctx.shape = weight.shape
        ctx.seconds = seconds
        return x + weight.sum()

    @staticmethod
    def backward(ctx, dy):
        time.sleep(ctx.seconds)
        return dy, dy.sum().expand(ctx.shape).clone(), None


def emulated_net(layers: int, bytes: int, seconds: float) -> nn.Sequential:
    """So many layers, each with `bytes` of float32 weights and `seconds` of backward."""
    return nn.Sequential(*[EmulatedLayer(bytes, seconds) for _ in range(layers)])
