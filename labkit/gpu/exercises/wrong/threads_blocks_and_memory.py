"""Wrong ideas of ReLU, scaled rows, a tiled transpose and a sum, as which threads do what."""

import numpy as np

from labkit.gpu.kernel_exercise import blocks

THREADS = 128  # of a block, along one axis
BLOCK = (32, 8)  # along x, along y
TILE = 32


def relu_of_first(x, n):
    """ReLU of the first n elements; the others are not written."""
    written = np.arange(x.size) < n
    every_element = np.maximum(x, 0)
    return np.where(written, every_element, 0)


def relu_of_summed_numbers(x):
    """The block's number plus the thread's counts only so far."""
    last_block = blocks(x.size, THREADS) - 1
    return relu_of_first(x, last_block + THREADS)


# b[row, col] = a[row, col] * scale[row] + shift[row]


def scaled(a, scale, shift):
    """The right b."""
    return a * scale[:, None] + shift[:, None]


def scale_corner(a, scale, shift, rows, cols):
    """Only the elements above and left of (rows, cols) are written."""
    every_element = scaled(a, scale, shift)
    b = np.zeros_like(a)
    b[:rows, :cols] = every_element[:rows, :cols]
    return b


def scale_swapped(a, scale, shift):
    """Rows run along x, of which the grid has as many threads as it needs columns."""
    R, C = a.shape
    width, height = BLOCK
    threads_along_x = width * blocks(C, width)
    threads_along_y = height * blocks(R, height)
    return scale_corner(a, scale, shift, rows=threads_along_x, cols=threads_along_y)


def scaled_by_column(a, scale, shift):
    """Scale and shift are looked up by the column; raises where there are more columns."""
    columns = a.shape[1]
    scale_of_columns = scale[:columns]
    shift_of_columns = shift[:columns]
    turned = scaled(a.T, scale_of_columns, shift_of_columns)
    return turned.T


# b = a transposed


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


# total[0] = the sum of all x


def sum_of(x):
    """The right total [1]."""
    total = x.sum(dtype=np.float64)
    return np.array([total], np.float32)


def in_blocks(x):
    """x as [blocks, threads], with zeros behind its end."""
    missing = -x.size % THREADS
    padded = np.pad(x.astype(np.float64), (0, missing))
    return padded.reshape(-1, THREADS)


ROUNDS = (64, 32, 16, 8, 4, 2, 1)


def sum_rounds(x, *rounds, add=np.add, one_neighbour=False):
    """The sum when the tree combines only at the distances `rounds`.

    add             how a partial sum and its neighbour are combined
    one_neighbour   all threads of a round take the number at `step`, none its own neighbour's
    """
    partial = in_blocks(x)
    for step in rounds:
        last = step + 1 if one_neighbour else 2 * step
        own = partial[:, :step]
        neighbours = partial[:, step:last]
        partial[:, :step] = add(own, neighbours)
    return sum_of(partial[:, 0])
