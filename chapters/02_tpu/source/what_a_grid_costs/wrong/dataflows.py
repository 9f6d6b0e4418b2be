"""Wrong ideas of tpu.dataflows: sizes M, K, N [n], rows, cols -> cycles [n] of ws, is and os.

Three letters stand for what streams past, lies down the rows and lies along the columns.
"""

from collections.abc import Callable

from labkit_lessons.tpu.what_a_grid_costs.wrong.cycles import one_tile, right_tiles

WEIGHTS = "MKN"
INPUTS = "NKM"
SUMS = "KMN"


def cost(letters, M, K, N, rows, cols):
    """One tile after the other; as it should be, for sizes in these places."""
    sizes = {"M": M, "K": K, "N": N}
    streams, down, across = (sizes[letter] for letter in letters)
    tiles = right_tiles(down, across, rows, cols)
    return one_tile(streams, rows, cols) * tiles


def with_places(inputs: str = INPUTS, sums: str = SUMS) -> Callable:
    """The sizes stand in these places while inputs stay, and in those while sums stay."""

    def wrong(*sizes):
        by_flow = (WEIGHTS, inputs, sums)
        return tuple(cost(letters, *sizes) for letters in by_flow)

    return wrong


def with_more(more: Callable) -> Callable:
    """The sums take `more(tiles, rows)` cycles more than they should."""

    def wrong(M, K, N, rows, cols):
        ws, inputs, sums = with_places()(M, K, N, rows, cols)
        tiles = right_tiles(M, N, rows, cols)
        return ws, inputs, sums + more(tiles, rows)

    return wrong


def no_drain(tiles, rows):
    """The sums are out as soon as they are done."""
    return -rows * tiles


def drained_once(tiles, rows):
    """Only the last tile's sums have to move out."""
    others = tiles - 1
    return -rows * others


def one_tile_each(M, K, N, rows, cols):
    """Whatever stays is one tile."""
    by_flow = (M, N, K)
    return tuple(one_tile(streams, rows, cols) for streams in by_flow)


def square_by_rows(M, K, N, rows, cols):
    """Inputs: their tiles have as many columns as rows."""
    ws, _, sums = with_places()(M, K, N, rows, cols)
    inputs = cost(INPUTS, M, K, N, rows, rows)
    return ws, inputs, sums


def in_32_bits(*sizes):
    """The counts as 32 bits hold them."""
    right = with_places()(*sizes)
    return tuple(count.astype("int32") for count in right)
