"""Wrong ideas of lesson 02_tpu/1: feeds, one cycle, a count. They may raise, as a learner's would.

Those of its fourth exercise are in implicit_rows.py.
"""

from collections.abc import Callable

import numpy as np

# tpu.skew: a[M,K] -> feeds[M+K-1,K]


def together(a):
    """All columns begin in cycle 0."""
    below = a.shape[1] - 1
    return np.pad(a, ((0, below), (0, 0)))


def delayed(a, delays):
    """Column k begins in cycle delays[k]: [M + max(delays), K]."""
    longest = max(delays)
    columns = [np.pad(a[:, k], (delay, longest - delay)) for k, delay in enumerate(delays)]
    return np.stack(columns, axis=1)


def last_first(a):
    """The last column begins in cycle 0, and the first one K - 1 cycles later."""
    K = a.shape[1]
    return delayed(a, range(K)[::-1])


def one_cycle_late(a):
    """Column k begins in cycle k + 1."""
    K = a.shape[1]
    return delayed(a, range(1, K + 1))


def twice_as_late(a):
    """Column k begins in cycle 2 k, and feeds is so much longer."""
    K = a.shape[1]
    return delayed(a, range(0, 2 * K, 2))


def rolled(a, cycles: int):
    """Column k moves down by `cycles` k places; what leaves feeds below comes in above."""
    columns = [np.roll(column, cycles * k) for k, column in enumerate(together(a).T)]
    return np.stack(columns, axis=1)


def filled(fill: Callable) -> Callable:
    """The lesson's loop: `fill(feeds, a, k)` for each k."""

    def wrong(a):
        M, K = a.shape
        feeds = np.zeros((M + K - 1, K), a.dtype)
        for k in range(K):
            fill(feeds, a, k)
        return feeds

    return wrong


def row_for_column(feeds, a, k):
    """Row k of a stands where its column k belongs."""
    feeds[k : k + len(a), k] = a[k]


def whole_rows(feeds, a, k):
    """The column of feeds is forgotten, so that all of them are set."""
    feeds[k : k + len(a)] = a[:, k]


def cut_off(feeds, a, k):
    """Nothing comes after cycle M - 1."""
    rest = max(0, len(a) - k)
    feeds[k : len(a), k] = a[:rest, k]


def too_few_columns(feeds, a, k):
    """k counts the rows of a."""
    if k < len(a):
        feeds[k : k + len(a), k] = a[:, k]


def open_end(feeds, a, k):
    """The slice has no end, so that M numbers are to fill more than M places."""
    feeds[k:, k] = a[:, k]


# tpu.systolic_step: a, psum, w [rows,cols], feed [rows] -> a_next, psum_next [rows,cols]


def moved_right(a, feed):
    """The activations after a step, as they should be."""
    return np.column_stack([feed, a[:, :-1]])


def moved_down(psum):
    """The sums before the products come to them, as they should be."""
    return np.vstack([np.zeros_like(psum[:1]), psum[:-1]])


def with_sums(sums: Callable) -> Callable:
    """The activations are right; `sums(psum, product)` stands for the new sums."""

    def wrong(a, psum, w, feed):
        a_next = moved_right(a, feed)
        product = a_next * w
        return a_next, sums(psum, product)

    return wrong


def with_activations(activations: Callable) -> Callable:
    """`activations(a, feed)` stands for the new ones; the sums are right for these."""

    def wrong(a, psum, w, feed):
        a_next = activations(a, feed)
        product = a_next * w
        return a_next, moved_down(psum) + product

    return wrong


def old_activations(a, psum, w, feed):
    """The products are those of the activations before the step."""
    product = a * w
    return moved_right(a, feed), moved_down(psum) + product


def matrix_product(a, psum, w, feed):
    """`@` stands where `*` belongs."""
    a_next = moved_right(a, feed)
    return a_next, moved_down(psum) + a_next @ w


