"""What all-reduces cost by the alpha-beta model, over the size of the tensor. Lesson the_ring.

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.shapes import shared_key
from labkit.figures.style import BLUE, INK, ORANGE, QUIET, SKY, Axes, canvas, show
from labkit.provenance import predicted

if TYPE_CHECKING:
    from labkit.distributed.costs.cost_model import CostModel

STYLES = ((QUIET, ":"), (ORANGE, "--"), (BLUE, "-"), (INK, "-."), (SKY, "-"))
SIZES = np.geomspace(1e3, 1e9, 200)  # bytes


def costs_by_size(
    model: CostModel, names: Mapping[str, str], ranks: Sequence[int], mark: float
) -> None:
    """A panel for each number of ranks; a line for each of `names`, both axes logarithmic.

    names   what a collective is called in the picture -> in the model: at most five
    mark    a size in bytes, at which a line is drawn
    """
    figure, _ = canvas(7.5, 3.4, columns=len(ranks))
    said = []
    for panel, count in zip(figure.axes, ranks, strict=True):
        _draw(panel, model, names, count, mark)
        costs = []
        for label, name in names.items():
            cost = predicted(model.predict(name, count, mark), "s", "the alpha-beta model")
            costs.append(f"{label} {cost.number}")
        said.append(f"{count:,} ranks: {', '.join(costs)}")
    shared_key(figure, len(names))
    size = predicted(mark, "B", "the picture").number
    show(figure, f"Predicted time over the tensor's size. At {size}: {'; '.join(said)}.")


def _draw(axes: Axes, model: CostModel, names: Mapping[str, str], ranks: int, mark: float) -> None:
    for (label, name), (colour, line) in zip(names.items(), STYLES, strict=False):
        times = [model.predict(name, ranks, size) for size in SIZES]
        axes.loglog(SIZES, times, line, color=colour, label=label)
    axes.axvline(mark, color=QUIET, linewidth=0.8, zorder=0)
    axes.set_title(f"{ranks:,} ranks")
    axes.set_xticks([1e3, 1e6, 1e9], ["1 kB", "1 MB", "1 GB"])
    axes.set_xlabel("tensor of each rank")
    axes.set_ylabel("seconds (predicted)")
