"""The table in which programs that trained the same network stand beside each other."""

from collections.abc import Mapping, Sequence

import numpy as np

from labkit import figures


def losses(programs: Mapping[str, Sequence[float]]) -> float:
    """Shows the losses of each program, step by step; returns their largest relative gap.

    The gap of a step is its largest loss over its smallest, less 1.
    """
    steps = list(zip(*programs.values(), strict=True))
    rows = [[number, *(f"{loss:.4f}" for loss in step)] for number, step in enumerate(steps)]
    figures.table(["step", *programs], rows, "The mean loss of a batch, before the step is made.")
    return float(max(np.max(step) / np.min(step) - 1 for step in steps))
