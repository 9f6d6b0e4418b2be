"""Bars in pairs: the same things twice, before and after."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.figures.style import BLUE, ORANGE, canvas, show
from labkit.provenance import Quantity


def pairs(
    rows: Mapping[str, tuple[Quantity, Quantity]], names: tuple[str, str], label: str
) -> None:
    """For each row two bars, with their numbers; `names` says what the two are."""
    figure, axes = canvas(7.5, 0.9 + 0.42 * len(rows))
    for y, values in enumerate(rows.values()):
        for value, offset, colour in zip(values, (-0.19, 0.19), (BLUE, ORANGE), strict=True):
            axes.barh(y + offset, float(value), height=0.36, color=colour)
            beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(value.number, (float(value), y + offset), fontsize=8, **beside)
    for name, colour in zip(names, (BLUE, ORANGE), strict=True):
        axes.scatter([], [], marker="s", color=colour, label=name)
    axes.legend(loc="lower right", fontsize=9, frameon=False)
    axes.set(yticks=range(len(rows)), yticklabels=[*rows], ylim=(len(rows) - 0.4, -0.6))
    axes.set(xticks=[], xlabel=f"{label}, {next(iter(rows.values()))[0].word}")
    axes.margins(x=0.12)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(left=False)
    said = [f"{row} {before.number} and {after.number}" for row, (before, after) in rows.items()]
    show(figure, f"{label}, {' and '.join(names)}: {'; '.join(said)}.")
