"""The three dataflows of a systolic array, cycle by cycle: what is loaded, fed and summed when.

Each of the functions steps a `Grid` until all its tiles are through, and yields the phase ("load",
"compute" or "drain") and the tile of every cycle. `labkit.tpu.matrix_unit.tiling` has the table of
what stays and what moves; lesson what_a_grid_costs derives it.
"""

from collections.abc import Iterator

import numpy as np

from labkit.tpu.matrix_unit.grid import Grid, Skew, shift_down, shift_right


def weight_stationary(grid: Grid) -> Iterator[tuple[str, int]]:
    """Load a tile's weights, row by row from the top; let the rows of A run through; repeat.

    "is" takes this way too: its weights are the elements of A.
    """
    for tile in range(len(grid.tiles)):
        west, stationary = grid.operands(tile)
        for taken, weights in enumerate(stationary[::-1]):  # the last row has the longest way down
            grid.loading[taken] = True
            grid.move_right()
            shift_down(grid.north, weights)
            shift_down(grid.psum, 0)
            yield "load", tile
        grid.loading[:] = False
        grid.feed = enumerate(west, tile * grid.steps)
        while not grid.finished(tile):
            grid.move_right()
            yield grid.sum_down(), tile


def double_buffered(grid: Grid) -> Iterator[tuple[str, int]]:
    """As weight_stationary, but the next tile's weights come in while this one computes.

    Each element has a spare weight register. The next weights follow right behind the first row of
    A, and like it they reach each column one cycle after the one before: in the n-th cycle of its
    loading the upper n registers of a column shift down. The first row of A carries a flag, and an
    element that sees it takes its spare weight into use.
    """
    last = len(grid.tiles) - 1
    skew = Skew(grid.cols, 0, grid.spare.dtype)
    yield from _load_first_weights(grid, skew)
    for tile in range(last):
        west, _ = grid.operands(tile)
        grid.feed = enumerate(west, tile * grid.steps)
        weights = _upwards(grid, tile + 1)
        for cycle in range(max(grid.rows, grid.steps)):  # until the next tile can begin
            yield _double_step(grid, skew, weights, cycle), tile
    west, _ = grid.operands(last)
    grid.feed = enumerate(west, last * grid.steps)
    while not grid.finished(last):
        yield _double_step(grid, skew, iter(()), grid.rows), last


def _load_first_weights(grid: Grid, skew: Skew) -> Iterator[tuple[str, int]]:
    """The cycles in which the first weights come in, and nothing computes."""
    weights = _upwards(grid, 0)
    for cycle in range(grid.rows):
        _double_step(grid, skew, weights, cycle)
        yield "load", 0


def _upwards(grid: Grid, tile: int) -> Iterator[np.ndarray]:
    """The tile's weights, row by row; the last row has the longest way down."""
    _, stationary = grid.operands(tile)
    return iter(stationary[::-1])


def _double_step(
    grid: Grid,
    skew: Skew,
    weights: Iterator[np.ndarray],
    cycle: int,
) -> str:
    """One cycle of a double-buffered array, and its phase.

    `cycle` counts from 0 since the tile began; from `rows` on no weight shifts any more.
    """
    grid.move_right()
    flagged = (grid.tag >= 0) & (grid.tag % grid.steps == 0)  # they see the first row of A
    grid.north[flagged] = grid.spare[flagged]
    shifting = cycle + 1 if cycle < grid.rows else 0  # the registers of column 0 that shift down
    shift_right(grid.loading, grid.row[:, 0] < shifting)
    entering = skew(next(weights, 0))
    above = np.vstack([entering, grid.spare[:-1]])
    grid.spare = np.where(grid.loading, above, grid.spare)
    return grid.sum_down()


def output_stationary(grid: Grid) -> Iterator[tuple[str, int]]:
    """Columns of A from the left and rows of B from the top meet; then the sums shift out below."""
    for tile in range(len(grid.tiles)):
        west, north = grid.operands(tile)
        feed = iter(north)
        skew = Skew(grid.cols, 0, north.dtype)
        grid.feed = enumerate(west, tile * grid.steps)
        while not grid.finished(tile):
            grid.move_right()
            shift_down(grid.north, skew(next(feed, 0)))
            grid.psum += grid.west * grid.north
            yield "compute", tile
        yield from _drain(grid, tile)


def _drain(grid: Grid, tile: int) -> Iterator[tuple[str, int]]:
    """The sums of a tile shift out below, the bottom row first."""
    tiles = np.full(grid.cols, tile)
    first = grid.tiles.row[tiles]
    height = grid.tiles.height[tiles]
    for row in reversed(range(grid.rows)):
        grid.move_right()
        grid.collect(tiles, first + row, row < height)
        shift_down(grid.psum, 0)
        yield "drain", tile
