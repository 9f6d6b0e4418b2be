"""Pictures of four chips and of what they send. Lesson what_sharding_sends.

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labkit.figures.shapes import arrow, bare, box, write
from labkit.figures.style import BLUE, INK, ORANGE, QUIET, SKY, canvas, show

CUTS = {"by images": (4, 1), "by weights": (1, 4), "by both": (2, 2)}  # sizes of data and model
COLOURS = (BLUE, ORANGE, INK)
STYLES = ("-", "--", ":")


def rings() -> None:
    """Four chips of a mesh 2 x 2: who adds up gradients with whom, and who results."""
    figure, axes = canvas(7.5, 2.6)
    for chip, (x, y) in enumerate(((0, 0), (5, 0), (0, 2.2), (5, 2.2))):
        rows = "upper" if chip < 2 else "lower"
        half = "first" if chip % 2 == 0 else "second"
        text = f"chip {chip}\n{rows} half of the rows\n{half} half of the weights"
        box(axes, x, y, 2.9, 1.2, SKY, text, 9)
    for y in (0.6, 2.8):
        arrow(axes, (2.95, y), (4.95, y), "<->", color=ORANGE, linewidth=2)
        write(axes, 3.95, y - 0.22, "along model: results", 8.5, color=INK)
    for x in (1.45, 6.45):
        arrow(axes, (x, 1.25), (x, 2.15), "<->", color=BLUE, linewidth=2)
        axes.text(x + 0.15, 1.7, "along data: gradients", fontsize=8.5, va="center")
    bare(axes, (-0.1, 9.4), (3.5, -0.1))
    show(
        figure,
        "Four chips as a mesh of 2 x 2. Chips 0 and 1 have the upper half of the rows, 2 and 3 the "
        "lower; 0 and 2 the first half of the weights, 1 and 3 the second. Along model, 0 and 1, "
        "and 2 and 3, add up results; along data, 0 and 2, and 1 and 3, add up gradients.",
    )


def over_the_batch(sent: Callable, D: int, F: int, batches: Sequence[int]) -> None:
    """What a chip of four sends in a step over the batch, for each cut, by the function `sent`."""
    figure, axes = canvas(7.5, 3.0)
    said = []
    for (name, (data, model)), colour, style in zip(CUTS.items(), COLOURS, STYLES, strict=True):
        sizes = np.array([data]), np.array([model])
        moved = [float(sent(B, D, F, *sizes)[0]) / 1e6 for B in batches]
        axes.loglog(batches, moved, style, color=colour, marker="o", markersize=4, label=name)
        said.append(f"{name} {', '.join(f'{one:.1f}' for one in moved)}")
    for border, text in ((F, f"F = {F:,} "), (4 * F, f" 4F = {4 * F:,}")):
        axes.axvline(border, color=QUIET, linewidth=1)
        side = "right" if text.endswith(" ") else "left"
        axes.text(border, 1.02 * axes.get_ylim()[0], text, fontsize=9, va="bottom", ha=side)
    axes.set_xticks(batches, [f"{B:,}" for B in batches])
    ticks = [1, 3, 10, 30, 100]
    axes.set_yticks(ticks, [f"{tick}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("rows of the batch")
    axes.set_ylabel("a chip sends, MB")
    axes.legend(loc="upper left", fontsize=9)
    show(
        figure,
        f"Megabytes that each of four chips sends in a step, for batches of "
        f"{', '.join(f'{B:,}' for B in batches)} rows: {'; '.join(said)}. By weights is least "
        f"up to F = {F:,}, by images from 4F = {4 * F:,}, by both in between.",
    )
