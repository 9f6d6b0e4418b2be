"""What a training step costs: the memory it keeps, its time at the roofline, the bus to the GPU.

Lessons a_training_step_on_the_gpu and training use it; the second draws losses. What is kept is
counted; times are predicted, none is measured.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np
import torch
from torch.autograd.graph import saved_tensors_hooks

from labkit.costs import LayerCost, Operation
from labkit.figures.style import canvas, show
from labkit.hardware import Machine
from labkit.provenance import Quantity, predicted

SHORT = ("fp16", "bf16")  # formats of 2 bytes
PCIE = {"t4": 8e9, "h100": 32e9, "h200": 32e9}  # transfers/s of a lane: PCIe 3.0, 5.0
LANES = 16  # of either


def sixteen_bits(device: str) -> torch.dtype:
    """The 16-bit format of the device's matrix units: bfloat16, but float16 on a GPU before sm_80.

    A small gradient is 0 in float16, so what trains in it needs torch.amp.GradScaler.
    """
    gpu = torch.device(device).type == "cuda"
    old = gpu and torch.cuda.get_device_capability(device) < (8, 0)
    return torch.float16 if old else torch.bfloat16


class Kept(saved_tensors_hooks):
    """Within it, `bytes[layer]` counts what a forward pass keeps for its backward pass.

    Each piece of memory counts once, for the layer that `layer` named when it was first kept; the
    weights of `net` do not count, since they are there in any case.
    """

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__(self._keep, lambda tensor: tensor)
        self.layer = ""
        self.bytes = Counter()
        self._seen = {_address(p): p for p in net.parameters()}

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _keep(self, tensor: torch.Tensor) -> torch.Tensor:
        memory = _address(tensor)
        if memory not in self._seen:
            self._seen[memory] = tensor  # held, so that its address is not used again
            self.bytes[self.layer] += tensor.nbytes
        return tensor


def kept_by_layer(
    net: torch.nn.Sequential, x: torch.Tensor, short: torch.dtype | None = None
) -> Counter[str]:
    """Bytes that the forward pass of `net` on x keeps for its backward pass, by layer.

    `short`: the format of 16 bits in which autocast computes. What two layers share counts for the
    first.
    """
    with Kept(net) as counter, torch.autocast(x.device.type, short, enabled=short is not None):
        for counter.layer, layer in net.named_children():
            x = layer(x)
    return counter.bytes


def _address(tensor: torch.Tensor) -> int:
    """Where the tensor's memory starts, whatever part of it the tensor shows."""
    return tensor.untyped_storage().data_ptr()


class Offload:
    """A forward pass of `net` whose kept tensors go to the host, and come back when needed.

    `moved` counts the bytes, there and back. What two layers keep is sent twice, and weights are
    sent too: PyTorch's own torch.autograd.graph.save_on_cpu does the same.
    """

    def __init__(self, net: torch.nn.Module, device: str) -> None:
        self.net = net
        self.device = device
        self.moved = 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """net(x); x and the result are on `device`."""
        there = partial(self._move, "cpu")
        back = partial(self._move, self.device)
        with saved_tensors_hooks(there, back):
            return self.net(x)

    def _move(self, to: str, tensor: torch.Tensor) -> torch.Tensor:
        self.moved += tensor.nbytes
        return tensor.to(to)


def gradient_and_kept(
    net: torch.nn.Module, forward: Callable, x: torch.Tensor, labels: torch.Tensor
) -> tuple[np.ndarray, int]:
    """Gradient of the mean loss of forward(x[n,...]) for all weights of `net`, as one vector [D];
    and how many bytes were kept for it."""
    with Kept(net) as counter:
        loss = torch.nn.functional.cross_entropy(forward(x), labels)
    gradients = torch.autograd.grad(loss, [*net.parameters()])
    return torch.cat([g.ravel() for g in gradients]).cpu().numpy(), counter.bytes.total()


def roof_time(
    machine: Machine,
    costs: Iterable[LayerCost],
    low: str | None = None,
    only: Collection[str] = ("forward", "dX", "dW", "update"),
) -> Quantity:
    """Seconds of a step's operations one after the other, each the longer of computing and moving.

    All in float32; with `low`, such as "fp16" or "tf32", all but the update at the rate of this
    format. In 16 bits half the bytes move; a TF32 number is stored as a float32.
    `only`: the names of the operations that count.
    """
    seconds = 0.0
    for cost in costs:
        for operation in cost.operations:
            if operation.name in only:
                seconds += _seconds(machine, operation, low)
    return predicted(seconds, "s", f"the roofline of {machine.name}")


def _seconds(machine: Machine, operation: Operation, low: str | None) -> float:
    """Of one operation: the longer of computing and moving."""
    kind = "fp32" if low is None or operation.name == "update" else low
    moved = operation.bytes_read + operation.bytes_written
    if kind in SHORT:
        moved /= 2
    computing = operation.flops / float(machine.rate(kind))
    return max(computing, moved / float(machine.bandwidth))


def with_peak(machine: Machine, kind: str, rate: Quantity) -> Machine:
    """The same machine as if this were its only peak rate, as at another clock."""
    return replace(machine, peak={kind: rate})


def bus(machine: Machine) -> Quantity:
    """Bytes per second between host and GPU, each way. KeyError for a machine without a PCIe bus.

    Data sheets name PCIe 3.0 for the T4, 5.0 for the others: 128 of 130 transfers carry data.
    """
    transfers = PCIE[machine.key]
    formula = f"{LANES} lanes x {transfers / 1e9:.0f} GT/s x 128 / 130"
    return predicted(LANES * transfers / 8 * 128 / 130, "B/s", formula)


def curves(runs: Mapping[tuple[float, str], Sequence[float]], window: int = 20) -> None:
    """Draw the losses of runs {(rate, name): losses}, a panel for each rate.

    A point is the mean of `window` losses in a row; the legend gives the mean of the last 40. The
    dotted line is the loss of guessing among ten classes, ln 10.
    """
    rates = list(dict.fromkeys(rate for rate, _ in runs))
    figure, panels = canvas(4.5 * len(rates), 3.2, 1, len(rates))
    panel = dict(zip(rates, np.atleast_1d(panels), strict=True))
    said = []
    for (rate, name), losses in runs.items():
        last = f"{name}: {np.mean(losses[-40:]):.2f}"
        smooth = np.convolve(losses, np.ones(window) / window, "valid")
        panel[rate].plot(smooth, label=last)
        said.append(f"rate {rate}, {last}")
    for rate, axes in panel.items():
        axes.axhline(np.log(10), color="grey", linestyle=":")
        axes.text(len(smooth), np.log(10), "guessing, ln 10", ha="right", va="bottom", color="grey")
        axes.set(title=f"rate {rate}", xlabel="step", ylabel=f"mean of {window} losses")
        axes.set(ylim=(1.4, 3))
        axes.legend(title="the last 40 on average", frameon=False)
    show(figure, f"Losses over the steps. The last 40 on average: {'; '.join(said)}.")
