"""What a training step costs: the memory it keeps, its time at the roofline, the bus to the GPU.

Lesson 01_gpu/6 uses all three. What is kept is counted; times are predicted, none is measured.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Self

import numpy as np
import torch
from torch.autograd.graph import saved_tensors_hooks

from labkit.costs import LayerCost
from labkit.hardware import Machine
from labkit.provenance import Quantity, predicted

PCIE = {"t4": 8e9, "h200": 32e9}  # transfers/s of a lane: PCIe 3.0 and 5.0, 16 lanes each


class Kept(saved_tensors_hooks):
    """Within it, `bytes[layer]` counts what a forward pass keeps for its backward pass.

    Each piece of memory counts once, for the layer that `layer` named when it was first kept; the
    weights of `net` do not count, since they are there in any case.
    """

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__(self._keep, lambda tensor: tensor)
        self.layer, self.bytes = "", Counter()
        self._seen = {p.untyped_storage().data_ptr(): p for p in net.parameters()}

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _keep(self, tensor: torch.Tensor) -> torch.Tensor:
        memory = tensor.untyped_storage().data_ptr()
        if memory not in self._seen:
            self._seen[memory] = tensor  # held, so that its address is not used again
            self.bytes[self.layer] += tensor.nbytes
        return tensor


class Offload:
    """A forward pass of `net` whose kept tensors go to the host, and come back when needed.

    `moved` counts the bytes, there and back. What two layers keep is sent twice, and weights are
    sent too: PyTorch's own torch.autograd.graph.save_on_cpu does the same.
    """

    def __init__(self, net: torch.nn.Module, device: str) -> None:
        self.net, self.device, self.moved = net, device, 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        with saved_tensors_hooks(partial(self._move, "cpu"), partial(self._move, self.device)):
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

    All in float32; with `low`, such as "fp16", all but the update in this format, half the bytes.
    `only`: the names of the operations that count.
    """
    seconds = 0.0
    for o in (o for cost in costs for o in cost.operations if o.name in only):
        in_low = low is not None and o.name != "update"
        peak = float(machine.rate(low if in_low else "fp32"))
        moved = (o.bytes_read + o.bytes_written) / (2 if in_low else 1)
        seconds += max(o.flops / peak, moved / float(machine.bandwidth))
    return predicted(seconds, "s", f"the roofline of {machine.name}")


def bus(machine: Machine) -> Quantity:
    """Bytes per second between host and GPU, each way. KeyError for a machine without a PCIe bus.

    The T4's and the H200's data sheets name PCIe 3.0 and 5.0: 128 of 130 transfers carry data.
    """
    lanes, transfers = 16, PCIE[machine.key]
    formula = f"{lanes} lanes x {transfers / 1e9:.0f} GT/s x 128 / 130"
    return predicted(lanes * transfers / 8 * 128 / 130, "B/s", formula)
