"""Grids of numbers side by side, some cells shaded: what the pictures of layers are drawn with.

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labkit.figures.shapes import bare, box, write
from labkit.figures.style import CARD, Axes, canvas, show

GAP = 1.2  # between two grids, in cells
TOP = 0.8  # above the grids, for their titles


class Grid(NamedTuple):
    """A grid of numbers or short texts, a shaded part, and the colour of that part.

    `shaded` is an index of `values`, slices or a mask; `colour` is one, or an array of them that
    fits the shaded part.
    """

    title: str
    values: np.ndarray
    shaded: tuple | np.ndarray
    colour: str | np.ndarray


def show_grids(caption: str, alt: str, *grids: Grid, names: Sequence[str] = ()) -> None:
    """Grids side by side, all cells of one size, with a caption below.

    With two names, for rows and columns, each row and column has its number beside it. `alt` is
    the picture's alt text.
    """
    below = 0.6 if names else 0.2  # room for the columns' numbers
    beside = 1.2 if names and len(names[0]) > 1 else below  # and for those of the rows
    gaps = GAP * (len(grids) - 1)
    width = sum(grid.values.shape[1] for grid in grids) + gaps
    height = max(grid.values.shape[0] for grid in grids)
    cells_across = width + beside + 0.2
    cells_down = height + below + 1.7
    figure, axes = canvas(7.5, 7.5 * cells_down / cells_across)
    left = 0.0
    for grid in grids:
        rows, columns = grid.values.shape
        top = (height - rows) / 2
        _draw(axes, grid, left, top)
        if names:
            _number(axes, grid, left, height, beside, names)
        left += columns + GAP
    write(axes, width / 2, height + below + 0.55, caption)
    bare(axes, (-beside, width + 0.2), (height + below + 0.9, -TOP), "equal")
    show(figure, alt)


def _draw(axes: Axes, grid: Grid, left: float, top: float) -> None:
    """One grid with its title, its upper left corner at (left, top)."""
    colours = np.full(grid.values.shape, CARD, dtype=object)
    colours[grid.shaded] = grid.colour
    for i, j in np.ndindex(grid.values.shape):
        value = grid.values[i, j]
        text = value if isinstance(value, str) else f"{value:g}"
        box(axes, left + j, top + i, 1, 1, colours[i, j], text)
    middle = left + grid.values.shape[1] / 2
    write(axes, middle, top - 0.4, grid.title, weight="bold")


def _number(
    axes: Axes, grid: Grid, left: float, height: float, beside: float, names: Sequence[str]
) -> None:
    """The rows' numbers at a grid's left, the columns' numbers below it: p0, p1, h0, h1."""
    rows, columns = grid.values.shape
    of_row, of_column = names
    for i in range(rows):
        write(axes, left - beside / 2, i + 0.5, f"{of_row}{i}", "small")
    for j in range(columns):
        write(axes, left + j + 0.5, height + 0.3, f"{of_column}{j}", "small")
