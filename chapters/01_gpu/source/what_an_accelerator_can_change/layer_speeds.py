"""How fast PyTorch runs layers of the network on this machine, forwards and backwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from timeit import timeit

from labkit.costs import LayerCost
from labkit.hardware import Machine
from labkit.provenance import Quantity, measured

BATCH = 32
RUNS = 20  # the fastest of so many counts


def measure_layers(costs: Mapping[str, LayerCost]) -> dict[str, Quantity]:
    """FLOP/s of conv1, relu1, conv2 and fc1 with 32 images: their FLOP in `costs` over the time."""
    import torch

    layers = {
        "conv1": (torch.nn.Conv2d(3, 32, 3, padding=1), (3, 32, 32)),
        "relu1": (torch.nn.ReLU(), (32, 32, 32)),
        "conv2": (torch.nn.Conv2d(32, 64, 3, padding=1), (32, 16, 16)),
        "fc1": (torch.nn.Linear(4096, 128), (4096,)),
    }
    rates = {}
    for name, (layer, shape) in layers.items():
        x = torch.randn(BATCH, *shape, requires_grad=True)
        wanted = list(layer.parameters())
        if name != "conv1":  # the photograph needs no dx
            wanted.append(x)
        seconds = _fastest(layer, x, wanted)
        rates[name] = measured(float(costs[name].flops) / seconds, "FLOP/s")
    return rates


def highest_roof(
    before: Machine, after: Machine, rates: Mapping[str, Quantity]
) -> tuple[Machine, str]:
    """This machine with the higher of two measured peaks and bandwidths, and what reached the peak.

    A layer of `rates` (FLOP/s) that is faster than both peaks shows that neither was the peak:
    then its rate is.
    """
    peak = before.rate()
    bandwidth = before.bandwidth
    reached_by = _work(before)
    if float(after.rate()) > float(peak):
        peak = after.rate()
        reached_by = _work(after)
    if float(after.bandwidth) > float(bandwidth):
        bandwidth = after.bandwidth
    for name, rate in rates.items():
        if float(rate) > float(peak):
            peak = rate
            reached_by = f"layer, {name}"
    machine = replace(before, peak={"fp32": peak}, bandwidth=bandwidth)
    return machine, reached_by


def _work(machine: Machine) -> str:
    """What reached its peak: the first of its notes."""
    first, _, _ = machine.notes.partition(";")
    return first


def _fastest(layer, x, wanted: list) -> float:
    """Seconds of the fastest step: y, and from dy the gradients that are `wanted`."""
    import torch

    dy = torch.randn_like(layer(x))

    def step() -> tuple:
        return torch.autograd.grad(layer(x), wanted, dy)

    return min(timeit(step, number=1) for _ in range(RUNS))
