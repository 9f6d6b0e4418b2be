"""Pictures of arrays cut over a mesh of devices. Lesson sharding.

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.figures.shapes import FILLS, arrow, bare, box, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, SKY, canvas, show

SIDE = 4  # of the matrix; the mesh has 2 x 2 devices
SHARES = ((SKY, INK), (ORANGE, INK))  # of two devices: fill and what is read on it


def blocks(specs: Mapping[str, tuple]) -> None:
    """A 4 x 4 matrix on 2 x 2 devices, once for each spec: who holds which block."""
    figure, panels = canvas(7.5, 2.2, columns=len(specs))
    said = []
    for axes, (name, spec) in zip(panels, specs.items(), strict=True):
        found = {}  # first row and column of a block -> the devices that hold it
        for device in range(4):
            place = {"data": device // 2, "model": device % 2}
            corner = tuple(2 * place[axis] if axis else 0 for axis in spec)
            found.setdefault(corner, []).append(device)
        rows, columns = (SIDE // 2 if axis else SIDE for axis in spec)
        for (row, column), holders in found.items():
            fill, ink = FILLS[(holders[0])] if len(found) > 1 else (PALE, INK)
            box(axes, column, row, columns, rows, fill, linewidth=1.5)
            text = "device" + ("s" if len(holders) > 1 else "")
            text += "\n" + " ".join(map(str, holders))
            where = f"rows {row} to {row + rows - 1}, columns {column} to {column + columns - 1}"
            said.append(f"{name}: {where} on {' '.join(map(str, holders))}")
            look = {"color": CARD, "linewidth": 0.7, "zorder": 1.5}  # lines between single numbers
            for line in range(row + 1, row + rows):
                axes.plot([column, column + columns], [line, line], **look)
            for line in range(column + 1, column + columns):
                axes.plot([line, line], [row, row + rows], **look)
            plate = {"facecolor": fill, "edgecolor": "none", "pad": 1.5}
            write(axes, column + columns / 2, row + rows / 2, text, 9, color=ink, bbox=plate)
        axes.set_title(name, fontsize=8.5, fontweight="normal", loc="center")
        bare(axes, (-0.1, SIDE + 0.1), (SIDE + 0.1, -0.1), "equal")
    show(figure, "A 4 x 4 matrix on 2 x 2 devices. " + "; ".join(said) + ".")


def two_layers() -> None:
    """Two layers on two devices: w1 is cut by columns, w2 by rows, and the parts are added."""
    figure, axes = canvas(7.5, 2.7)
    box(axes, 0, 0.9, 1.2, 1.2, PALE, "x\n[B, D]", 9)
    for device, top in ((0, 0.0), (1, 1.7)):
        fill, ink = SHARES[device]
        middle = top + 0.65
        write(axes, 2.55, top - 0.17, f"device {device}", 9)
        box(axes, 1.9, top, 1.3, 1.3, fill, "w1\nhalf of its\ncolumns", 8, ink)
        box(axes, 3.8, top + 0.15, 1.3, 1.0, fill, "hidden\n[B, F/2]", 9, ink)
        box(axes, 5.7, top, 1.3, 1.3, fill, "w2\nhalf of its\nrows", 8, ink)
        box(axes, 7.6, top + 0.15, 1.2, 1.0, fill, "part\n[B, K]", 9, ink)
        arrow(axes, (1.25, 1.5), (1.85, middle))
        for start in (3.25, 5.15, 7.05):
            arrow(axes, (start, middle), (start + 0.5, middle))
        arrow(axes, (8.85, middle), (9.35, 1.5))
    box(axes, 9.4, 1.0, 1.0, 1.0, BLUE, "psum", 10, CARD)
    arrow(axes, (10.45, 1.5), (10.85, 1.5))
    write(axes, 11.3, 1.5, "y\n[B, K]", 9)
    bare(axes, (-0.1, 11.8), (3.2, -0.4))
    show(
        figure,
        "Two layers on two devices. Both have x. Each multiplies it by its half of the columns of "
        "w1, which gives half of the hidden units, and these by its half of the rows of w2, which "
        "gives a part of every result. psum adds the two parts to y, which both devices get.",
    )
