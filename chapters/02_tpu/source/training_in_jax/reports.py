"""The table in which programs that trained the same network stand beside each other."""

from collections.abc import Mapping, Sequence

import numpy as np

from labkit import figures


def losses(programs: Mapping[str, Sequence[float]]) -> float:
    """Shows the losses of each program, step by step; returns their largest relative gap.

    The gap of a step is its largest loss over its smallest, less 1.
    """
    steps = list(zip(*programs.values(), strict=True))
    rows = []
    gaps = []
    for number, step in enumerate(steps):
        shown = [f"{loss:.3f}" for loss in step]
        rows.append([number, *shown])
        gaps.append(np.max(step) / np.min(step) - 1)
    note = "The mean loss of a batch, before the step is made."
    figures.table(["step", *programs], rows, note)
    return float(max(gaps))
