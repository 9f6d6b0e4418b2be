"""The sides of a timed task: our kernels and PyTorch's functions, and what their times say."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from labkit.gpu.kernels import Plan
from labkit.gpu.report.timing import Host, Prepare, Tensors, Timing
from labkit.gpu.training.tensors import launch
from labkit.provenance import Quantity, measured

Shape = tuple[int, ...]


class Bench(NamedTuple):
    """Where to run; `dry`: small enough for the SIMT machine."""

    device: Host
    dry: bool

    def size(self, full: int, small: int) -> int:
        """The size of a task: the small one in a dry run."""
        return small if self.dry else full

    def measured(self, value: float, unit: str) -> Quantity:
        """A number read off this device."""
        return measured(value, unit, self.device.name)


def normal(*shapes: Shape, dtype: torch.dtype = torch.float32) -> Callable:
    """Inputs from the normal distribution."""
    return lambda g: tuple(
        torch.randn(shape, generator=g, device=g.device).to(dtype) for shape in shapes
    )


def steps(*shapes: Shape) -> Callable:
    """The same in steps of 1/256: x + b is exact, so that no rounding decides which is larger."""
    return lambda g: tuple((256 * t).round() / 256 for t in normal(*shapes)(g))


def labels(N: int, g: torch.Generator) -> torch.Tensor:
    """N random classes of ten."""
    return torch.randint(0, 10, (N,), generator=g, device=g.device)


def ours(
    plan: Plan | tuple[Any, Any, Any],
    *numbers: Any,
    view: Callable = lambda t: t,
    zero: bool = False,
) -> Prepare:
    """The side that launches the plan's kernel on inputs, outputs and numbers.

    `zero`: the kernel adds to its output, so that setting it to 0 is part of the work.
    """

    def prepare(inputs: Tensors, outputs: Tensors) -> Callable[[], None]:
        tensors = [*map(view, (*inputs, *outputs))]

        def run() -> None:
            for out in outputs if zero else ():
                out.zero_()
            launch(plan, *tensors, *numbers)

        return run

    return prepare


def theirs(function: Callable, out: bool = False) -> Prepare:
    """The side that calls PyTorch; with `out`, it writes into the poisoned output."""
    if out:
        return lambda inputs, outputs: lambda: function(*inputs, out=outputs[0])
    return lambda inputs, outputs: lambda: function(*inputs)


def both_ways(layer: Callable) -> Prepare:
    """The side that runs a layer and its backward; inputs end in the gradient of the output."""

    def prepare(inputs: Tensors, outputs: Tensors) -> Callable[[], Tensors]:
        *leaves, dy = (t.detach() for t in inputs)
        floats = [t.requires_grad_() for t in leaves if t.is_floating_point()]

        def run() -> Tensors:
            y = layer(*leaves)
            return y.detach(), *torch.autograd.grad(y, floats, dy)

        return run

    return prepare


def sides(
    bench: Bench, times: dict[str, Timing], work: float = 0, unit: str = "FLOP/s"
) -> dict[str, Quantity]:
    """The seconds of each side; with `work`, its rate as well."""
    found = {}
    for name, timing in times.items():
        found[name] = bench.measured(timing.seconds, "s")
        if work:
            found[f"{name}, rate"] = bench.measured(work / timing.seconds, unit)
    return found


def ratio(times: dict[str, Timing], side: str, own: str = "ours") -> float:
    """How many times as fast as `side` our kernel is."""
    return times[side].seconds / times[own].seconds
