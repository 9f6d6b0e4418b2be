"""Pictures of a launch: who touches which cell, a warp's sectors, the banks, a block's tiles.

What is drawn is computed in `labkit.gpu.touched`. Several accesses of a profile are drawn below
each other, to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labkit.figures.style import CARD, INK, ORANGE, PALE, QUIET, SKY, canvas, show
from labkit.gpu import touched
from labkit.gpu.counters import SECTOR, WARP
from labkit.gpu.touched import BANKS, BankUse, Cells, SectorUse, Size

if TYPE_CHECKING:
    from labkit.gpu.simt.machine import Access

DEEP_SKY = "#6f9fc8"
BLOCK_COLOURS = (SKY, "#f6d7ae", PALE, ORANGE, DEEP_SKY, "#fbeed9")  # INK reads on each
BANK_ROWS = 8  # of a bank map, at most
LEAST_TEXT = 4.5  # points: smaller names are left out


def thread_map(
    grid: Size, block: Size, shape: Size, *accesses: Access, cell: Callable = lambda x, y: (y, x)
) -> None:
    """Which thread of which block touches which cell of an array [rows, columns] or [columns].

    Thread (x, y) = cuda.grid(2) touches `cell(x, y)`, a row and a column. With `accesses` the cells
    are those really touched, of an array that starts its allocation. (Lesson 01_gpu/2.)
    """
    blocks_across, blocks_down = touched.across_and_down(grid)
    threads_across, threads_down = touched.across_and_down(block)
    rows, columns = touched.rows_and_columns(shape)
    if accesses:
        touches = touched.touches_of_accesses(accesses, grid, columns)
    else:
        touches = touched.touches_of_rule(grid, block, cell)
    cells = touched.cells(touches, rows, columns)
    names = _thread_names(cells, threads_across, threads_down)
    one = np.sum(cells.count == 1)
    none = np.sum(cells.count == 0)
    more = np.sum(cells.count > 1)
    blocks = f"{blocks_across * blocks_down} blocks of {threads_across} by {threads_down} threads"
    counts = f"{one} cells with one thread, {none} with none, {more} with more"
    figure = _draw_cells(cells.block, names, blocks_across)
    show(figure, f"{rows} by {columns} cells under {blocks}: {counts}.")


def _thread_names(cells: Cells, threads_across: int, threads_down: int) -> np.ndarray:
    """What is written into each cell: threadIdx, "3×" where three threads come, "" for none."""
    names = []
    for thread, count in zip(cells.thread.flat, cells.count.flat, strict=True):
        if count == 0:
            names.append("")
        elif count > 1:
            names.append(f"{count}×")
        elif threads_down > 1:
            names.append(f"{thread % threads_across},{thread // threads_across}")
        else:
            names.append(str(thread))
    return np.reshape(names, cells.thread.shape)


def _draw_cells(owner: np.ndarray, names: np.ndarray, blocks_across: int):
    """Cells [rows, columns] in the colour of their block, with names if there is room for them."""
    rows, columns = owner.shape
    side = min(7.2 / columns, 4.5 / rows, 0.5)  # of a cell, in inches
    longest = max(len(name) for name in names.flat)
    size = min(9, 72 * side / (0.7 * longest + 0.3))  # of a name, in points
    named = size >= LEAST_TEXT
    figure, axes = canvas(7.5, side * rows + 0.9)
    _fill_cells(axes, owner)
    _draw_borders(axes, owner)
    if named:
        for (row, column), name in np.ndenumerate(names):
            _write(axes, column, row, name, size)
    _name_blocks(axes, owner, blocks_across, named)
    if axes.get_legend_handles_labels()[0]:
        below = {"loc": "outside lower center", "ncols": len(BLOCK_COLOURS)}
        figure.legend(**below, fontsize=9, frameon=False)
    meaning = "in each cell: threadIdx" if named else "in each area: blockIdx"
    axes.set_xlabel(meaning, fontsize=9)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    return figure


def _fill_cells(axes, owner: np.ndarray) -> None:
    colours = [list(bytes.fromhex(colour[1:])) for colour in (*BLOCK_COLOURS, CARD)]
    palette = np.array(colours)  # [7, 3], red, green and blue; the last one is for no block
    axes.imshow(palette[np.where(owner < 0, -1, owner % len(BLOCK_COLOURS))])


def _draw_borders(axes, owner: np.ndarray) -> None:
    """A line wherever the block changes from a cell to the next one."""
    line = {"color": INK, "linewidth": 1.5}
    row, column = np.nonzero(np.diff(owner, axis=0))  # to the one below
    axes.hlines(row + 0.5, column - 0.5, column + 0.5, **line)
    row, column = np.nonzero(np.diff(owner, axis=1))  # to the one on the right
    axes.vlines(column + 0.5, row - 0.5, row + 0.5, **line)


def _name_blocks(axes, owner: np.ndarray, blocks_across: int, named: bool) -> None:
    """blockIdx: in a legend where the cells have names, else in the middle of the block's area."""
    for block in np.unique(owner[owner >= 0]):
        label = f"{block % blocks_across},{block // blocks_across}"
        if not named:
            row, column = np.argwhere(owner == block).mean(axis=0)
            _write(axes, column, row, label, 8)
        elif owner.max() < len(BLOCK_COLOURS):
            colour = BLOCK_COLOURS[block]
            axes.scatter([], [], s=60, marker="s", color=colour, label=f"block {label}")


