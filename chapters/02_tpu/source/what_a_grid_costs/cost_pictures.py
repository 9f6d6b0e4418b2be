"""The lesson's picture of work over time: how many cells compute in each cycle of two runs."""

import numpy as np

from labkit import figures
from labkit.figures.style import BLUE, ORANGE, Axes
from labkit.tpu.matrix_unit.systolic import Run


def cells_at_work(one: Run, two: Run) -> None:
    """Cells at work in each cycle, with one weight register and with two; loading comes before 0.

    Both are weight-stationary runs of one product, on the same array.
    """
    figure, axes = figures.canvas(7.5, 2.6)
    label = f"one weight register: {one.cycles} cycles"
    _line(axes, one, color=BLUE, label=label)
    label = f"two: {two.cycles} cycles"
    _line(axes, two, linestyle="--", color=ORANGE, label=label)
    most = one.rows * one.cols
    axes.set_xlabel("cycle")
    axes.set_ylabel("cells at work (counted)")
    axes.set_ylim(0, 1.07 * most)
    beside = (1.01, 0.5)
    axes.legend(loc="center left", bbox_to_anchor=beside, frameon=False)
    hills = f"one weight register {one.cycles} cycles, {one.tiles} hills"
    plateau = f"two {two.cycles}, one plateau"
    figures.show(figure, f"Cells at work in each cycle: {hills}; {plateau}.")


def _line(axes: Axes, run: Run, **look: object) -> None:
    """The occupancy of a run, whose first `rows` cycles load the first tile."""
    before = run.rows
    cycles = np.arange(run.cycles) - before
    axes.plot(cycles, run.occupancy, **look)
