"""Pictures of a launch: who touches which cell, a warp's sectors, the banks, a block's tiles.

An `Access` of a profile is one memory instruction of one warp: `addresses` [32] has a byte offset
for each lane, -1 for an idle one. Several accesses are drawn below each other, to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import CARD, INK, ORANGE, PALE, QUIET, SKY, canvas, show
from labkit.gpu.counters import SECTOR, WARP

if TYPE_CHECKING:
    from labkit.gpu.simt.machine import Access

_BLOCKS = (SKY, "#f6d7ae", PALE, ORANGE, "#6f9fc8", "#fbeed9")  # INK reads on each
BANKS, _ROWS = 32, 8  # of 4 bytes; rows of a bank map, at most
Size = int | Sequence[int]


def thread_map(
    grid: Size, block: Size, shape: Size, *accesses: Access, cell: Callable = lambda x, y: (y, x)
) -> None:
    """Which thread of which block touches which cell of an array [rows, columns] or [columns].

    Thread (x, y) = cuda.grid(2) touches `cell(x, y)`, a row and a column. With `accesses` the cells
    are those really touched, of an array that starts its allocation.
    """
    (gx, gy), (bx, by) = ([*np.atleast_1d(sizes), 1][:2] for sizes in (grid, block))
    if accesses:
        blocks = np.repeat([a.block[1] * gx + a.block[0] for a in accesses], WARP)
        threads = np.ravel([a.warp * WARP + np.arange(WARP) for a in accesses])
        element = np.ravel([a.addresses // a.itemsize for a in accesses])  # -1 stays -1
        row, column = divmod(element, np.atleast_1d(shape)[-1])
    else:
        j, i, y, x = (index.ravel() for index in np.indices((gy, gx, by, bx)))
        blocks, threads = j * gx + i, y * bx + x
        row, column = (np.broadcast_to(n, x.shape) for n in cell(i * bx + x, j * by + y))
    rows, columns = (1, *np.atleast_1d(shape))[-2:]
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    at = row[inside][::-1], column[inside][::-1]  # of several threads the first one stays
    owner, thread, count = (np.full((rows, columns), n) for n in (-1, -1, 0))
    owner[at], thread[at] = blocks[inside][::-1], threads[inside][::-1]
    np.add.at(count, at, 1)
    names = [f"{t % bx},{t // bx}" if by > 1 else str(t) for t in thread.flat]
    names = [n if k == 1 else f"{k}×" if k else "" for n, k in zip(names, count.flat, strict=True)]
    none, one, more = (int(np.sum(n)) for n in (count == 0, count == 1, count > 1))
    said = f"{rows} by {columns} cells under {gx * gy} blocks of {bx} by {by} threads"
    said += f": {one} cells with one thread, {none} with none, {more} with more."
    show(_cells(owner, np.reshape(names, owner.shape), gx), said)


def _cells(owner: np.ndarray, names: np.ndarray, grid_width: int):
    """Cells [rows, columns] in the colour of their block, with names if there is room for them."""
    side = min(7.2 / owner.shape[1], 4.5 / len(owner), 0.5)  # of a cell, in inches
    size = min(9, 72 * side / (0.7 * max(map(len, names.flat)) + 0.3))  # of a name, in points
    named = size >= 4.5
    figure, axes = canvas(7.5, side * len(owner) + 0.9)
    palette = np.array([[*bytes.fromhex(colour[1:])] for colour in (*_BLOCKS, CARD)])  # RGB
    axes.imshow(palette[np.where(owner < 0, -1, owner % len(_BLOCKS))])
    for axis, lines in ((0, axes.hlines), (1, axes.vlines)):  # borders between blocks
        at, along = np.argwhere(np.diff(owner, axis=axis)).T[:: 1 - 2 * axis]
        lines(at + 0.5, along - 0.5, along + 0.5, color=INK, linewidth=1.5)
    for (i, j), name in np.ndenumerate(names) if named else ():
        axes.text(j, i, name, ha="center", va="center", fontsize=size)
    for b in np.unique(owner[owner >= 0]):
        label = f"{b % grid_width},{b // grid_width}"
        i, j = np.argwhere(owner == b).mean(axis=0)
        if not named:
            axes.text(j, i, label, ha="center", va="center", fontsize=8)
        elif owner.max() < len(_BLOCKS):
            axes.scatter([], [], s=60, marker="s", color=_BLOCKS[b], label=f"block {label}")
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=len(_BLOCKS), fontsize=9, frameon=False)
    axes.set_xlabel("in each cell: threadIdx" if named else "in each area: blockIdx", fontsize=9)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    return figure


def sector_map(*accesses: Access, titles: Sequence[str] = ()) -> None:
    """The lanes of a warp above the 32-byte sectors of global memory that they touch."""
    _panels(accesses, titles, _sectors)


def bank_map(*accesses: Access, titles: Sequence[str] = ()) -> None:
    """Shared memory, 32 banks wide, with the lanes in the 4-byte words that they touch."""
    _panels(accesses, titles, _banks)


def _panels(accesses: Sequence[Access], titles: Sequence[str], draw: Callable) -> None:
    figure, panels = canvas(7.5, 2.0 * len(accesses), len(accesses), 1)
    said = [f"line {access.line}, {access.kind} of {access.array}" for access in accesses]
    said[: len(titles)] = titles
    for i, (access, axes) in enumerate(zip(accesses, np.ravel(panels), strict=True)):
        said[i] += ": " + draw(axes, access)
        axes.set_title(said[i], fontsize=10, loc="left")
        axes.axis("off")
    show(figure, f"A warp's lanes and the memory they touch. {'. '.join(said)}.")


def _sectors(axes, access: Access) -> str:
    active = np.flatnonzero(access.addresses >= 0)
    first = access.addresses[active]
    used = np.unique(first[:, None] + np.arange(access.itemsize))  # bytes
    sectors = np.unique(used // SECTOR)
    n, width = len(sectors), min(8, WARP / max(1, len(sectors)))  # of a sector, in lanes
    left = width * (np.searchsorted(sectors, used // SECTOR) + used % SECTOR / SECTOR)
    ends = left[np.searchsorted(used, first)] + width * access.itemsize / SECTOR / 2
    for lane in range(WARP):
        _box(axes, lane, 2, SKY if lane in active else CARD, lane)
    axes.plot([active + 0.5, ends], np.outer([2, 1], active >= 0), color=QUIET, linewidth=0.7)
    axes.broken_barh([(x, width / SECTOR) for x in left], (0, 1), facecolor=SKY)
    for i, sector in enumerate(sectors):
        _box(axes, i * width, 0, "none", "", width)
        if width >= 1.5 or i in (0, n - 1):
            _label(axes, -0.5, sector, (i + 0.5) * width, ha="center")
    _label(axes, 2.5, "lane")
    _label(axes, 0.5, "sector")
    axes.set(xlim=(-3.2, WARP + 0.1), ylim=(-0.9, 3.1))
    return f"{n} sector{'s' * (n != 1)}, {len(used)} of {n * SECTOR} bytes used"


def _banks(axes, access: Access) -> str:
    size = max(1, access.itemsize // 4)  # words; wide accesses go by half or quarter warps
    active = np.flatnonzero(access.addresses >= 0)
    lane = np.repeat(active, size)
    word = (access.addresses[active, None] // 4 + np.arange(size)).ravel()
    passes, crowded, groups = 0, set(), set(lane * size // WARP)
    for group in groups:
        words_of_bank = np.bincount(np.unique(word[lane * size // WARP == group]) % BANKS)
        passes += int(words_of_bank.max())
        crowded.update(np.flatnonzero(words_of_bank > 1))
    rows = np.unique(word // BANKS)
    for y, bank in np.ndindex(min(len(rows), _ROWS), BANKS):
        who = lane[word == rows[y] * BANKS + bank]
        fill = CARD if not len(who) else ORANGE if bank in crowded else SKY
        _box(axes, bank, -y, fill, f"{len(who)}×" if len(who) > 1 else "".join(map(str, who)))
    for y, row in enumerate(rows[:_ROWS]):
        _label(axes, 0.5 - y, f"row {row}")
    for bank in range(BANKS):
        _label(axes, 1.4, bank, bank + 0.5, ha="center")
    _label(axes, 1.4, "bank")
    if len(rows) > _ROWS:
        _label(axes, 0.5 - _ROWS, f"and {len(rows) - _ROWS} more rows", BANKS / 2, ha="center")
    axes.set(xlim=(-3.2, BANKS + 0.1), ylim=(0.5 - np.clip(len(rows), 3, _ROWS + 1), 1.9))
    return f"{passes} pass{'es' * (passes != 1)} over the banks, {passes - len(groups)} conflicts"


def _box(axes, x: float, y: float, colour: str, text: object, width: float = 1) -> None:
    axes.broken_barh([(x, width)], (y, 1), facecolor=colour, edgecolor=INK, linewidth=0.6)
    _label(axes, y + 0.5, text, x + width / 2, "center")


def _label(axes, y: float, text: object, x: float = -0.4, ha: str = "right") -> None:
    axes.text(x, y, text, ha=ha, va="center", fontsize=7, color=INK)


def matmul_tiles(shape: Size, tile: Size, block: Size, step: int) -> None:
    """What block (x, y) reads of a[M,K] and b[K,N] for its tile of c[M,N]: strips, and the tiles of
    one step along k. `shape` is (M, K, N), `tile` (rows, columns, along k). (Lesson 01_gpu/3.)
    """
    (M, K, N), (rows, columns, along) = shape, tile
    row, column, k = block[1] * rows, block[0] * columns, step * along
    strips = {"a": (row, 0, rows, K), "b": (0, column, K, columns), "c": None}
    tiles = {"a": (row, k, rows, along), "b": (k, column, along, columns)}
    tiles["c"] = row, column, rows, columns
    figure, axes = canvas(7.5, 2.9, 1, 3, width_ratios=[K, N, N])
    for ax, name, (h, w) in zip(axes, "abc", ((M, K), (K, N), (M, N)), strict=True):
        fills = ((strips[name], SKY), (tiles[name], ORANGE if name != "c" else "#6f9fc8"))
        for (y, x, height, width), colour in (fill for fill in fills if fill[0]):
            ax.broken_barh([(x, width)], (y, height), facecolor=colour, edgecolor=INK)
        ax.set(xlim=(0, w), ylim=(h, 0), aspect="equal", anchor="N")
        ax.plot([0, w, w, 0, 0], [0, 0, h, h, 0], color=INK, linewidth=1, clip_on=False)
        ax.set(xticks=range(0, w + 1, 32), yticks=range(0, h + 1, 32))
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_title(f"{name} [{h}, {w}]")
    said = f"Block ({block[0]}, {block[1]}) makes a tile of c from {rows} rows of a and {columns} "
    said += (
        f"columns of b. In step {step + 1} it holds columns {k} to {k + along - 1} of those rows"
    )
    show(figure, said + ", and the same rows of those columns.")
