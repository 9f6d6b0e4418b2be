"""Pictures of lesson unlike_machines: who waits, how a split recovers, and who is worth having.

split_picture      a row for each rank of each run: it computes, waits, and the gradients travel
waiting_picture    the share of each step for which the machines wait, a line for each run
newcomer_picture   seconds of a step against the speed of one machine more

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures import canvas, show
from labkit.figures.shapes import bar, key, name_rows, shared_key, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes
from labkit_lessons.distributed.unlike_machines.splits import (
    Group,
    Machine,
    balanced_step,
    equal_split,
    slowest_that_helps,
)
from labkit_lessons.distributed.unlike_machines.training import BYTES

if TYPE_CHECKING:
    from labkit_lessons.distributed.unlike_machines.training import Run

MS = 1e3  # in a second
ROOM = 0.02  # of the axis: a narrower box has no room for its number
# Of each run: colour, line and its width, so that equal lines do not hide each other.
LINES = ((SKY, "-", 5.0), (ORANGE, "-", 3.0), (BLUE, "-", 1.6), (INK, ":", 1.6))


def split_picture(runs: Mapping[str, Run], steps: slice | None = None, word: str = "") -> None:
    """For each run a row for each rank, all on one axis of time; a box has its photographs.

    steps   which of each run's steps, such as slice(0, 2); by default all of them
    word    where the times come from: "measured", "counted on the emulated clock"

    Raises ValueError without any run.
    """
    if not runs:
        raise ValueError("split_picture: there is no run to draw.")
    chosen = {name: _Steps(run, steps or slice(None)) for name, run in runs.items()}
    length = max(one.seconds for one in chosen.values())
    ranks = [one.counts.shape[1] for one in chosen.values()]
    figure, axes = canvas(7.5, 0.9 + 0.24 * sum(ranks) + 0.22 * len(ranks))
    names = {}
    row = 0.0
    said = []
    for name, one in chosen.items():
        for rank in range(one.counts.shape[1]):
            _draw_rank(axes, row, one, rank, length)
            names[row] = f"{name}: rank {rank}" if rank == 0 else f"rank {rank}"
            row += 1
        said.append(f"{name}: {_alt_text(one)}")
        row += 0.8
    key(figure, 3, {"computes": BLUE, "waits": PALE, "all-reduce": ORANGE})
    name_rows(axes, names, fontsize=9)
    axes.set_ylim(row - 1.2, -0.7)
    axes.set_xlim(0, MS * length)
    axes.set_xlabel(f"ms, {word}; photographs in the boxes" if word else "ms")
    show(figure, f"Who computes, waits and sends when. {' '.join(said)}")


class _Steps:
    """Some steps of a run, in seconds since the first of them began."""

    def __init__(self, run: Run, steps: slice) -> None:
        zero = run.begin[steps].min()
        self.counts = run.counts[steps]
        self.begin = run.begin[steps] - zero
        self.computed = run.computed[steps] - zero
        self.end = run.end[steps] - zero
        self.idle = run.idle[steps]

    @property
    def seconds(self) -> float:
        return float(self.end.max())


def _draw_rank(axes: Axes, row: float, one: _Steps, rank: int, length: float) -> None:
    """All steps of one rank."""
    for step, counts in enumerate(one.counts):
        begin, computed = one.begin[step, rank], one.computed[step, rank]
        slowest, end = one.computed[step].max(), one.end[step, rank]
        spans = ((begin, computed, BLUE), (computed, slowest, PALE), (slowest, end, ORANGE))
        for start, stop, colour in spans:
            bar(axes, row, MS * start, MS * (stop - start), 0.84, colour)
        if computed - begin > ROOM * length:
            write(axes, MS * (begin + computed) / 2, row, f"{counts[rank]}", 8.5, color=CARD)


def _alt_text(one: _Steps) -> str:
    counts = " then ".join(", ".join(str(count) for count in step) for step in one.counts)
    waits = ", ".join(f"{MS * seconds:.0f}" for seconds in one.idle.sum(axis=0))
    return f"{counts} photographs, waiting {waits} ms, all of it {MS * one.seconds:.0f} ms."


def waiting_picture(runs: Mapping[str, Run], change: int | None = None, word: str = "") -> None:
    """The share of each step's compute for which the machines wait on average, a line for each run.

    change   the step in which a machine's speed changes: a thin line
    word     where the shares come from, as in `split_picture`

    Raises ValueError for more runs than there are kinds of lines.
    """
    if not 1 <= len(runs) <= len(LINES):
        raise ValueError(f"waiting_picture draws 1 to {len(LINES)} runs, not {len(runs)}.")
    figure, axes = canvas(7.5, 2.8)
    said = []
    for (name, run), (colour, style, width) in zip(runs.items(), LINES, strict=False):
        percent = 100 * run.waiting
        axes.plot(percent, style, color=colour, linewidth=width, label=name)
        said.append(f"{name}: {percent[0]:.0f} % at first, {percent[-1]:.0f} % at the end")
    if change is not None:
        axes.axvline(change, color=QUIET, linewidth=0.8, zorder=0)
    axes.set_ylim(0)
    axes.set_xlabel(f"step; {word}" if word else "step")
    axes.set_ylabel("waiting, % of the time\nuntil the slowest is done")
    axes.legend(frameon=False)
    show(figure, f"Waiting, step by step. {'; '.join(said)}.")


def newcomer_picture(
    group: Group, fixed: float, batches: Sequence[int], bytes: int = BYTES
) -> None:
    """A panel for each batch: seconds of a step against the speed of one machine more, predicted.

    fixed   its fixed seconds; its speed is what is varied, as a share of the fastest one's

    Lines for an equal split, a balanced one, and for the group without it; those with it begin at
    a tenth of the fastest one's speed. Raises ValueError without any batch.
    """
    if not batches:
        raise ValueError("newcomer_picture: there is no batch to draw.")
    figure, _ = canvas(7.5, 3.1, columns=len(batches))
    fastest = min(machine.per_photo for machine in group.machines)
    shares = np.linspace(0.1, 1, 91)
    said = []
    for axes, batch in zip(figure.axes, batches, strict=True):
        equal, balanced = [], []
        for share in shares:
            more = Machine(fastest / share, fixed)
            larger = Group([*group.machines, more], group.link)
            counts = equal_split([1.0] * len(larger), batch)
            equal.append(MS * larger.step_seconds(counts, bytes))
            balanced.append(MS * balanced_step(larger, batch, bytes))
        without = MS * balanced_step(group, batch, bytes)
        axes.plot(100 * shares, equal, ":", color=INK, label="with it, equal shares")
        axes.plot(100 * shares, balanced, color=BLUE, label="with it, balanced shares")
        axes.axhline(without, color=ORANGE, linestyle="--", label="without it")
        least = 100 * fastest * slowest_that_helps(group, fixed, batch, bytes)
        axes.plot([least], [without], "o", color=ORANGE, markersize=7)
        axes.set_title(f"batch {batch}")
        axes.set_xlim(10, 100)
        axes.set_ylim(0.75 * without, 1.35 * without)
        axes.set_xlabel("its speed, % of a fast one's")
        said.append(f"batch {batch}: it helps from {least:.0f} % on")
    figure.axes[0].set_ylabel("ms of a step, predicted")
    shared_key(figure, 3)
    show(
        figure,
        f"Time of a step over the speed of one machine more; {'; '.join(said)}.",
    )
