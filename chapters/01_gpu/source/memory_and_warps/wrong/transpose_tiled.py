"""Wrong ideas of gpu.transpose_tiled: b = a transposed, through tiles in shared memory."""

import numpy as np

from labkit.gpu.judging.kernel_exercise import blocks

TILE = 32


def transpose_half(a, *order):
    """a.T with one of its two halves left out; the axes are tile, row in it, tile, column in it."""
    R, C = a.shape
    longer = max(R, C)
    n = blocks(longer, TILE)
    side = n * TILE
    square = np.zeros((side, side), a.dtype)
    square[:R, :C] = a
    tiles = square.reshape(n, TILE, n, TILE)
    moved = tiles.transpose(order).reshape(side, side)
    return moved[:C, :R]


def transpose_diagonals(a):
    """Every row of a tile of the result is the diagonal of the tile that was read."""
    R, C = a.shape
    row, col = np.indices((C, R))
    tile_begin = row // TILE * TILE
    on_diagonal = tile_begin + col % TILE
    inside = np.minimum(on_diagonal, C - 1)
    return a[col, inside]
