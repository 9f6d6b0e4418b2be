"""Pictures of the cost model: a step's parts for each layout, and predictions beside results.

terms_picture       one bar for each layout, of the parts that add up to its step
published_picture   how far each prediction is off what was published

Lesson a_cost_model shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.distributed.published_scaling import CLOSE
from labkit.figures import canvas, show
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY

if TYPE_CHECKING:
    from labkit.distributed.published_scaling import PublishedResult
    from labkit.distributed.step_model import StepTerms

COLOURS = {
    "compute": BLUE,
    "tensor": ORANGE,
    "bubble": PALE,
    "messages": INK,
    "data, not hidden": "#b5472f",
    "update": SKY,
}


def terms_picture(steps: Mapping[str, StepTerms]) -> None:
    """A bar for each layout, in seconds; ValueError where there is none."""
    if not steps:
        raise ValueError("terms_picture: there are no steps to draw.")
    figure, axes = canvas(7.5, 1.3 + 0.42 * len(steps))
    said = []
    for row, (name, terms) in enumerate(steps.items()):
        left = 0.0
        for part, seconds in terms.parts.items():
            axes.barh([row], [seconds], left=[left], color=COLOURS[part], edgecolor=CARD)
            left += seconds
        said.append(f"{name}: {terms.seconds:.3g} s, most of it {terms.binds}.")
    drawn = [part for part in COLOURS if any(_shows(t, part) for t in steps.values())]
    for part in drawn:
        axes.barh([0], [0], color=COLOURS[part], label=part)
    axes.set_yticks(range(len(steps)), list(steps))
    axes.set_ylim(len(steps) - 0.4, -0.6)
    axes.set_xlabel("seconds of a step (predicted)")
    axes.tick_params(left=False)
    place = {"loc": "outside lower center", "ncols": len(drawn), "fontsize": 8.5}
    figure.legend(*axes.get_legend_handles_labels(), frameon=False, **place)
    show(figure, f"Predicted seconds of a step by part. {' '.join(said)}")


def _shows(terms: StepTerms, part: str) -> bool:
    """Whether it can be seen in a bar."""
    return terms.parts[part] > 0.005 * terms.seconds


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
    axes.set_yticks(range(len(results)), [result.name for result in results], fontsize=8)
    axes.set_ylim(len(results) - 0.4, -0.6)
    meanings = f"point: the model, hollow: fitted to it; cross: a constant; pale: {CLOSE} % or less"
    axes.set_xlabel(f"prediction beside what was published, percent\n{meanings}", fontsize=9)
    axes.tick_params(left=False)
    others = [result for result in results if not result.fitted]
    close = sum(abs(result.error()) <= CLOSE for result in others)
    worst = max(results, key=lambda result: abs(result.error()))
    show(
        figure,
        f"Errors of {len(results)} predictions; of the {len(others)} that nothing was fitted to, "
        f"{close} are within {CLOSE} %. The largest is {worst.error():+.0f} %: {worst.name}.",
    )
