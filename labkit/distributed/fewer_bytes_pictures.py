"""Pictures of lesson fewer_bytes: losses step by step, and what larger batches come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.distributed.large_batches import SEEDS, select
from labkit.distributed.small_training import RULES
from labkit.figures import canvas, show
from labkit.figures.style import BLUE, INK, ORANGE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.distributed.large_batches import LoggedRun

LINES = ((BLUE, "-"), (ORANGE, "--"), (INK, ":"), (QUIET, "-."))
# Of each rule: colour, mark, and how far beside its batch it is drawn, so that none covers another.
MARKS = {
    "unscaled": (QUIET, "s", 0.85),
    "linear": (BLUE, "o", 1.0),
    "linear with warm-up": (ORANGE, "^", 1 / 0.85),
}
GOAL = 1.5  # a loss that a useful training reaches
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
    show(figure, f"Training loss over {steps} steps, a line for each of: {', '.join(losses)}.")


def batches_picture(runs: Sequence[LoggedRun]) -> None:
    """Loss at the end, and bytes for each photograph, against the batch; a mark for each seed."""
    figure, (left, right) = canvas(7.5, 3.2, 1, 2, width_ratios=[3, 2])
    said = []
    for rule in RULES:
        colour, mark, aside = MARKS[rule]
        for seed in SEEDS:
            chosen = [run for run in select(runs, rule, seed) if not run.diverged]
            places, losses = [aside * run.batch for run in chosen], [run.loss for run in chosen]
            left.plot(places, losses, mark, color=colour, label=rule if seed == SEEDS[0] else None)
        said.append(f"{rule} {', '.join(f'{loss:.2f}' for loss in losses)}")
    left.set_ylabel("loss after 20 epochs")
    left.axhline(GOAL, color=QUIET, linewidth=0.8, zorder=0)
    left.legend(fontsize=8.5, loc="upper left", frameon=False)
    chosen = select(runs, RULES[0], SEEDS[0])
    batches = [run.batch for run in chosen]
    right.plot(batches, [run.bytes_per_sample for run in chosen], "o-", color=BLUE)
    right.set_yscale("log")
    right.set_ylabel("bytes for each photograph, counted")
    for axes in (left, right):
        _batch_axis(axes, batches)
    sizes = ", ".join(f"{batch:,}" for batch in batches)
    show(
        figure,
        f"Against batches of {sizes}: the loss (second seed) {'; '.join(said)}. The bytes for each "
        f"photograph fall from {chosen[0].bytes_per_sample:,.0f} to "
        f"{chosen[-1].bytes_per_sample:,.0f}.",
    )


def _batch_axis(axes: Axes, batches: Sequence[int]) -> None:
    """A logarithmic axis with a tick at each batch."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches, [str(batch) for batch in batches], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("photographs in a batch")
