"""What the threads of a launch touch: cells of an array, sectors of global memory, shared banks.

Plain NumPy, which `labkit.gpu.pictures` draws: lessons a_first_kernel and memory_and_warps. An
`Access` of a profile is one memory instruction of one warp: `addresses` [32] has a byte offset for
each lane, -1 if it is idle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numba_simt.profiling.counters import SECTOR, WARP

if TYPE_CHECKING:
    from numba_simt.execution.machine import Access

BANKS = 32  # of shared memory
WORD = 4  # bytes of a bank's word
Size = int | Sequence[int]


class Touches(NamedTuple):
    """One entry for each time that a thread touches a cell: four integer arrays of one length."""

    block: np.ndarray  # its number, counted along x first
    thread: np.ndarray  # its number in the block, along x first
    row: np.ndarray  # of the cell; it may lie outside of the array
    column: np.ndarray


class Cells(NamedTuple):
    """What came to each cell of an array: three integer arrays [rows, columns]."""

    block: np.ndarray  # of the first thread that touches the cell; -1 for none
    thread: np.ndarray  # its number in the block; -1 for none
    count: np.ndarray  # how many touch it


class SectorUse(NamedTuple):
    """The sectors of global memory that one access needs."""

    lanes: np.ndarray  # those that take part
    first: np.ndarray  # the first byte of each of them
    used: np.ndarray  # all bytes that are touched, ascending
    sectors: np.ndarray  # the numbers of the sectors that hold them, ascending


class BankUse(NamedTuple):
    """The words of shared memory that one access touches, and what they cost."""

    lane: np.ndarray  # an entry for each word of each lane that takes part
    word: np.ndarray  # which word
    crowded: set[int]  # the banks that hold several words of one pass's lanes
    passes: int  # over the banks, until all lanes are served
    conflicts: int  # passes beyond the one that each group of lanes needs in any case


def across_and_down(size: Size) -> tuple[int, int]:
    """The first two sizes of a grid or block, along x and along y; 1 for a missing one."""
    across, down, *_ = (*np.atleast_1d(size), 1)
    return across, down


def rows_and_columns(shape: Size) -> tuple[int, int]:
    """The last two sizes of an array's shape; one axis is one row."""
    *_, rows, columns = (1, *np.atleast_1d(shape))
    return rows, columns


def touches_of_rule(grid: Size, block: Size, cell: Callable) -> Touches:
    """Every thread (x, y) = cuda.grid(2) touches the row and the column `cell(x, y)`, once."""
    blocks_across, blocks_down = across_and_down(grid)
    threads_across, threads_down = across_and_down(block)
    indices = np.indices((blocks_down, blocks_across, threads_down, threads_across))
    block_y, block_x, thread_y, thread_x = (index.ravel() for index in indices)
    x = block_x * threads_across + thread_x
    y = block_y * threads_down + thread_y
    row, column = cell(x, y)
    return Touches(
        block=block_y * blocks_across + block_x,
        thread=thread_y * threads_across + thread_x,
        row=np.broadcast_to(row, x.shape),
        column=np.broadcast_to(column, x.shape),
    )


def touches_of_accesses(accesses: Sequence[Access], grid: Size, columns: int) -> Touches:
    """What the lanes really touched, of an array with `columns` that starts its allocation."""
    blocks_across, _ = across_and_down(grid)
    block = [access.block[1] * blocks_across + access.block[0] for access in accesses]
    thread = [access.warp * WARP + np.arange(WARP) for access in accesses]
    element = [access.addresses // access.itemsize for access in accesses]  # -1 stays -1
    row, column = np.divmod(np.ravel(element), columns)
    return Touches(np.repeat(block, WARP), np.ravel(thread), row, column)


def reached(touches: Touches, rows: int, columns: int) -> tuple[int, int]:
    """The sizes of an array [rows, columns], enlarged until it has every cell that is touched."""
    most_rows = max(rows, int(touches.row.max()) + 1)
    most_columns = max(columns, int(touches.column.max()) + 1)
    return most_rows, most_columns


def cells(touches: Touches, rows: int, columns: int) -> Cells:
    """Who comes to which cell of an array [rows, columns]; what lies outside is left out."""
    inside = (touches.row >= 0) & (touches.row < rows)
    inside &= (touches.column >= 0) & (touches.column < columns)
    row = touches.row[inside]
    column = touches.column[inside]
    block = np.full((rows, columns), -1)
    thread = np.full((rows, columns), -1)
    count = np.full((rows, columns), 0)
    backwards = row[::-1], column[::-1]  # of several threads the first one stays
    block[backwards] = touches.block[inside][::-1]
    thread[backwards] = touches.thread[inside][::-1]
    np.add.at(count, (row, column), 1)
    return Cells(block, thread, count)


def sector_use(access: Access) -> SectorUse:
    """The 32-byte sectors that an access of global memory needs."""
    lanes = np.flatnonzero(access.addresses >= 0)
    first = access.addresses[lanes]
    used = np.unique(first[:, None] + np.arange(access.itemsize))
    return SectorUse(lanes, first, used, np.unique(used // SECTOR))


def bank_use(access: Access) -> BankUse:
    """The words, passes and conflicts of an access of shared memory.

    Word w lies in bank w mod 32, and a pass reads one word of each bank. Lanes that need 8 or 16
    bytes go in halves or quarters of the warp, each a group of its own. A group takes as many
    passes as its fullest bank has different words.
    """
    words = max(1, access.itemsize // WORD)  # of a lane
    lanes = np.flatnonzero(access.addresses >= 0)
    lane = np.repeat(lanes, words)
    word = np.ravel(access.addresses[lanes, None] // WORD + np.arange(words))
    group = lane * words // WARP
    groups = np.unique(group)
    passes = 0
    crowded = set()
    for each in groups:
        different = np.unique(word[group == each])
        words_of_bank = np.bincount(different % BANKS)
        passes += int(words_of_bank.max())
        crowded.update(np.flatnonzero(words_of_bank > 1).tolist())
    return BankUse(lane, word, crowded, passes, passes - len(groups))
