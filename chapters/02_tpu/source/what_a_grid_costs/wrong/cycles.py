"""Wrong ideas of tpu.cycles: sizes M, K, N [n], rows, cols of the grid -> cycles [n]."""

from collections.abc import Callable

import numpy as np


def up(size, side):
    """Pieces of a size on a side of the grid, the last one perhaps not full; as it should be."""
    return -(-size // side)


def right_tiles(K, N, rows, cols):
    """How many tiles there are; as it should be."""
    tiles_down = up(K, rows)
    tiles_across = up(N, cols)
    return tiles_down * tiles_across


def fill_of(rows, cols):
    """Cycles that a tile's last number needs to cross the grid; as they should be."""
    return rows + cols - 2


def one_tile(M, rows, cols):
    """Cycles of a tile: load, stream and fill; as they should be."""
    load = rows
    fill = fill_of(rows, cols)
    return load + M + fill


def with_tile(more: Callable) -> Callable:
    """A tile takes `more(rows, cols)` cycles more than it should, or fewer."""

    def wrong(M, K, N, rows, cols):
        tile = one_tile(M, rows, cols) + more(rows, cols)
        return tile * right_tiles(K, N, rows, cols)

    return wrong


def no_load(rows, cols):
    """The weights are there at once."""
    return -rows


def load_by_columns(rows, cols):
    """The load takes a cycle for each column, not for each row."""
    return cols - rows


def no_fill(rows, cols):
    """The fill is forgotten."""
    fill = fill_of(rows, cols)
    return -fill


def fill_too_long(rows, cols):
    """The fill is rows + cols."""
    return 2


def fill_one_too_long(rows, cols):
    """The fill is rows + cols - 1."""
    return 1


def fill_without_rows(rows, cols):
    """All rows begin in the same cycle."""
    return 1 - rows


def fill_without_columns(rows, cols):
    """Nothing has to cross the grid."""
    return 1 - cols


def load_by_cells(rows, cols):
    """The weights come one by one."""
    return rows * cols - rows


def stream_one_short(rows, cols):
    """The stream takes M - 1 cycles."""
    return -1


def with_pieces(pieces: Callable) -> Callable:
    """`pieces(size, side)` stands for the number of pieces, of K and of N."""

    def wrong(M, K, N, rows, cols):
        tiles_down = pieces(K, rows)
        tiles_across = pieces(N, cols)
        tiles = tiles_down * tiles_across
        return one_tile(M, rows, cols) * tiles

    return wrong


def one_piece(size, side):
    """No size is cut."""
    return 1


def full_pieces(size, side):
    """A piece that is not full is left out."""
    return size // side


def nearest_pieces(size, side):
    """Less than half a piece is left out."""
    return np.rint(size / side)


def by_reciprocals(size, side):
    """Rounding up what a float holds a little too large: 273 * (1 / 91) is more than 3."""
    return np.ceil(size * (1 / side))


def one_piece_more(size, side):
    """One piece more than full ones, always."""
    return size // side + 1


def part_of_a_piece(size, side):
    """A piece that is not full costs less."""
    return size / side


def one_piece_at_least(size, side):
    """A piece that is not full counts only where it is the only one."""
    return np.maximum(size // side, 1)


def with_tiles(tiles: Callable) -> Callable:
    """`tiles(K, N, rows, cols)` stands for their number."""

    def wrong(M, K, N, rows, cols):
        return one_tile(M, rows, cols) * tiles(K, N, rows, cols)

    return wrong


def by_area(K, N, rows, cols):
    """The elements of a tile's area, wherever they lie."""
    elements = K * N
    cells = rows * cols
    return up(elements, cells)


def tiles_added(K, N, rows, cols):
    """The pieces of K and those of N are added up."""
    return up(K, rows) + up(N, cols)


def sides_swapped(K, N, rows, cols):
    """K lies along the columns of the grid, N along its rows."""
    return up(K, cols) * up(N, rows)


def n_whole(K, N, rows, cols):
    """N is not cut."""
    return up(K, rows)


def k_whole(K, N, rows, cols):
    """K is not cut."""
    return up(N, cols)


def m_cut(M, K, N, rows, cols):
    """The rows of a are cut into pieces as well."""
    pieces_of_m = up(M, rows)
    tiles = pieces_of_m * right_tiles(K, N, rows, cols)
    return one_tile(M, rows, cols) * tiles


def tile_as_grid(M, K, N, rows, cols):
    """The fill is that of a grid of K x N cells."""
    tiles = right_tiles(K, N, rows, cols)
    fill = K + N - 2
    return (rows + M + fill) * tiles


def small_tile_alone(M, K, N, rows, cols):
    """Where K or N is smaller than the grid, load and fill are those of so many rows or columns."""
    tile = one_tile(M, np.minimum(K, rows), np.minimum(N, cols))
    return tile * right_tiles(K, N, rows, cols)


def loads_once(M, K, N, rows, cols):
    """Only the first tile is loaded."""
    tiles = right_tiles(K, N, rows, cols)
    fill = fill_of(rows, cols)
    return rows + (M + fill) * tiles


def fill_once(M, K, N, rows, cols):
    """Only the last tile pays for the fill."""
    tiles = right_tiles(K, N, rows, cols)
    fill = fill_of(rows, cols)
    return (rows + M) * tiles + fill


def both_once(M, K, N, rows, cols):
    """Load and fill are paid once, for all tiles."""
    tiles = right_tiles(K, N, rows, cols)
    return rows + M * tiles + fill_of(rows, cols)


def longer_of_both(M, K, N, rows, cols):
    """A tile's load and its own stream run at the same time."""
    tile = np.maximum(M, rows) + fill_of(rows, cols)
    return tile * right_tiles(K, N, rows, cols)


def two_registers(M, K, N, rows, cols):
    """A tile is loaded while the one before it streams."""
    tiles = right_tiles(K, N, rows, cols)
    each_further = np.maximum(M, rows)
    first = one_tile(M, rows, cols)
    others = tiles - 1
    return first + others * each_further


def all_cells_busy(M, K, N, rows, cols):
    """Every cell works in every cycle."""
    cells = rows * cols
    multiply_adds = M * K * N
    return multiply_adds / cells
