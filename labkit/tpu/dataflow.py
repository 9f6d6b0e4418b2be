"""A systolic array, register by register: what every processing element holds after every cycle.

An R × C grid of processing elements. In each clock cycle each of them multiplies two numbers, adds
a partial sum, and its numbers move on to the neighbours, to the right and down; only the elements
at the edges touch memory. Which of the three numbers stays in its place names the dataflow:

    dataflow               stays in place   moves right      moves down     rows, columns, steps
    ws  weight stationary  B[k,n]           A, a row m       partial sums   K     N        M
    is  input stationary   A[m,k]           B, a column n    partial sums   K     M        N
    os  output stationary  partial sums     A, a column k    B, a row k     M     N        K

"is" is "ws" of the transposed product, C^T = B^T A^T. A matrix larger than the grid is cut into
tiles; where it ends raggedly the tile is filled up with zeros, which take as long as numbers do.
Lesson 1 of the chapter derives all of this.
"""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

AXES = {"ws": "KNM", "is": "KMN", "os": "MNK"}  # down the rows, along the columns, step by step


class Cycle(SimpleNamespace):
    """The array after one clock cycle; grids are [rows, cols].

    phase    "load", "compute" (numbers enter at the left) or "drain" (results still leave)
    tile     the newest one that computes, or before the first the one that is loaded
    a, b     registers: an element of A and one of B
    psum     register: the partial sum
    spare    register: the weight that is used next, in a double-buffered array; else None
    active   bool: the elements that did a useful multiply-add
    passing  bool: those that did one on padding
    loading  bool: those that took in a weight
    left     {row: number} that entered at the left edge
    top      {column: number} that entered at the top edge
    leaves   {column: (i, j, number)} that left below, into result[i,j]
    """


def plan(dataflow: str, M: int, K: int, N: int, rows: int, cols: int) -> tuple[int, tuple]:
    """The steps T, and of all tiles the first row, first column, height and width, each [tiles].

    The tiles follow each other down the rows first, so that in "ws" and "is" K runs innermost.
    """
    down, along, steps = (dict(M=M, K=K, N=N)[axis] for axis in AXES[dataflow])
    col, row = np.mgrid[:along:cols, :down:rows].reshape(2, -1)
    return steps, (row, col, np.minimum(rows, down - row), np.minimum(cols, along - col))


def shift_right(registers: np.ndarray, entering: np.ndarray) -> None:
    registers[:, 1:] = registers[:, :-1]
    registers[:, 0] = entering


def shift_down(registers: np.ndarray, entering: np.ndarray | int) -> None:
    registers[1:] = registers[:-1]
    registers[0] = entering


class Skew:
    """The delay lines at an edge: lane i hands on what it was given i cycles ago."""

    def __init__(self, lanes: int, blank: int, dtype: type) -> None:
        self.line = np.full((lanes, lanes), blank, dtype)  # [cycles ago, lane]

    def __call__(self, given: np.ndarray | int) -> np.ndarray:
        shift_down(self.line, given)
        return self.line.diagonal()