def _write(axes, x: float, y: float, text: str, points: float) -> None:
    """Text in the middle of a cell, or of an area."""
    axes.text(x, y, text, ha="center", va="center", fontsize=points)


def sector_map(*accesses: Access, titles: Sequence[str] = ()) -> None:
    """The lanes of a warp above the 32-byte sectors of global memory that they touch.

    A panel for each access; `titles` replace the names of the first ones. (Lesson 01_gpu/2.)
    """
    _draw_panels(accesses, titles, _draw_sectors)


def bank_map(*accesses: Access, titles: Sequence[str] = ()) -> None:
    """Shared memory, 32 banks wide, with the lanes in the 4-byte words that they touch.

    A bank with several words of one pass is orange: a conflict. A panel for each access; `titles`
    replace the names of the first ones. (Lesson 01_gpu/2.)
    """
    _draw_panels(accesses, titles, _draw_banks)


def _draw_panels(accesses: Sequence[Access], titles: Sequence[str], draw: Callable) -> None:
    rows = len(accesses)
    figure, panels = canvas(7.5, 2.0 * rows, rows, 1)
    names = [f"line {access.line}, {access.kind} of {access.array}" for access in accesses]
    names[: len(titles)] = titles
    said = []
    for name, access, axes in zip(names, accesses, np.ravel(panels), strict=True):
        said.append(f"{name}: {draw(axes, access)}")
        axes.set_title(said[-1], fontsize=10, loc="left")
        axes.axis("off")
    show(figure, f"A warp's lanes and the memory they touch. {'. '.join(said)}.")


def _draw_sectors(axes, access: Access) -> str:
    use = touched.sector_use(access)
    for lane in range(WARP):
        colour = SKY if lane in use.lanes else CARD
        _box(axes, lane, 2, colour, lane)
    _label(axes, 2.5, "lane")
    _label(axes, 0.5, "sector")
    needed = len(use.sectors)
    width = min(8, WARP / max(1, needed))  # of a sector, in lanes
    _draw_bytes(axes, use, access.itemsize, width)
    for i, sector in enumerate(use.sectors):
        _box(axes, i * width, 0, "none", "", width)
        at_an_end = i in (0, needed - 1)
        if width >= 1.5 or at_an_end:  # else the numbers would overlap
            _label(axes, -0.5, sector, (i + 0.5) * width, ha="center")
    axes.set_xlim(-3.2, WARP + 0.1)
    axes.set_ylim(-0.9, 3.1)
    sectors = "1 sector" if needed == 1 else f"{needed} sectors"
    return f"{sectors}, {len(use.used)} of {needed * SECTOR} bytes used"


