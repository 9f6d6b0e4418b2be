"""The lesson's experiments: sums in short formats, gradients in float16 or one step late."""

from collections.abc import Callable, Mapping, Sequence
from timeit import timeit

import numpy as np

from labkit.figures.style import canvas, show
from labkit.provenance import Quantity, counted, measured

LEAST_FULL = 2.0**-14  # below it, a float16 has fewer digits
COPIES = 50  # that are timed together


def sums_of(size: float, steps: int) -> dict[str, list[float]]:
    """The weight after each of `steps` additions of `size` to 0, in three formats."""
    import torch

    runs: dict[str, list[float]] = {}
    for name in ("float32", "float16", "bfloat16"):
        dtype = getattr(torch, name)
        weight = torch.zeros((), dtype=dtype)
        step = torch.tensor(size, dtype=dtype)
        runs[name] = []
        for _ in range(steps):
            weight = weight + step
            runs[name].append(weight.item())
    return runs


def draw_sums(runs: Mapping[str, Sequence[float]]) -> None:
    """A line for each format, with its end in the legend."""
    figure, axes = canvas(7.5, 3)
    said = []
    for name, weights in runs.items():
        ends = f"{name}: ends at {weights[-1]:.3g}"
        axes.plot(range(1, len(weights) + 1), weights, label=ends)
        said.append(ends)
    axes.set(xlabel="steps", ylabel="weight")
    axes.legend(frameon=False)
    show(figure, f"A weight that should grow evenly. {'; '.join(said)}.")


def in_float16(gradient: np.ndarray, scale: float) -> list:
    """[scale, % that become 0, % with fewer digits, whether all are finite].

    Of a gradient [n] in float32 that is multiplied by `scale` and then stored as float16; shares
    are of those that are not 0, to a tenth of a percent.
    """
    stored = scaled(gradient, scale)
    there = stored[gradient != 0]
    size = np.abs(there.astype(np.float32))
    lost = size == 0
    short = (size > 0) & (size < LEAST_FULL)
    finite = np.isfinite(stored).all()
    return [scale, share_of(lost), share_of(short), bool(finite)]


def share_of(what: np.ndarray) -> Quantity:
    """How many of these are true, to a tenth of a percent."""
    percent = 100 * np.mean(what)
    return counted(round(percent, 1), "%", "comparing all gradients but those that are 0")


def scaled(gradient: np.ndarray, scale: float) -> np.ndarray:
    """gradient * scale, as float16."""
    with np.errstate(all="ignore"):
        return (gradient * np.float32(scale)).astype(np.float16)


def late_losses(
    net: Callable, images: object, labels: object, rate: float, wait_for: int, steps: int = 160
) -> list[float]:
    """The losses of training in batches of 16; from step `wait_for` on, each gradient is late.

    A late gradient is used one step after its own: the first step from there on uses none.
    `net` is changed; images [N,3,32,32] may lie on the host, labels [N] on the device of `net`.
    """
    import torch

    losses = []
    waiting = []
    optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    rows = torch.arange(steps * 16) % len(images)
    for number, batch in enumerate(rows.split(16)):
        x = images[batch].to(labels.device)
        loss = torch.nn.functional.cross_entropy(net(x), labels[batch])
        losses.append(loss.item())
        waiting.append(torch.autograd.grad(loss, [*net.parameters()]))
        if number == wait_for:
            continue  # its gradient waits for the next step
        for weight, gradient in zip(net.parameters(), waiting.pop(0), strict=True):
            weight.grad = gradient
        optimiser.step()
    return losses


def copy_time(images: object, where: str) -> Quantity:
    """How long a GPU takes to fetch `images` by itself from pinned memory, measured on it."""
    import torch

    pinned = images.pin_memory()

    def fetch() -> None:
        pinned.to("cuda", non_blocking=True)
        torch.cuda.synchronize()

    with torch.cuda.stream(torch.cuda.Stream()):
        seconds = timeit(fetch, number=COPIES)
    return measured(seconds / COPIES, "s", where)
