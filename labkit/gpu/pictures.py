"""Pictures of a launch: who touches which cell, a warp's sectors, the banks, a block's tiles.

What is drawn is computed in `labkit.gpu.touched`. Several accesses of a profile are drawn below
each other, to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.shapes import box, key, squares, write
from labkit.figures.style import CARD, INK, ORANGE, PALE, QUIET, SKY, Axes, Figure, canvas, show
from labkit.gpu import touched
from labkit.gpu.tile_pictures import DEEP_SKY, matmul_tiles
from labkit.gpu.touched import BANKS, BankUse, Cells, SectorUse, Size
from numba_simt.profiling.counters import SECTOR, WARP

if TYPE_CHECKING:
    from numba_simt.execution.machine import Access

__all__ = ["bank_map", "matmul_tiles", "sector_map", "thread_map"]

BLOCK_COLOURS = (SKY, "#f6d7ae", PALE, ORANGE, DEEP_SKY, "#fbeed9")  # INK reads on each
BANK_ROWS = 8  # of a bank map, at most
POINTS = 72  # of an inch
LEAST_TEXT = 4.5  # points: smaller names are left out


def thread_map(
    grid: Size, block: Size, shape: Size, *accesses: Access, cell: Callable = lambda x, y: (y, x)
) -> None:
    """Which thread of which block touches which cell of an array [rows, columns] or [columns].

    Thread (x, y) = cuda.grid(2) touches `cell(x, y)`, a row and a column; where that lies behind
    the array, it is hatched. With `accesses` the cells are those really touched, of an array that
    starts its allocation.
    (Lesson a_first_kernel.)
    """
    blocks_across, blocks_down = touched.across_and_down(grid)
    threads_across, threads_down = touched.across_and_down(block)
    rows, columns = touched.rows_and_columns(shape)
    if accesses:
        touches = touched.touches_of_accesses(accesses, grid, columns)
        drawn = rows, columns
    else:
        touches = touched.touches_of_rule(grid, block, cell)
        drawn = touched.reached(touches, rows, columns)
    cells = touched.cells(touches, *drawn)
    names = _thread_names(cells, threads_across, threads_down)
    one_axis = blocks_down == 1 and rows == 1
    figure = _draw_cells(cells.block, names, (rows, columns), blocks_across, one_axis)
    inside = cells.count[:rows, :columns]
    one = np.count_nonzero(inside == 1)
    none = np.count_nonzero(inside == 0)
    more = np.count_nonzero(inside > 1)
    behind = cells.count.sum() - inside.sum()
    number = blocks_across * blocks_down
    blocks = f"{number} blocks of {threads_across} by {threads_down} threads"
    counts = f"{one} cells with one thread, {none} with none, {more} with more"
    hatched = f"; {behind} threads, hatched, have no cell" if behind else ""
    show(figure, f"{rows} by {columns} cells under {blocks}: {counts}{hatched}.")


def _thread_names(cells: Cells, threads_across: int, threads_down: int) -> np.ndarray:
    """What is written into each cell: threadIdx, "3×" where three threads come, "" for none."""
    names = []
    for thread, count in zip(cells.thread.flat, cells.count.flat, strict=True):
        if count == 0:
            names.append("")
        elif count > 1:
            names.append(f"{count}×")
        elif threads_down > 1:
            y, x = divmod(thread, threads_across)
            names.append(f"{x},{y}")
        else:
            names.append(str(thread))
    return np.reshape(names, cells.thread.shape)


def _draw_cells(
    owner: np.ndarray, names: np.ndarray, array: tuple, blocks_across: int, one_axis: bool
) -> Figure:
    """Cells [rows, columns] in the colour of their block, with names if there is room for them.

    array       its rows and columns: cells behind it are hatched
    one_axis    blocks and cells have one number each, their place along x
    """
    rows, columns = owner.shape
    side = min(7.2 / columns, 4.5 / rows, 0.5)  # of a cell, in inches
    longest = max(len(name) for name in names.flat)
    letters_in_cell = 0.7 * longest + 0.3  # the side of a cell, in heights of a letter
    fitting = POINTS * side / letters_in_cell
    size = min(9, fitting)  # of a name, in points
    named = size >= LEAST_TEXT
    figure, axes = canvas(7.5, side * rows + (1.2 if one_axis else 0.9))
    _fill_cells(axes, owner)
    hatched = _hatch(axes, owner, *array)
    _draw_borders(axes, owner)
    if named:
        for (row, column), name in np.ndenumerate(names):
            write(axes, column, row, name, size)
    _name_blocks(axes, owner[: array[0], : array[1]], blocks_across, named, one_axis)
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        key(figure, len(BLOCK_COLOURS))
    meaning = "in each cell: threadIdx" if named else "in each area: blockIdx"
    if hatched:
        meaning += "; hatched: threads without an element"
    axes.set_xlabel(meaning, fontsize=9)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    column_ticks = axes.xaxis.get_major_locator()
    column_ticks.set_params(integer=True)
    row_ticks = axes.yaxis.get_major_locator()
    row_ticks.set_params(integer=True, min_n_ticks=1)
    if one_axis:
        axes.set_yticks([])
    return figure


def _fill_cells(axes: Axes, owner: np.ndarray) -> None:
    colours = []
    for colour in (*BLOCK_COLOURS, CARD):
        digits = colour.removeprefix("#")
        colours.append(list(bytes.fromhex(digits)))
    palette = np.array(colours)  # [7, 3], red, green and blue; the last one is for no block
    of_block = owner % len(BLOCK_COLOURS)
    of_cell = np.where(owner < 0, -1, of_block)
    axes.imshow(palette[of_cell])


def _hatch(axes: Axes, owner: np.ndarray, rows: int, columns: int) -> bool:
    """Stripes over the threads behind an array [rows, columns]; whether there are any."""
    behind = owner >= 0
    behind[:rows, :columns] = False
    for row, column in np.argwhere(behind):
        box(axes, column - 0.5, row - 0.5, 1, 1, CARD, edge=PALE, linewidth=0, hatch="///")
    return bool(behind.any())


def _draw_borders(axes: Axes, owner: np.ndarray) -> None:
    """A line wherever the block changes from a cell to the next one."""
    line = {"color": INK, "linewidth": 1.5}
    to_below = np.diff(owner, axis=0)
    row, column = np.nonzero(to_below)
    axes.hlines(row + 0.5, column - 0.5, column + 0.5, **line)
    to_right = np.diff(owner, axis=1)
    row, column = np.nonzero(to_right)
    axes.vlines(column + 0.5, row - 0.5, row + 0.5, **line)


def _name_blocks(
    axes: Axes, owner: np.ndarray, blocks_across: int, named: bool, one_axis: bool
) -> None:
    """blockIdx: in a legend where the cells have names, else in the middle of the block's area."""
    owned = owner[owner >= 0]
    for block in np.unique(owned):
        y, x = divmod(block, blocks_across)
        label = f"{x}" if one_axis else f"{x},{y}"
        if not named:
            area = np.argwhere(owner == block)
            row, column = area.mean(axis=0)
            write(axes, column, row, label, 8)
        elif owner.max() < len(BLOCK_COLOURS):
            squares(axes, {f"block {label}": BLOCK_COLOURS[block]}, s=60)


