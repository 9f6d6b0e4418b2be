"""The picture of lesson fewer_bytes: losses, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.figures import canvas, show
from labkit.figures.shapes import LINES

SPAN = 20  # steps whose mean is drawn: single batches jump


def losses_picture(losses: Mapping[str, Sequence[float]]) -> None:
    """A line for each training: its loss[steps], as the mean over 20 steps, by its name.

    Raises ValueError for more trainings than there are kinds of lines, or for one that is shorter
    than 20 steps.
    """
    import numpy as np

    if len(losses) > len(LINES) or any(len(one) < SPAN for one in losses.values()):
        raise ValueError(
            f"losses_picture draws up to {len(LINES)} trainings of {SPAN} steps or more."
        )
    figure, axes = canvas(7.5, 3.0)
    for (name, values), (colour, style) in zip(losses.items(), LINES, strict=False):
        means = np.convolve(values, np.ones(SPAN) / SPAN, mode="valid")
        steps = np.arange(SPAN, len(values) + 1)
        axes.plot(steps, means, color=colour, linestyle=style, label=name)
    axes.set_xlabel("step")
    axes.set_ylabel(f"loss, mean of {SPAN} steps")
    axes.legend(frameon=False)
    steps = max(len(one) for one in losses.values())
    show(
        figure,
        f"Training loss over {steps} steps, a line for each of: {', '.join(losses)}.",
    )
