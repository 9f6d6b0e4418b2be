"""Pictures of a tiled matrix product: what a tile, a block and a thread read of both matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labkit.figures.grids import Grid, show_grids
from labkit.figures.shapes import bare, key
from labkit.figures.style import CARD, INK, ORANGE, PALE, SKY, Axes, canvas, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labkit.gpu.touched import Size

DEEP_SKY = "#6f9fc8"  # a darker companion of SKY
TICKS = 32  # elements from one tick to the next
# A thread's patch: blocks of 32 x 8 threads, tiles of 64 x 64, 32 products in a step.
TILE = 64
STEP = 32
THREADS_ACROSS = 32
THREADS_DOWN = 8
BETWEEN = 12  # two matrices of the picture, in elements


class _Part(NamedTuple):
    """A rectangle of a matrix, in elements."""

    row: int
    column: int
    height: int
    width: int


def matmul_tiles(*, M: int, K: int, N: int, tile: int, block: Size, start: int) -> None:
    """What block (x, y) reads of a[M,K] and b[K,N] for its tile of c[M,N], tile x tile elements:
    all its tiles, and among them those of the step that begins at `start` along k.
    (Lesson tiles.)
    """
    x, y = block
    row = y * tile
    column = x * tile
    strip_of_a = _Part(row, 0, tile, K)
    strip_of_b = _Part(0, column, K, tile)
    tile_of_a = _Part(row, start, tile, tile)
    tile_of_b = _Part(start, column, tile, tile)
    tile_of_c = _Part(row, column, tile, tile)
    figure, (a, b, c) = canvas(7.5, 3.1, 1, 3, width_ratios=[K, N, N])
    _draw_part(a, strip_of_a, SKY)
    _draw_part(a, tile_of_a, ORANGE)
    _draw_part(b, strip_of_b, SKY)
    _draw_part(b, tile_of_b, ORANGE)
    _draw_part(c, tile_of_c, DEEP_SKY)
    _draw_matrix(a, "a", M, K)
    _draw_matrix(b, "b", K, N)
    _draw_matrix(c, "c", M, N)
    meanings = {"tile of this step": ORANGE, "tiles of the other steps": SKY}
    meanings["results of the block"] = DEEP_SKY
    key(figure, 3, meanings, s=70, edgecolor=INK)
    reads = f"{tile} rows of a and {tile} columns of b"
    span = f"{start} to {start + tile - 1}"
    said = f"Block ({x}, {y}) makes a tile of c from {reads}"
    holds = f"columns {span} of those rows of a, and rows {span} of those columns of b"
    show(figure, f"{said}. In the step that begins at {start}, it holds {holds}.")


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
    axes.spines[:].set_visible(False)
    axes.set_title(f"{name} [{rows}, {columns}]")


def who_fetches(size: int, tile: int) -> None:
    """Which threads of the first tile of c fetch each element, if each fetches for itself.

    a, b and c have `size` x `size` elements, the tile `tile` x `tile`, and the steps along k are as
    long as the tile. A thread (x, y) makes the result in column x and row y. What belongs to the
    first step is orange.
    (Lesson tiles.)
    """
    places = range(tile)
    of_a = np.full((size, size), "", dtype=object)
    of_c = np.full((size, size), "", dtype=object)
    of_b = np.full((size, size), "", dtype=object)
    for m in places:
        of_a[m] = "\n".join(f"{n},{m}" for n in places)
    for n in places:
        of_b[:, n] = "\n".join(f"{n},{m}" for m in places)
    for m, n in np.ndindex(tile, tile):
        of_c[m, n] = f"{n},{m}"
    in_first_step = np.arange(size) < tile
    colours = np.where(in_first_step, ORANGE, SKY)  # along k
    colours_of_a = np.tile(colours, (tile, 1))
    a = Grid("a", of_a, np.s_[:tile], colours_of_a)
    b = Grid("b", of_b, np.s_[:, :tile], colours_of_a.T)
    c = Grid("c", of_c, np.s_[:tile, :tile], DEEP_SKY)
    threads = tile * tile
    elements = 2 * tile * size
    fetches = tile * elements
    caption = f"{threads} threads x,y: {fetches} fetches of {elements} different numbers"
    needs = f"{tile} rows of a and {tile} columns of b"
    said = f"The {threads} results in the upper left corner of c need {needs}"
    marks = f"Each of these {elements} elements names the {tile} threads that fetch it"
    show_grids(
        caption,
        f"{said}. {marks}. Those of the first step are orange.",
        a,
        b,
        c,
    )


def thread_patch(thread: Size, k: int) -> None:
    """What thread (tx, ty) of a block of 32 x 8 reads in round k, and where its 16 results lie.

    a_tile [64, 32] stands at the left, b_tile [32, 64] above the tile of c [64, 64]. What the
    thread's warp makes is pale blue, what the thread reads and makes is orange.
    (Lesson tiles.)
    """
    tx, ty = thread
    rows = range(ty, TILE, THREADS_DOWN)
    columns = range(tx, TILE, THREADS_ACROSS)
    left = STEP + BETWEEN  # of b_tile and of c
    top = STEP + BETWEEN  # of a_tile and of c
    figure, axes = canvas(7.5, 5.6)
    _draw_tile(axes, "a_tile", 0, top, STEP, TILE)
    _draw_tile(axes, "b_tile", left, 0, TILE, STEP)
    _draw_tile(axes, "c, this block's tile", left, top, TILE, TILE)
    _draw_marks(axes, 0, top, [k], rows)
    _draw_marks(axes, left, 0, columns, [k])
    for row in rows:
        axes.broken_barh([(left, TILE)], (top + row, 1), facecolor=SKY)
    _draw_marks(axes, left, top, columns, rows)
    for row in rows:
        axes.text(left + TILE + 1.5, top + row + 0.5, f"row {row}", va="center", fontsize=8)
    for column in columns:
        middle = left + column + 0.5
        axes.text(middle, top + TILE + 3, f"column {column}", ha="center", fontsize=8)
    axes.text(k + 0.5, top + TILE + 3, f"k = {k}", ha="center", fontsize=8)
    axes.text(left + TILE + 1.5, k + 0.5, f"k = {k}", va="center", fontsize=8)
    bare(axes, (-1, left + TILE + 14), (top + TILE + 5, -6), "equal")
    meanings = {"this thread": ORANGE, "its warp's results": SKY}
    key(figure, 2, meanings, s=60, edgecolor=INK)
    reads = f"{len(rows)} elements of a_tile's column {k} and {len(columns)} of b_tile's row {k}"
    makes = f"rows {rows[0]}, {rows[1]}, ..., {rows[-1]} and columns {columns[0]} and {columns[1]}"
    said = f"Thread ({tx}, {ty}) reads {reads}. Its results lie in {makes} of the tile of c."
    show(figure, f"{said} The other lanes of its warp make the rest of these rows.")


def _draw_tile(axes: Axes, name: str, x: int, y: int, width: int, height: int) -> None:
    """The border of a tile, with its name and its size above it."""
    axes.broken_barh([(x, width)], (y, height), facecolor=CARD, edgecolor=PALE)
    title = f"{name} [{height}, {width}]"
    axes.text(x, y - 1.5, title, ha="left", fontsize=9, weight="bold")


def _draw_marks(axes: Axes, x: int, y: int, columns: Iterable[int], rows: Iterable[int]) -> None:
    """A mark on each element in these columns and rows of the tile at (x, y)."""
    for row in rows:
        for column in columns:
            across = [(x + column - 0.25, 1.5)]  # larger than an element, to be seen
            down = (y + row - 0.25, 1.5)
            axes.broken_barh(across, down, facecolor=ORANGE, edgecolor=INK, linewidth=0.5)