def sector_map(*accesses: Access, titles: Sequence[str] = ()) -> None:
    """The lanes of a warp above the 32-byte sectors of global memory that they touch.

    A panel for each access; `titles` replace the names of the first ones.
    (Lesson memory_and_warps.)
    """
    _draw_panels(accesses, titles, _draw_sectors)


def bank_map(*accesses: Access, titles: Sequence[str] = ()) -> None:
    """Shared memory, 32 banks wide, with the lanes in the 4-byte words that they touch.

    A bank with several words of one pass is orange: a conflict. A panel for each access; `titles`
    replace the names of the first ones.
    (Lesson memory_and_warps.)
    """
    _draw_panels(accesses, titles, _draw_banks)


def _draw_panels(accesses: Sequence[Access], titles: Sequence[str], draw: Callable) -> None:
    rows = len(accesses)
    figure, panels = canvas(7.5, 2.0 * rows, rows, 1)
    names = [f"line {access.line}, {access.kind} of {access.array}" for access in accesses]
    names[: len(titles)] = titles
    said = []
    for name, access, axes in zip(names, accesses, np.ravel(panels), strict=True):
        use = draw(axes, access)
        title = f"{name}: {use}"
        axes.set_title(title, fontsize=10, loc="left")
        axes.axis("off")
        said.append(title)
    show(figure, f"A warp's lanes and the memory they touch. {'. '.join(said)}.")


