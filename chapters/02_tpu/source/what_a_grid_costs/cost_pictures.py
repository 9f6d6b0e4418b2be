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
    _line(axes, one, f"one weight register: {one.cycles} cycles", "-", BLUE)
    _line(axes, two, f"two: {two.cycles} cycles", "--", ORANGE)
    most = one.rows * one.cols
    axes.set(xlabel="cycle", ylabel="cells at work (counted)", ylim=(0, 1.07 * most))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    what = f"one weight register {one.cycles} cycles, {one.tiles} hills"
    figures.show(figure, f"Cells at work in each cycle: {what}; two {two.cycles}, one plateau.")


def _line(axes: Axes, run: Run, label: str, dashes: str, colour: str) -> None:
    """The occupancy of a run, whose first `rows` cycles load the first tile."""
    cycles = np.arange(run.cycles) - run.rows
    axes.plot(cycles, run.occupancy, dashes, color=colour, label=label)