class Grid:
    """The registers of an array at work on a[M,K] b[K,N], and the clerk who collects the results.

    A tag travels with every number from the left: step m of tile t has the tag t*T + m, and no
    number at all the tag -1. Only the clerk needs tags. The hardware knows the time instead.
    """

    def __init__(self, dataflow: str, a: np.ndarray, b: np.ndarray, rows: int, cols: int) -> None:
        self.dataflow, self.a, self.b, self.rows, self.cols = dataflow, a, b, rows, cols
        self.result = np.zeros((a.shape[0], b.shape[1]), b.dtype)
        self.steps, places = plan(dataflow, *a.shape, b.shape[1], rows, cols)
        self.row, self.col, self.height, self.width = places
        self.west, self.north, self.psum, self.spare = np.zeros((4, rows, cols), b.dtype)
        self.tag, self.loading = np.full((rows, cols), -1), np.zeros((rows, cols), bool)
        self.skew, self.skew_tag = Skew(rows, 0, b.dtype), Skew(rows, -1, int)
        self.feed, self.leaves, self.lanes = iter(()), (), np.ogrid[:rows, :cols]

    def operands(self, tile: int) -> tuple[np.ndarray, np.ndarray]:
        """What enters at the left, [T, rows], and at the top, [rows, cols] to stay or [T, cols]."""
        down = slice(self.row[tile], self.row[tile] + self.rows)
        along = slice(self.col[tile], self.col[tile] + self.cols)
        if self.dataflow == "ws":
            west, north = self.a[:, down], self.b[down, along]
        elif self.dataflow == "is":
            west, north = self.b[down].T, self.a[along, down].T
        else:
            west, north = self.a[down, :].T, self.b[:, along]
        high = self.steps if self.dataflow == "os" else self.rows
        return _filled(west, self.steps, self.rows), _filled(north, high, self.cols)

    def move_right(self) -> None:
        """The next step, if there is one, goes into the delay lines; what is inside moves on."""
        tag, numbers = next(self.feed, (-1, 0))
        shift_right(self.west, self.skew(numbers))
        shift_right(self.tag, self.skew_tag(tag))
        self.leaves = ()

    def sum_down(self) -> str:
        """The rest of a cycle of "ws" and "is", and its phase."""
        shift_down(self.psum, 0)
        self.psum += self.west * self.north
        tile, step = np.divmod(self.tag[-1], self.steps)
        self.collect(tile, step, self.tag[-1] >= 0)
        return "compute" if (self.tag[:, 0] >= 0).any() else "drain"

    def finished(self, tile: int) -> bool:
        """Has the last step of the tile reached the last element, at the bottom right?"""
        return self.tag[-1, -1] == (tile + 1) * self.steps - 1

    def collect(self, tile: np.ndarray, i: np.ndarray, there: np.ndarray) -> None:
        """Sums leave the bottom row, and are added to what earlier tiles gave; padding is not."""
        (lane,) = self.lanes[1]
        (c,) = np.nonzero(there & (lane < self.width[tile]))
        i, j, numbers = i[c], (self.col[tile] + lane)[c], self.psum[-1, c]
        i, j = (j, i) if self.dataflow == "is" else (i, j)
        self.result[i, j] += numbers
        self.leaves = c, i, j, numbers

    def active(self) -> np.ndarray:
        """Which elements hold a number from the left that is no padding, nor meets any."""
        tile, (row, col) = self.tag // self.steps, self.lanes
        return (self.tag >= 0) & (row < self.height[tile]) & (col < self.width[tile])

    def snapshot(self, phase: str, tile: int, double_buffer: bool) -> Cycle:
        """A copy of all there is to see after a cycle."""
        west, north, spare = self.west.copy(), self.north.copy(), self.spare.copy()
        a, b = (north, west) if self.dataflow == "is" else (west, north)
        inside, active, loading = self.tag >= 0, self.active(), self.loading.copy()
        fresh = inside[0] if self.dataflow == "os" else loading[0]
        left = {int(r): west[r, 0] for r in np.flatnonzero(inside[:, 0])}
        top = {int(c): (spare if double_buffer else north)[0, c] for c in np.flatnonzero(fresh)}
        leaves = {int(c): (int(i), int(j), n) for c, i, j, n in zip(*self.leaves, strict=True)}
        return Cycle(
            **{"phase": phase, "tile": tile, "active": active, "passing": inside & ~active},
            **{"a": a, "b": b, "psum": self.psum.copy(), "spare": spare if double_buffer else None},
            **{"loading": loading, "left": left, "top": top, "leaves": leaves},
        )


def weight_stationary(grid: Grid) -> Iterator[tuple[str, int]]:
    """Load a tile's weights, row by row from the top; let the rows of A run through; repeat."""
    for tile in range(len(grid.row)):
        west, north = grid.operands(tile)
        for taken, weights in enumerate(north[::-1]):  # the last row has the longest way down
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
    last, skew = len(grid.row) - 1, Skew(grid.cols, 0, grid.spare.dtype)
    for tile in range(-1, last + 1):  # at -1 the first weights come in, and nothing computes
        west = grid.operands(tile)[0] if tile >= 0 else ()
        grid.feed = enumerate(west, tile * grid.steps)
        weights = iter(grid.operands(tile + 1)[1][::-1] if tile < last else ())
        n, cycles = 0, max(grid.rows, len(west))  # until the next tile can begin
        while n < cycles if tile < last else not grid.finished(last):
            n += 1
            grid.move_right()
            flag = (grid.tag >= 0) & (grid.tag % grid.steps == 0)
            grid.north[flag] = grid.spare[flag]
            upper = n if n <= grid.rows and tile < last else 0  # registers that shift in column 0
            shift_right(grid.loading, np.arange(grid.rows) < upper)
            above = np.vstack([skew(next(weights, 0)), grid.spare[:-1]])
            grid.spare = np.where(grid.loading, above, grid.spare)
            phase = grid.sum_down()
            yield "load" if tile < 0 else phase, max(tile, 0)


def output_stationary(grid: Grid) -> Iterator[tuple[str, int]]:
    """Columns of A from the left and rows of B from the top meet; then the sums shift out below."""
    for tile in range(len(grid.row)):
        west, north = grid.operands(tile)
        feed, skew = iter(north), Skew(grid.cols, 0, north.dtype)
        grid.feed = enumerate(west, tile * grid.steps)
        while not grid.finished(tile):
            grid.move_right()
            shift_down(grid.north, skew(next(feed, 0)))
            grid.psum += grid.west * grid.north
            yield "compute", tile
        tiles = np.full(grid.cols, tile)
        for row in reversed(range(grid.rows)):
            grid.move_right()
            grid.collect(tiles, grid.row[tiles] + row, row < grid.height[tiles])
            shift_down(grid.psum, 0)
            yield "drain", tile


def _filled(block: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """The block with zeros below and to the right."""
    return np.pad(block, ((0, rows - len(block)), (0, cols - block.shape[1])))
