"""A picture of the cost model: how far each of its predictions is off what was published.

Lesson a_cost_model shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.distributed.costs.published_scaling import CLOSE
from labkit.figures import canvas, show
from labkit.figures.shapes import name_rows
from labkit.figures.style import BLUE, CARD, ORANGE, PALE, QUIET

if TYPE_CHECKING:
    from labkit.distributed.costs.published_scaling import PublishedResult


def published_picture(results: Sequence[PublishedResult]) -> None:
    """A point for each result: its prediction's error in percent, and a band of what is close.

    Results that an efficiency was fitted to are hollow; a cross is the constant's error, where it
    says anything. ValueError where there is none.
    """
    if not results:
        raise ValueError("published_picture: there are no results to draw.")
    figure, axes = canvas(7.5, 1.2 + 0.24 * len(results))
    axes.axvspan(-CLOSE, CLOSE, color=PALE, alpha=0.6, linewidth=0)
    axes.axvline(0, color=QUIET, linewidth=1.0)
    for row, result in enumerate(results):
        fill = CARD if result.fitted else BLUE
        point = {"color": BLUE, "markerfacecolor": fill, "markersize": 6}
        axes.plot([result.error()], [row - 0.18], "o", **point)
        by_constant = result.constant_error()
        if by_constant is not None and not result.fitted:
            axes.plot([by_constant], [row + 0.24], "x", color=ORANGE, markersize=5)
    name_rows(axes, [result.name for result in results], line=True, fontsize=8)
    meanings = f"point: the model, hollow: fitted to it; cross: a constant; pale: {CLOSE} % or less"
    axes.set_xlabel(f"prediction beside what was published, percent\n{meanings}", fontsize=9)
    others = [result for result in results if not result.fitted]
    close = sum(abs(result.error()) <= CLOSE for result in others)
    worst = max(results, key=lambda result: abs(result.error()))
    show(
        figure,
        f"Errors of {len(results)} predictions; of the {len(others)} that nothing was fitted to, "
        f"{close} are within {CLOSE} %. The largest is {worst.error():+.0f} %: {worst.name}.",
    )
