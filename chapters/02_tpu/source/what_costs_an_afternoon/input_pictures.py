"""Host and device on a virtual clock, as a timeline. Lesson what_costs_an_afternoon."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labkit import figures

Times = Sequence[float]


def in_turn(prepare: Times, compute: Times) -> np.ndarray:
    """When each step begins if the host prepares its batch only after the step before, in ms."""
    begins = []
    end = 0
    for batch, step in zip(prepare, compute, strict=True):
        begin = end + batch
        begins.append(begin)
        end = begin + step
    return np.array(begins)


def timelines(prepare: Times, compute: Times, begins: Mapping[str, tuple[Times, int]]) -> None:
    """For each name two rows, host and device; a name has the begins of its steps [ms], and k.

    k = 0: the host begins a batch when the device has finished the step before.
    """
    rows = {}
    for name, (steps, k) in begins.items():
        host = []
        device = []
        ready = 0.0
        for i in range(len(steps)):
            room = _room(steps, compute, i, k)
            start = max(ready, room)
            ready = start + prepare[i]
            end = steps[i] + compute[i]
            host.append(_span("prepare a batch", start, ready))
            device.append(_span("compute a step", steps[i], end))
        rows[f"{name}: host"] = host
        rows[f"{name}: device"] = device
    figures.timeline(rows, "predicted on a virtual clock")


def _span(kind: str, start: float, end: float) -> tuple[str, float, float]:
    """From ms to the seconds of a timeline."""
    return kind, start / 1e3, end / 1e3


def _room(begins: Times, compute: Times, i: int, k: int) -> float:
    """When the host may begin batch i."""
    if k == 0 and i > 0:
        return begins[i - 1] + compute[i - 1]
    if 0 < k <= i:
        return begins[i - k]
    return 0.0


def waiting(begins: Times, compute: Times) -> int:
    """How many steps wait for their batch, the first one included."""
    free = 0.0
    steps = 0
    for begin, step in zip(begins, compute, strict=True):
        if begin > free + 1e-9:
            steps += 1
        free = begin + step
    return steps


def batches(count: int) -> Iterator[np.ndarray]:
    """That many small batches; says when it prepares each."""
    for i in range(count):
        print("prepare", i, end="; ")
        yield np.full(8, i, np.float32)
