"""Wrong ideas of gpu.matmul_registers: a tile of c in registers.

A tile has 64 x 64 results, of which each thread makes 16. Thread (tx, ty) makes
those in rows ty + 8 i and columns tx + 32 j of the tile.
"""

from collections.abc import Callable

import numpy as np

from labkit_lessons.gpu.tiles.wrong.shared import last_of_last_step, products, wide

TILE = 64  # rows, and columns, of a tile of c
THREADS_DOWN = 8
THREADS_ACROSS = 32


# Which row of a's tile, and which column of b's tile, is read


def rows_read(change: Callable) -> Callable:
    """Where row ty + 8 * i of the tile belongs, the kernel reads row change(ty, i)."""

    def of_a(m, n, start, k):
        row = m % TILE
        begin = m - row
        ty = row % THREADS_DOWN
        i = row // THREADS_DOWN
        return begin + change(ty, i), start + k

    return products(of_a=of_a)


def columns_read(change: Callable) -> Callable:
    """Where column tx + 32 * j of the tile belongs, the kernel reads column change(tx, j)."""

    def of_b(m, n, start, k):
        column = n % TILE
        begin = n - column
        tx = column % THREADS_ACROSS
        j = column // THREADS_ACROSS
        return start + k, begin + change(tx, j)

    return products(of_b=of_b)


def first_row_again(ty, i):
    """The thread's first row for all eight."""
    return ty


def neighbouring_rows(ty, i):
    """The thread's rows lie one below the other, and overlap with the next thread's."""
    return ty + i


def blocks_of_rows(ty, i):
    """The thread's rows lie one below the other, eight for each thread."""
    return 8 * ty + i


def left_column_again(tx, j):
    """The column in the left half for both."""
    return tx


def right_column_again(tx, j):
    """The column in the right half for both."""
    return tx + THREADS_ACROSS


def other_half(tx, j):
    """The right half for the left, and the other way round."""
    other = 1 - j
    return tx + THREADS_ACROSS * other


def neighbouring_columns(tx, j):
    """The thread's columns lie side by side, and overlap with the next thread's."""
    return tx + j


def pairs_of_columns(tx, j):
    """The thread's columns lie side by side, two for each thread."""
    return 2 * tx + j


# Which results of a tile of c are written


def tiles_of_c(written: np.ndarray) -> Callable:
    """The product with 0 in every tile's place that is not `written`, [64, 1] or [1, 64]."""

    def wrong(a, b):
        c = wide(a) @ b
        M, N = c.shape
        missing_rows = -M % TILE
        missing_columns = -N % TILE
        whole = np.pad(c, ((0, missing_rows), (0, missing_columns)))
        tiles_down = len(whole) // TILE
        tiles = whole.reshape(tiles_down, TILE, -1, TILE)
        tiles = tiles.swapaxes(1, 2)  # [tiles down, tiles across, 64, 64]
        kept = tiles * written
        as_it_was = kept.swapaxes(1, 2).reshape(whole.shape)
        return as_it_was[:M, :N]

    return wrong


ROW = np.arange(TILE)[:, None]
COLUMN = np.arange(TILE)[None, :]

REGISTER_SLIPS = {
    "first_rows_only": tiles_of_c(ROW < THREADS_DOWN),
    "first_rows_missing": tiles_of_c(ROW >= THREADS_DOWN),
    "last_rows_missing": tiles_of_c(ROW < TILE - THREADS_DOWN),
    "left_half_only": tiles_of_c(COLUMN < THREADS_ACROSS),
    "right_half_only": tiles_of_c(COLUMN >= THREADS_ACROSS),
    "left_half_twice": columns_read(left_column_again),
    "right_half_twice": columns_read(right_column_again),
    "halves_swapped": columns_read(other_half),
    "neighbouring_columns": columns_read(neighbouring_columns),
    "pairs_of_columns": columns_read(pairs_of_columns),
    "last_product_only": last_of_last_step,
    "first_rows_everywhere": rows_read(first_row_again),
    "neighbouring_rows": rows_read(neighbouring_rows),
    "blocks_of_rows": rows_read(blocks_of_rows),
}
