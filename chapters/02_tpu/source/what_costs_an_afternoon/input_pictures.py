"""Host and device on a virtual clock, as a timeline. Lesson what_costs_an_afternoon."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labkit import figures

Times = Sequence[float]


def in_turn(prepare: Times, compute: Times) -> np.ndarray:
    """When each step begins if the host prepares its batch only after the step before, in ms."""
    prepare = np.asarray(prepare)
    both = prepare + np.asarray(compute)
    return np.concatenate([[0], np.cumsum(both)[:-1]]) + prepare


def timelines(prepare: Times, compute: Times, begins: Mapping[str, tuple[Times, int]]) -> None:
    """For each name two rows, host and device; a name has the begins of its steps [ms], and k.

    k = 0: the host begins a batch when the device has finished the step before.
    """
    rows = {}
    for name, (steps, k) in begins.items():
        host = []
        device = []
        ready = 0.0
        for i, (batch, step) in enumerate(zip(prepare, compute, strict=True)):
            start = max(ready, _room(steps, compute, i, k))
            ready = start + batch
            host.append(("prepare a batch", start / 1e3, ready / 1e3))
            device.append(("compute a step", steps[i] / 1e3, (steps[i] + step) / 1e3))
        rows[f"{name}: host"] = host
        rows[f"{name}: device"] = device
    figures.timeline(rows, "predicted on a virtual clock")


def _room(begins: Times, compute: Times, i: int, k: int) -> float:
    """When the host may begin batch i."""
    if k == 0 and i > 0:
        return begins[i - 1] + compute[i - 1]
    return begins[i - k] if 0 < k <= i else 0.0


def waiting(begins: Times, compute: Times) -> tuple[int, float]:
    """How many steps wait for their batch, and for how many ms altogether."""
    ends = np.concatenate([[0], np.asarray(begins) + np.asarray(compute)])[:-1]
    gaps = np.asarray(begins) - ends
    return int(np.sum(gaps > 1e-9)), float(gaps.sum())


def batches(count: int) -> Iterator[np.ndarray]:
    """That many small batches; says when it prepares each."""
    for i in range(count):
        print("prepare", i, end="; ")
        yield np.full(8, i, np.float32)
