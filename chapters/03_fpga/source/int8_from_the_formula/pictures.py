"""Pictures of chapter 03: where a network's work and weights lie, and sigma as a table.

    shares({...})               each layer's share of the multiply-adds and of the weights
    sigma(SigmaTable(), ...)    a table beside the curve, and how wrong a larger one is

Lesson int8_from_the_formula shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from labkit.figures.shapes import name_rows, write
from labkit.figures.style import BLUE, INK, ORANGE, QUIET, SKY, canvas, show
from labkit_lessons.fpga.int8_from_the_formula.sigma_table import SPAN, SigmaTable
from labkit_lessons.fpga.int8_from_the_formula.sigma_table import sigma as exact_sigma

WIDE_ENOUGH = 5  # percent of a bar: a narrower piece has no name
COLOURS = (SKY, BLUE, ORANGE, QUIET)


def shares(bars: Mapping[str, Mapping[str, float]]) -> None:
    """One bar for each quantity, cut into the shares of the layers, in the network's order.

    `bars`   {"multiply-adds": {"conv1": 884736, ...}, "weights": {...}}
    """
    figure, axes = canvas(7.5, 0.7 + 0.85 * len(bars))
    spoken = []
    for y, amounts in enumerate(bars.values()):
        total = sum(amounts.values())
        left = 0.0
        for (layer, amount), colour in zip(amounts.items(), COLOURS, strict=True):
            percent = 100 * amount / total
            axes.barh(y, percent, left=left, height=0.5, color=colour)
            if percent > WIDE_ENOUGH:
                letters = "white" if colour == BLUE else INK
                write(axes, left + percent / 2, y, f"{layer}\n{percent:.0f} %", color=letters)
            left += percent
    for name, amounts in bars.items():
        total = sum(amounts.values())
        parts = [f"{layer} {100 * n / total:.1f} %" for layer, n in amounts.items()]
        spoken.append(f"{name}: {', '.join(parts)}")
    name_rows(axes, list(bars), 0.5, line=True)
    axes.tick_params(left=True)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the network; narrow pieces have no name")
    show(figure, f"The layers' shares in the network's order. {'; '.join(spoken)}.")


def sigma(small: SigmaTable, large: SigmaTable) -> None:
    """A small table's stairs beside sigma, and the error of a large one within its bound."""
    figure, (left, right) = canvas(8.5, 3.0, 1, 2)
    q = np.arange(-SPAN * 2**small.fraction_bits, SPAN * 2**small.fraction_bits)
    x = q / 2**small.fraction_bits
    left.plot(x, small(q) / small.top, color=BLUE, label=f"{small.entries} entries")
    left.plot(x, exact_sigma(x), color=ORANGE, label="sigma")
    left.set_xlabel("x")
    left.set_title(f"A table of {small.entries} entries")
    left.legend(loc="upper left", fontsize=9)
    x, error = errors(large)
    right.plot(x, error, ",", color=BLUE)
    for sign in (-1, 1):
        right.axhline(sign * large.error_bound, color=ORANGE, linestyle="--", linewidth=1.5)
    right.set_ylim(-1.5 * large.error_bound, 1.5 * large.error_bound)
    write(right, 0, 1.2 * large.error_bound, "bound", color=INK)
    right.set_xlabel("x")
    right.set_title(f"Error with {large.entries:,} entries")
    worst = float(np.abs(error).max())
    show(
        figure,
        f"Left: sigma, a curve from 0 to 1, and the stairs of a table of {small.entries} entries. "
        f"Right: the error of a table of {large.entries:,} entries at all x in steps of "
        f"1/{2**large.fraction_bits}, at most {worst:.5f}, within the bound of "
        f"{large.error_bound:.5f} on both sides.",
    )


def errors(table: SigmaTable, span: float = 2 * SPAN) -> tuple[np.ndarray, np.ndarray]:
    """Every input x from -span to span, and how far the table's answer lies above sigma(x)."""
    reach = int(span * 2**table.fraction_bits)
    q = np.arange(-reach, reach)
    x = q / 2**table.fraction_bits
    return x, table(q) / table.top - exact_sigma(x)