def _draw_sectors(axes: Axes, access: Access) -> str:
    """The picture of one access to global memory; returns what it says."""
    use = touched.sector_use(access)
    _draw_lanes(axes, use)
    _label(axes, 2.5, "lane")
    _label(axes, 0.5, "sector")
    needed = len(use.sectors)
    fitting = WARP / max(1, needed)
    width = min(8, fitting)  # of a sector, in lanes
    _draw_bytes(axes, use, access.itemsize, width)
    last = needed - 1
    for i, sector in enumerate(use.sectors):
        _box(axes, i * width, 0, "none", "", width)
        if width >= 1.5 or i in (0, last):  # else the numbers would overlap
            _label(axes, -0.5, sector, (i + 0.5) * width, "center")
    axes.set_xlim(-3.2, WARP + 0.1)
    axes.set_ylim(-0.9, 3.1)
    sectors = "1 sector" if needed == 1 else f"{needed} sectors"
    used = len(use.used)
    moved = needed * SECTOR
    return f"{sectors}, {used} of {moved} bytes used"


def _draw_lanes(axes: Axes, use: SectorUse) -> None:
    """The lanes of a warp in a row; those that take part are filled."""
    for lane in range(WARP):
        _box(axes, lane, 2, SKY if lane in use.lanes else CARD, lane)


def _draw_bytes(axes: Axes, use: SectorUse, itemsize: int, width: float) -> None:
    """The bytes that are used, and a line from each lane to the middle of its own."""
    a_byte = width / SECTOR
    sector, offset = np.divmod(use.used, SECTOR)
    number = np.searchsorted(use.sectors, sector)  # of the sectors that are drawn
    left = width * (number + offset / SECTOR)
    first = np.searchsorted(use.used, use.first)
    half = a_byte * itemsize / 2
    middle = left[first] + half
    starts = use.lanes + 0.5
    top = np.full(len(use.lanes), 2)
    bottom = np.full(len(use.lanes), 1)
    axes.plot([starts, middle], [top, bottom], color=QUIET, linewidth=0.7)
    across = [(x, a_byte) for x in left]
    axes.broken_barh(across, (0, 1), facecolor=SKY)


def _draw_banks(axes: Axes, access: Access) -> str:
    """The picture of one access to shared memory; returns what it says."""
    use = touched.bank_use(access)
    row_of_word = use.word // BANKS
    rows = np.unique(row_of_word)
    shown = rows[:BANK_ROWS]
    for y, row in enumerate(shown):
        _label(axes, 0.5 - y, f"row {row}")
        for bank in range(BANKS):
            _draw_word(axes, use, row, bank, -y)
    heading = 1.4
    for bank in range(BANKS):
        _label(axes, heading, bank, bank + 0.5, "center")
    _label(axes, heading, "bank")
    hidden = len(rows) - len(shown)
    if hidden:
        _label(axes, 0.5 - BANK_ROWS, f"and {hidden} more rows", BANKS / 2, "center")
    height = np.clip(len(rows), 3, BANK_ROWS + 1)
    axes.set_xlim(-3.2, BANKS + 0.1)
    axes.set_ylim(0.5 - height, 1.9)
    passes = "1 pass" if use.passes == 1 else f"{use.passes} passes"
    return f"{passes} over the banks, {use.conflicts} conflicts"


def _draw_word(axes: Axes, use: BankUse, row: int, bank: int, y: float) -> None:
    """The word of this row and bank: the lane that touches it, or how many do."""
    word = row * BANKS + bank
    lanes = use.lane[use.word == word]
    count = len(lanes)
    if count == 0:
        _box(axes, bank, y, CARD, "")
        return
    text = lanes[0] if count == 1 else f"{count}×"
    _box(axes, bank, y, ORANGE if bank in use.crowded else SKY, text)


def _box(axes: Axes, x: float, y: float, colour: str, text: object, width: float = 1) -> None:
    """A box of height 1 with a text in its middle."""
    axes.broken_barh([(x, width)], (y, 1), facecolor=colour, edgecolor=INK, linewidth=0.6)
    _label(axes, y + 0.5, text, x + width / 2, "center")


def _label(axes: Axes, y: float, text: object, x: float = -0.4, ha: str = "right") -> None:
    write(axes, x, y, text, 7, ha=ha, color=INK)