def sums_come_round(psum, product):
    """What leaves below comes in above."""
    return np.roll(psum, 1, axis=0) + product


def first_sums_stay(psum, product):
    """Row 0 keeps its sums, where zeros should come in."""
    above = np.vstack([psum[:1], psum[:-1]])
    return above + product


def both_sums(psum, product):
    """The cell's own sum is added to the one from above."""
    return psum + moved_down(psum) + product


def adds_first(psum, product):
    """The product is added to the cell's own sum, and then the sum moves down."""
    return moved_down(psum + product)


def sums_up(psum, product):
    """The sums move up."""
    below = np.vstack([psum[1:], np.zeros_like(psum[:1])])
    return below + product


def sums_right(psum, product):
    """The sums move to the right."""
    left = moved_down(psum.T).T
    return left + product


def broadcast(a, feed):
    """Every column gets the new numbers."""
    return np.zeros_like(a) + feed[:, None]


def numbers_left(a, feed):
    """The activations move to the left."""
    return np.column_stack([a[:, 1:], feed])


def numbers_down(a, feed):
    """The activations move down; fits where rows = cols."""
    return np.vstack([feed, a[:-1]])


def activations_stay(a, feed):
    """Only column 0 gets new numbers."""
    return np.column_stack([feed, a[:, 1:]])


# tpu.cycles: M, K, N [n], rows, cols -> cycles [n]


def up(size, side):
    """Pieces of a size on a side of the grid, the last one perhaps not full; as it should be."""
    return -(-size // side)


def one_tile(M, rows, cols):
    """Cycles of a tile: load, stream and fill; as they should be."""
    return rows + M + rows + cols - 2


def with_tile(more: Callable) -> Callable:
    """A tile takes `more(rows, cols)` cycles more than it should, or fewer."""

    def wrong(M, K, N, rows, cols):
        tile = one_tile(M, rows, cols) + more(rows, cols)
        return tile * up(K, rows) * up(N, cols)

    return wrong


def with_pieces(pieces: Callable) -> Callable:
    """`pieces(size, side)` stands for the number of pieces, of K and of N."""

    def wrong(M, K, N, rows, cols):
        tiles = pieces(K, rows) * pieces(N, cols)
        return one_tile(M, rows, cols) * tiles

    return wrong


def with_tiles(tiles: Callable) -> Callable:
    """`tiles(K, N, rows, cols)` stands for their number."""

    def wrong(M, K, N, rows, cols):
        return one_tile(M, rows, cols) * tiles(K, N, rows, cols)

    return wrong


def by_area(K, N, rows, cols):
    """The elements of a tile's area, wherever they lie."""
    return up(K * N, rows * cols)


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
    tiles = up(M, rows) * up(K, rows) * up(N, cols)
    return one_tile(M, rows, cols) * tiles


def tile_as_grid(M, K, N, rows, cols):
    """The fill is that of a grid of K x N cells."""
    tiles = up(K, rows) * up(N, cols)
    fill = K + N - 2
    return (rows + M + fill) * tiles


def loads_once(M, K, N, rows, cols):
    """Only the first tile is loaded."""
    tiles = up(K, rows) * up(N, cols)
    fill = rows + cols - 2
    return rows + (M + fill) * tiles


def fill_once(M, K, N, rows, cols):
    """Only the last tile pays for the fill."""
    tiles = up(K, rows) * up(N, cols)
    fill = rows + cols - 2
    return (rows + M) * tiles + fill


def two_registers(M, K, N, rows, cols):
    """A tile is loaded while the one before it streams."""
    tiles = up(K, rows) * up(N, cols)
    each_further = np.maximum(M, rows)
    return one_tile(M, rows, cols) + (tiles - 1) * each_further


def all_cells_busy(M, K, N, rows, cols):
    """Every cell works in every cycle."""
    cells = rows * cols
    return M * K * N / cells
