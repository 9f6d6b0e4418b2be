"""A picture of a tiled matrix product: what one block reads of both matrices, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from labkit.figures.style import INK, ORANGE, SKY, canvas, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.gpu.touched import Size

DEEP_SKY = "#6f9fc8"  # a darker companion of SKY
TICKS = 32  # elements from one tick to the next


class _Part(NamedTuple):
    """A rectangle of a matrix, in elements."""

    row: int
    column: int
    height: int
    width: int


def matmul_tiles(shape: Size, tile: Size, block: Size, step: int) -> None:
    """What block (x, y) reads of a[M,K] and b[K,N] for its tile of c[M,N]: strips, and the tiles of
    one step along k. `shape` is (M, K, N), `tile` (rows, columns, along k).
    (Lesson tiles.)
    """
    M, K, N = shape
    rows, columns, along = tile
    x, y = block
    row = y * rows
    column = x * columns
    k = step * along
    strip_of_a = _Part(row, 0, rows, K)
    strip_of_b = _Part(0, column, K, columns)
    tile_of_a = _Part(row, k, rows, along)
    tile_of_b = _Part(k, column, along, columns)
    tile_of_c = _Part(row, column, rows, columns)
    figure, (a, b, c) = canvas(7.5, 2.9, 1, 3, width_ratios=[K, N, N])
    _draw_part(a, strip_of_a, SKY)
    _draw_part(a, tile_of_a, ORANGE)
    _draw_part(b, strip_of_b, SKY)
    _draw_part(b, tile_of_b, ORANGE)
    _draw_part(c, tile_of_c, DEEP_SKY)
    _draw_matrix(a, "a", M, K)
    _draw_matrix(b, "b", K, N)
    _draw_matrix(c, "c", M, N)
    reads = f"{rows} rows of a and {columns} columns of b"
    last = k + along - 1
    holds = f"columns {k} to {last} of those rows, and the same rows of those columns"
    said = f"Block ({x}, {y}) makes a tile of c from {reads}."
    show(figure, f"{said} In step {step + 1} it holds {holds}.")


def _draw_part(axes: Axes, part: _Part, colour: str) -> None:
    across = [(part.column, part.width)]
    down = (part.row, part.height)
    axes.broken_barh(across, down, facecolor=colour, edgecolor=INK)


def _draw_matrix(axes: Axes, name: str, rows: int, columns: int) -> None:
    """The matrix's border, with row 0 on top, and a tick for each TICKS elements."""
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.set(aspect="equal", anchor="N")
    across = [0, columns, columns, 0, 0]
    down = [0, 0, rows, rows, 0]
    axes.plot(across, down, color=INK, linewidth=1, clip_on=False)
    axes.set_xticks(range(0, columns + 1, TICKS))
    axes.set_yticks(range(0, rows + 1, TICKS))
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(f"{name} [{rows}, {columns}]")
