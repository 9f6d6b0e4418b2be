"""Where the time of a training step goes: what PyTorch's profiler recorded, by part and by kind.

Beside each kind's share of the time stand its shares of the bytes and of the arithmetic, as the
network's table of costs has them: as if no cache kept anything from one operation to the next.
"""

import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from labkit import convnet

KINDS = {"convolution": "conv", "pool": "pool", "ReLU": "relu", "linear": "linear|addmm|fc"}
PARTS = {"autog": "backward", "Optim": "update"}  # by how an operation's name begins


class Recorded(NamedTuple):
    """The operations of one step."""

    parts: dict[str, list[tuple[str, float, float]]]  # "forward" -> (kind, start, end) in seconds
    times: Counter[str]  # by kind; on a GPU the time of its kernels


def record(device: str, step: Callable[[], Any]) -> Recorded:
    """What `step` does on `device`, recorded by PyTorch's profiler."""
    os.environ["KINETO_LOG_LEVEL"] = "99"  # the profiler shall not talk
    from torch.profiler import profile

    with profile() as recorded:
        step()
    parts: dict[str, list] = {}
    times: Counter[str] = Counter()
    for event in recorded.events():
        if event.cpu_parent is not None or event.device_type.name != "CPU":
            continue  # inside of another operation, or a kernel that one has launched
        kind, span = kind_of(event.name), event.time_range
        part = PARTS.get(event.name[:5], "forward")
        parts.setdefault(part, []).append((kind, span.start / 1e6, span.end / 1e6))
        times[kind] += span.elapsed_us() if device == "cpu" else event.device_time_total
    return Recorded(parts, times)


def kind_of(name: str) -> str:
    """The kind of an operation or layer, by its name; "other" where none fits."""
    for kind, words in KINDS.items():
        if re.search(words, name, re.IGNORECASE):
            return kind
    return "other"


def work(batch: int) -> tuple[Counter[str], Counter[str]]:
    """Bytes, and floating-point operations, of one step of the ConvNet, by kind of layer."""
    moved: Counter[str] = Counter()
    flops: Counter[str] = Counter()
    for cost in convnet.layer_costs(batch):
        moved[kind_of(cost.name)] += float(cost.bytes)
        flops[kind_of(cost.name)] += float(cost.flops)
    return moved, flops


def shares(times: Counter[str], batch: int) -> list[list]:
    """A row for each kind: its shares of time, bytes and arithmetic, in percent."""
    moved, flops = work(batch)
    return [
        [kind, *(round(100 * part[kind] / part.total(), 1) for part in (times, moved, flops))]
        for kind in KINDS
    ]
