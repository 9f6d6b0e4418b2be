"""The ConvNet's layers and training steps in our kernels, beside PyTorch's."""

from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from labkit import convnet
from labkit.gpu.report.goals import GOALS
from labkit.gpu.report.rows import Work
from labkit.gpu.report.sections.speeds import Found, eager, timed
from labkit.gpu.report.tasks import Bench, both_ways, labels, normal, ratio, sides, steps
from labkit.gpu.report.timing import Prepare, Task, Tensors, measure
from labkit.gpu.step_cost import sixteen_bits
from labkit.gpu.training import autograd
from labkit.torch_cache import keep_compiled_by_torch


def work(bench: Bench, earlier: dict) -> Work:
    """A row for each layer, and for each way to train."""
    for name, goal in GOALS.items():
        if goal.kind in KINDS:
            yield name, partial(timed, bench, goal, KINDS[goal.kind])


def layer_kinds(N: int, H: int) -> dict[str, tuple]:
    """row: our function and PyTorch's, shapes of the inputs, shape of the output; images H x H."""
    half = H // 2
    D = 64 * (H // 4) ** 2  # 4096 in the ConvNet
    conv = partial(autograd.conv2d, padding=1), partial(F.conv2d, padding=1)
    linear = autograd.linear, F.linear
    return {
        "conv1": (conv, ((N, 3, H, H), (32, 3, 3, 3), (32,)), (N, 32, H, H)),
        "conv2": (conv, ((N, 32, half, half), (64, 32, 3, 3), (64,)), (N, 64, half, half)),
        "bias + ReLU + pool": (
            (autograd.bias_relu_pool, eager),
            ((N, 32, H, H), (32,)),
            (N, 32, half, half),
        ),
        "fc1": (linear, ((N, D), (128, D), (128,)), (N, 128)),
        "ReLU": ((autograd.relu, F.relu), ((N, 128),), (N, 128)),
        "fc2": (linear, ((N, 128), (10, 128), (10,)), (N, 10)),
        "cross entropy": ((autograd.cross_entropy, F.cross_entropy), ((N, 10),), ()),
    }


def layer_task(row: str, N: int, H: int) -> Task:
    """A layer forward and backward, in our kernels and in PyTorch."""
    (our, their), shapes, out = layer_kinds(N, H)[row]

    def loss_inputs(g: torch.Generator) -> Tensors:
        (logits,) = steps((N, 10))(g)
        classes = labels(N, g)
        (dloss,) = steps(())(g)
        return logits, classes, dloss

    inputs = loss_inputs if row == "cross entropy" else steps(*shapes, out)
    both = {"ours": both_ways(our), "PyTorch": both_ways(their)}
    limits = dict.fromkeys(both, 1e-3)  # dw of conv1 is a sum of 262,144 terms
    return Task(
        row,
        inputs,
        (),
        both,
        lambda *i: both_ways(their)(i, ())(),
        limits,
    )


def layers(bench: Bench, row: str) -> Found:
    """A layer's forward and backward."""
    task = layer_task(row, bench.size(256, 2), bench.size(32, 4))
    times = measure(task, bench.device)
    return ratio(times, "PyTorch"), sides(bench, times)


def trainer(
    model: Any, library: tuple, on: str, low: torch.dtype | None = None, backend: str = ""
) -> Prepare:
    """The side that takes a training step, and returns its loss and gradients.

    The learning rate is 0: all the work of a step, but the weights stay, so that the gradients of
    every step can be checked. `low`: the format of autocast; in float16 the loss is scaled, by no
    more than keeps this network's gradients finite from the first step on.
    """
    loss, SGD = library
    update = SGD(model.parameters(), lr=0.0, momentum=0.9)
    scaler = torch.amp.GradScaler(
        on,
        init_scale=2.0**10,
        enabled=low is torch.float16,
    )
    if backend:
        keep_compiled_by_torch()
    forward = torch.compile(model, backend=backend) if backend else model

    def prepare(inputs: Tensors, outputs: Tensors) -> Any:
        def step() -> Tensors:
            update.zero_grad()
            with torch.autocast(on, low, enabled=low is not None):
                value = loss(forward(inputs[0]), inputs[1])
            scaler.scale(value).backward()
            scaler.step(update)  # divides the gradients again
            scaler.update()
            return value.detach(), *(p.grad for p in model.parameters())

        return step

    return prepare


def training(bench: Bench, row: str) -> Found:
    """A step of the whole network, with all that Python costs."""
    N = bench.size(256, 1)
    on = bench.device.torch_device
    weights = convnet.init(0)

    def model() -> torch.nn.Module:
        return convnet.torch_model(weights).to(on)

    def reference(x: torch.Tensor, y: torch.Tensor) -> Tensors:
        exact = model().double()
        loss = F.cross_entropy(exact(x), y)
        return loss.detach(), *torch.autograd.grad(loss, [*exact.parameters()])

    our = autograd.cross_entropy, autograd.SGD
    their = F.cross_entropy, torch.optim.SGD
    other = row.removeprefix("our kernels beside ")
    low = sixteen_bits(on)
    how = {
        "PyTorch": {},
        "16-bit autocast": {"low": low},
        "torch.compile": {"backend": "eager" if bench.dry else "inductor"},
    }
    both = {"ours": trainer(autograd.ConvNet(weights).to(on), our, on)}
    both[other] = trainer(model(), their, on, **how[other])

    def images(g: torch.Generator) -> Tensors:
        (x,) = normal((N, 3, 32, 32))(g)
        return x, labels(N, g)

    limits = dict.fromkeys(both, 0.1) | {"16-bit autocast": 2.0}  # near 0, ReLUs may differ
    task = Task(
        row,
        images,
        (),
        both,
        reference,
        limits,
        hide=False,
    )
    times = measure(task, bench.device)
    faster = ratio(times, other)
    if "16-bit" in other:
        kind = str(low).removeprefix("torch.")
        times = {
            "ours": times["ours"],
            f"autocast to {kind}": times[other],
        }
    return faster, sides(bench, times, N, "images/s")


KINDS = {"layers": layers, "training": training}
