"""The ConvNet in plain PyTorch, the photographs as tensors, and one step of its training.

(Lesson a_training_step_on_the_gpu shows the step, lesson training goes on with it.)
"""

from collections import OrderedDict
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from labkit import convnet
from labkit.datasets import cifar10


def step(net: nn.Module, optimiser: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor):
    """One step of training on photographs x [N, 3, 32, 32] with labels y [N]; the loss."""
    loss = cross_entropy(net(x), y)  # forward
    loss.backward()  # gradients
    optimiser.step()  # update
    optimiser.zero_grad()
    return loss.item()  # here the host waits for the GPU


def network(device: str = "cpu") -> nn.Sequential:
    """x [N, 3, 32, 32] -> logits [N, 10], with the same fresh weights at each call."""
    layers = {
        "conv1": nn.Conv2d(3, 32, 3, padding=1),
        "relu1": nn.ReLU(),
        "pool1": nn.MaxPool2d(2),
        "conv2": nn.Conv2d(32, 64, 3, padding=1),
        "relu2": nn.ReLU(),
        "pool2": nn.MaxPool2d(2),
        "flat": nn.Flatten(),
        "fc1": nn.Linear(4096, 128),
        "relu3": nn.ReLU(),
        "fc2": nn.Linear(128, 10),
    }
    net = nn.Sequential(OrderedDict(layers))
    fresh = {name: torch.tensor(weight) for name, weight in convnet.init(seed=0).items()}
    net.load_state_dict(fresh)
    return net.to(device)


class Photographs(NamedTuple):
    """Photographs [N, 3, 32, 32], normalised, in the host's memory; their labels [N]."""

    images: torch.Tensor
    labels: torch.Tensor  # on the device


def photographs(device: str) -> tuple[Photographs, Photographs]:
    """The sample's 2,000 photographs for training, and its 500 for the test."""
    sets = []
    for part in (cifar10("sample").train, cifar10("sample").test):
        images = torch.tensor(convnet.normalise(part.images))
        sets.append(Photographs(images, torch.tensor(part.labels).to(device)))
    return sets[0], sets[1]