def _draw_bytes(axes, use: SectorUse, itemsize: int, width: float) -> None:
    """The bytes that are used, and a line from each lane to the middle of its own."""
    a_byte = width / SECTOR
    number = np.searchsorted(use.sectors, use.used // SECTOR)  # of the sectors that are drawn
    left = width * (number + use.used % SECTOR / SECTOR)
    first = np.searchsorted(use.used, use.first)
    middle = left[first] + a_byte * itemsize / 2
    starts = use.lanes + 0.5
    heights = np.outer([2, 1], np.ones(len(use.lanes)))  # of both ends of each line
    axes.plot([starts, middle], heights, color=QUIET, linewidth=0.7)
    axes.broken_barh([(x, a_byte) for x in left], (0, 1), facecolor=SKY)


def _draw_banks(axes, access: Access) -> str:
    use = touched.bank_use(access)
    rows = np.unique(use.word // BANKS)
    shown = rows[:BANK_ROWS]
    for y, row in enumerate(shown):
        _label(axes, 0.5 - y, f"row {row}")
        for bank in range(BANKS):
            _draw_word(axes, use, row, bank, -y)
    for bank in range(BANKS):
        _label(axes, 1.4, bank, bank + 0.5, ha="center")
    _label(axes, 1.4, "bank")
    if hidden := len(rows) - len(shown):
        _label(axes, 0.5 - BANK_ROWS, f"and {hidden} more rows", BANKS / 2, ha="center")
    height = np.clip(len(rows), 3, BANK_ROWS + 1)
    axes.set_xlim(-3.2, BANKS + 0.1)
    axes.set_ylim(0.5 - height, 1.9)
    passes = "1 pass" if use.passes == 1 else f"{use.passes} passes"
    return f"{passes} over the banks, {use.conflicts} conflicts"


def _draw_word(axes, use: BankUse, row: int, bank: int, y: float) -> None:
    """The word of this row and bank: the lane that touches it, or how many do."""
    lanes = use.lane[use.word == row * BANKS + bank]
    if len(lanes) == 0:
        _box(axes, bank, y, CARD, "")
        return
    count = len(lanes)
    text = lanes[0] if count == 1 else f"{count}×"
    colour = ORANGE if bank in use.crowded else SKY
    _box(axes, bank, y, colour, text)


def _box(axes, x: float, y: float, colour: str, text: object, width: float = 1) -> None:
    axes.broken_barh([(x, width)], (y, 1), facecolor=colour, edgecolor=INK, linewidth=0.6)
    _label(axes, y + 0.5, text, x + width / 2, "center")


def _label(axes, y: float, text: object, x: float = -0.4, ha: str = "right") -> None:
    axes.text(x, y, text, ha=ha, va="center", fontsize=7, color=INK)


class _Part(NamedTuple):
    """A rectangle of a matrix, in elements."""

    row: int
    column: int
    height: int
    width: int


def matmul_tiles(shape: Size, tile: Size, block: Size, step: int) -> None:
    """What block (x, y) reads of a[M,K] and b[K,N] for its tile of c[M,N]: strips, and the tiles of
    one step along k. `shape` is (M, K, N), `tile` (rows, columns, along k). (Lesson 01_gpu/3.)
    """
    M, K, N = shape
    rows, columns, along = tile
    row = block[1] * rows
    column = block[0] * columns
    k = step * along
    figure, (a, b, c) = canvas(7.5, 2.9, 1, 3, width_ratios=[K, N, N])
    _draw_part(a, _Part(row, 0, rows, K), SKY)
    _draw_part(a, _Part(row, k, rows, along), ORANGE)
    _draw_part(b, _Part(0, column, K, columns), SKY)
    _draw_part(b, _Part(k, column, along, columns), ORANGE)
    _draw_part(c, _Part(row, column, rows, columns), DEEP_SKY)
    _draw_matrix(a, "a", M, K)
    _draw_matrix(b, "b", K, N)
    _draw_matrix(c, "c", M, N)
    reads = f"{rows} rows of a and {columns} columns of b"
    holds = f"columns {k} to {k + along - 1} of those rows, and the same rows of those columns"
    said = f"Block ({block[0]}, {block[1]}) makes a tile of c from {reads}."
    show(figure, f"{said} In step {step + 1} it holds {holds}.")


def _draw_part(axes, part: _Part, colour: str) -> None:
    across = [(part.column, part.width)]
    axes.broken_barh(across, (part.row, part.height), facecolor=colour, edgecolor=INK)


def _draw_matrix(axes, name: str, rows: int, columns: int) -> None:
    """The matrix's border, with row 0 on top, and a tick for each 32 elements."""
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.set(aspect="equal", anchor="N")
    across = [0, columns, columns, 0, 0]
    down = [0, 0, rows, rows, 0]
    axes.plot(across, down, color=INK, linewidth=1, clip_on=False)
    axes.set_xticks(range(0, columns + 1, 32))
    axes.set_yticks(range(0, rows + 1, 32))
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(f"{name} [{rows}, {columns}]")
