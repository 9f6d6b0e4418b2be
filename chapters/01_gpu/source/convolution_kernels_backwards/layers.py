"""Launches of the lesson's kernels on PyTorch's tensors, on the device that runs kernels.

Letters are those of `labkit.reference`: x[N,C,H,W], w[K,C,R,S], y[N,K,P,Q]; `geometry` is stride
and padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from labkit.gpu.kernels.direct_convolution import output_shape, plan_conv2d_forward
from labkit.gpu.training.tensors import launch

if TYPE_CHECKING:
    import torch

THREADS = 128  # of a block


def forward(
    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """y[N,K,P,Q], by the course's kernel.
    (Lesson convolution_kernels_backwards.)
    """
    shape = output_shape(x.shape, w.shape, stride, padding)
    y = x.new_empty(shape)
    plan = plan_conv2d_forward(x.shape, w.shape, stride, padding)
    tensors = [tensor.contiguous() for tensor in (x, w, b)]
    return launch(plan, *tensors, stride, padding, y)


def pixel_gradient(
    kernel: Callable, dy: torch.Tensor, w: torch.Tensor, geometry: tuple, shape: Sequence[int]
) -> torch.Tensor:
    """dx of this shape, by kernel(dy, w, stride, padding, dx) with a thread for each pixel.
    (Lesson convolution_kernels_backwards.)
    """
    dx = dy.new_empty(shape)
    blocks = ceil(dx.numel() / THREADS)
    plan = kernel, blocks, THREADS
    return launch(plan, dy.contiguous(), w.contiguous(), *geometry, dx)


def weight_gradient(
    kernel: Callable, dy: torch.Tensor, x: torch.Tensor, geometry: tuple, shape: Sequence[int]
) -> torch.Tensor:
    """dw of this shape, by kernel(dy, x, stride, padding, dw) with a block for each weight.
    (Lesson convolution_kernels_backwards.)
    """
    dw = dy.new_empty(shape)
    plan = kernel, dw.numel(), THREADS
    return launch(plan, dy.contiguous(), x.contiguous(), *geometry, dw)
