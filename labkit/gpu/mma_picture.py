"""A picture of one tensor-core instruction: which numbers of the three matrices one lane holds.

Dense where the fragments of a lane are computed: rows and columns are PTX's own formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.figures.style import CARD, INK, ORANGE, QUIET, canvas, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cell = tuple[int, int]  # row, column


def held(lane: int) -> dict[str, list[Cell]]:
    """The cells of a[16,16], b[16,8] and c[16,8] in one lane's registers, as PTX defines them.

    ValueError for a lane that no warp has. (Lesson what_limits_a_kernel.)
    """
    if lane not in range(32):
        raise ValueError(f"A warp has the lanes 0 to 31, and no lane {lane!r}.")
    g, t = divmod(lane, 4)
    pair = (2 * t, 2 * t + 1)
    return {
        "a": [(row, k + start) for start in (0, 8) for row in (g, g + 8) for k in pair],
        "b": [(k + start, g) for start in (0, 8) for k in pair],
        "c": [(row, column) for row in (g, g + 8) for column in pair],
    }


def mma_parts(lane: int) -> None:
    """c[16,8] += a[16,16] b[16,8]: one instruction, and in orange what one lane holds of it.

    (Lesson what_limits_a_kernel.)
    """
    cells = held(lane)
    sizes = {"a": (16, 16), "b": (16, 8), "c": (16, 8)}
    figure, panels = canvas(7.5, 3.1, 1, 3, width_ratios=[16, 8, 8])
    said = []
    for axes, (name, (rows, columns)) in zip(panels, sizes.items(), strict=True):
        _draw(axes, rows, columns, cells[name])
        own = len(cells[name])
        axes.set_title(f"{name} [{rows}, {columns}]: {own} of {rows * columns}", fontsize=10)
        said.append(f"{own} of the {rows * columns} numbers of {name}")
    figure.suptitle(f"in orange: the registers of lane {lane}", fontsize=9)
    parts = f"{said[0]}, {said[1]} and {said[2]}"
    show(figure, f"One instruction, c += a b, by all 32 lanes. Lane {lane} holds {parts}.")


def _draw(axes: Axes, rows: int, columns: int, own: list[Cell]) -> None:
    """A grid of cells, row 0 on top; a lane's own are orange."""
    for row in range(rows):
        for column in range(columns):
            colour = ORANGE if (row, column) in own else CARD
            place = ([(column, 1)], (row, 1))
            axes.broken_barh(*place, facecolor=colour, edgecolor=QUIET, linewidth=0.5)
    axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", anchor="N")
    ends = {"length": 0, "labelsize": 8, "labelcolor": INK}
    axes.tick_params(**ends)
    axes.set_xticks([0.5, columns - 0.5], [0, columns - 1])
    axes.set_yticks([0.5, rows - 0.5], [0, rows - 1])
