"""Trials of a convolution's kernels: a small layer, nudged inputs, and a short training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from labkit import convnet, reference
from labkit.datasets import cifar10
from labkit.gpu.training.tensors import kernel_device

SHAPES = [(2, 3, 7, 6), (4, 3, 3, 3), (4,)]  # of x, w and b
IMAGES = 16
BATCH = 8
STRIDE = 2
PADDING = 1
RATE = 0.1
MOMENTUM = 0.9


def small_layer() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dy[1,8,6,6] and w[8,2,3,3], float32, and dx[1,2,6,6] for them with stride 1 and padding 1.
    (Lesson convolution_kernels_backwards.)
    """
    random = np.random.default_rng(0)
    dy = random.standard_normal((1, 8, 6, 6), dtype=np.float32)
    w = random.standard_normal((8, 2, 3, 3), dtype=np.float32)
    dx, _, _ = reference.conv2d_backward(dy, np.zeros((1, 2, 6, 6)), w, 1, 1)
    return dy, w, dx


def nudge(convolution: Callable, stride: int, padding: int) -> reference.GradcheckResult:
    """Backward beside forward: each entry of x, w and b is moved by 1 up and down.

    A convolution is linear in each of its inputs, so these differences are its slopes.
    (Lesson convolution_kernels_backwards.)
    """
    import torch

    torch.manual_seed(0)
    device = kernel_device()

    def as_tensor(array: np.ndarray) -> torch.Tensor:
        single = torch.tensor(array, dtype=torch.float32)
        return single.to(device)

    def f(*nudged: np.ndarray) -> np.ndarray:
        tensors = [as_tensor(array) for array in nudged]
        y = convolution(*tensors, stride, padding)
        return y.cpu().numpy().astype(float)

    values = [torch.randn(shape).numpy() for shape in SHAPES]
    inputs = [as_tensor(value).requires_grad_() for value in values]
    y = convolution(*inputs, stride, padding)
    dy = torch.randn(y.shape)
    y.backward(dy.to(device))  # PyTorch calls backward
    gradients = [tensor.grad.cpu().numpy() for tensor in inputs]
    return reference.gradcheck(
        f,
        values,
        gradients,
        dy,
        eps=1,
        rtol=1e-3,
        atol=1e-3,
    )


def losses(convolution: Callable, rounds: int = 4) -> np.ndarray:
    """The loss [steps] of each step of a training: two convolutions with stride 2 and a linear
    layer, on 16 photographs in batches of 8, `rounds` times through.
    (Lesson convolution_kernels_backwards.)
    """
    import torch
    from torch import nn

    device = kernel_device()
    data = cifar10("sample").train
    pixels = convnet.normalise(data.images[:IMAGES])
    images = torch.from_numpy(pixels).to(device)
    labels = torch.from_numpy(data.labels[:IMAGES])
    labels = labels.to(device)
    batches = list(zip(images.split(BATCH), labels.split(BATCH), strict=True))
    torch.manual_seed(0)
    conv1 = nn.Conv2d(3, 8, 3).to(device)  # its weights alone are used
    conv2 = nn.Conv2d(8, 16, 3).to(device)
    linear = nn.Linear(1024, 10).to(device)
    parameters = []
    for layer in (conv1, conv2, linear):
        parameters += layer.parameters()
    optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM)
    found = []
    for _ in range(rounds):
        for x, truth in batches:
            first = convolution(x, conv1.weight, conv1.bias, STRIDE, PADDING)  # [8, 8, 16, 16]
            hidden = first.relu()
            second = convolution(hidden, conv2.weight, conv2.bias, STRIDE, PADDING)
            features = second.relu().flatten(1)  # [8, 1024]
            scores = linear(features)
            loss = nn.functional.cross_entropy(scores, truth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    return np.array(found)
