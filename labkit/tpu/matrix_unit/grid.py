"""The registers of a systolic array, and how they move on to their neighbours in one cycle.

Rows × columns of processing elements. In each clock cycle each of them multiplies two numbers, adds
a partial sum, and its numbers move on to the neighbours, to the right and down; only the elements
at the edges touch memory. `labkit.tpu.matrix_unit.dataflow` says what is fed when.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labkit.tpu.matrix_unit.tiling import cut, extent


@dataclass(eq=False)
class Cycle:
    """The array after one clock cycle; grids are [rows, cols]."""

    phase: str  # "load", "compute" (numbers enter at the left) or "drain" (results still leave)
    tile: int  # the newest one that computes, or before the first the one that is loaded
    active: np.ndarray  # bool: the elements that did a useful multiply-add
    passing: np.ndarray  # bool: those that did one on padding
    a: np.ndarray  # register: an element of A
    b: np.ndarray  # register: an element of B
    psum: np.ndarray  # register: the partial sum
    spare: np.ndarray | None  # register of a double-buffered array: the weight that is used next
    loading: np.ndarray  # bool: those that took in a weight
    left: dict[int, np.number]  # {row: number} that entered at the left edge
    top: dict[int, np.number]  # {column: number} that entered at the top edge
    leaves: dict[int, tuple]  # {column: (i, j, number)} that left below, into result[i, j]


class Leaving(NamedTuple):
    """The numbers that leave below in one cycle, all [n]: result[i, j] += number."""

    column: np.ndarray
    i: np.ndarray
    j: np.ndarray
    number: np.ndarray


def shift_right(registers: np.ndarray, entering: np.ndarray) -> None:
    """Every number of registers[rows, cols] moves one column on; entering[rows] takes column 0."""
    registers[:, 1:] = registers[:, :-1]
    registers[:, 0] = entering


def shift_down(registers: np.ndarray, entering: np.ndarray | int) -> None:
    """Every number of registers[rows, cols] moves one row on; entering[cols] takes row 0."""
    registers[1:] = registers[:-1]
    registers[0] = entering


class Skew:
    """The delay lines at an edge: lane i hands on what it was given i cycles ago."""

    def __init__(self, lanes: int, blank: int, dtype: type) -> None:
        self.line = np.full((lanes, lanes), blank, dtype)  # [cycles ago, lane]

    def __call__(self, given: np.ndarray | int) -> np.ndarray:
        """One cycle: what is given to the lanes [lanes], and what they hand on [lanes]."""
        shift_down(self.line, given)
        return self.line.diagonal()


class Grid:
    """The registers of an array at work on a[M,K] b[K,N], and the clerk who collects the results.

    A tag travels with every number from the left: step m of tile t has the tag t*T + m, and no
    number at all the tag -1. Only the clerk needs tags. The hardware knows the time instead.
    """

    def __init__(self, dataflow: str, a: np.ndarray, b: np.ndarray, rows: int, cols: int) -> None:
        self.dataflow = dataflow
        self.a = a
        self.b = b
        self.rows = rows
        self.cols = cols
        M, K = a.shape
        N = b.shape[1]
        product = extent(dataflow, M, K, N)
        self.steps = product.steps
        self.tiles = cut(product, rows, cols)
        self.result = np.zeros((M, N), b.dtype)
        self.row, self.col = np.ogrid[:rows, :cols]  # [rows, 1] and [1, cols]
        self._make_registers()

    def _make_registers(self) -> None:
        shape = (self.rows, self.cols)
        dtype = self.b.dtype
        self.west = np.zeros(shape, dtype)  # what came from the left
        self.north = np.zeros(shape, dtype)  # what came from the top, to stay or to move on
        self.psum = np.zeros(shape, dtype)
        self.spare = np.zeros(shape, dtype)
        self.tag = np.full(shape, -1)
        self.loading = np.zeros(shape, bool)
        self.skew = Skew(self.rows, 0, dtype)
        self.skew_tag = Skew(self.rows, -1, int)
        self.feed: Iterator = iter(())  # what enters at the left next: (tag, numbers[rows])
        self.leaving: Leaving | None = None

    def operands(self, tile: int) -> tuple[np.ndarray, np.ndarray]:
        """What enters at the left, [T, rows], and at the top, [rows, cols] to stay or [T, cols]."""
        row = self.tiles.row[tile]
        col = self.tiles.col[tile]
        down = slice(row, row + self.rows)
        along = slice(col, col + self.cols)
        if self.dataflow == "os":
            west = _filled(self.a[down, :].T, self.steps, self.rows)
            return west, _filled(self.b[:, along], self.steps, self.cols)
        if self.dataflow == "is":
            west = self.b[down].T
            stationary = self.a[along, down].T
        else:
            west = self.a[:, down]
            stationary = self.b[down, along]
        return _filled(west, self.steps, self.rows), _filled(stationary, self.rows, self.cols)

    def move_right(self) -> None:
        """The next step, if there is one, goes into the delay lines; what is inside moves on."""
        tag, numbers = next(self.feed, (-1, 0))
        shift_right(self.west, self.skew(numbers))
        shift_right(self.tag, self.skew_tag(tag))
        self.leaving = None

    def sum_down(self) -> str:
        """The rest of a cycle of "ws" and "is", and its phase."""
        shift_down(self.psum, 0)
        self.psum += self.west * self.north
        bottom = self.tag[-1]
        tile, step = np.divmod(bottom, self.steps)
        self.collect(tile, step, bottom >= 0)
        return "compute" if (self.tag[:, 0] >= 0).any() else "drain"

    def finished(self, tile: int) -> bool:
        """Has the last step of the tile reached the last element, at the bottom right?"""
        return self.tag[-1, -1] == (tile + 1) * self.steps - 1

    def collect(self, tile: np.ndarray, i: np.ndarray, there: np.ndarray) -> None:
        """Sums leave the bottom row, and are added to what earlier tiles gave; padding is not.

        All are [cols]: the tile and the row of the result that each column holds a sum of, and
        whether it holds one.
        """
        no_padding = self.col[0] < self.tiles.width[tile]
        columns = np.flatnonzero(there & no_padding)
        i = i[columns]
        j = self.tiles.col[tile[columns]] + columns
        if self.dataflow == "is":  # this array computes the transposed result
            i, j = j, i
        numbers = self.psum[-1, columns]
        self.result[i, j] += numbers
        self.leaving = Leaving(columns, i, j, numbers)

    def active(self) -> np.ndarray:
        """Which elements hold a number from the left that is no padding, nor meets any."""
        tile = self.tag // self.steps
        inside_tile = (self.row < self.tiles.height[tile]) & (self.col < self.tiles.width[tile])
        return (self.tag >= 0) & inside_tile

    def snapshot(self, phase: str, tile: int, double_buffer: bool) -> Cycle:
        """A copy of all there is to see after a cycle."""
        swapped = self.dataflow == "is"
        west = self.west.copy()
        north = self.north.copy()
        spare = self.spare.copy() if double_buffer else None
        holds_number = self.tag >= 0
        active = self.active()
        fresh = holds_number[0] if self.dataflow == "os" else self.loading[0]
        taken_in = spare if double_buffer else north
        return Cycle(
            phase=phase,
            tile=tile,
            active=active,
            passing=holds_number & ~active,
            a=north if swapped else west,
            b=west if swapped else north,
            psum=self.psum.copy(),
            spare=spare,
            loading=self.loading.copy(),
            left={int(r): west[r, 0] for r in np.flatnonzero(holds_number[:, 0])},
            top={int(c): taken_in[0, c] for c in np.flatnonzero(fresh)},
            leaves=self._leaves(),
        )

    def _leaves(self) -> dict[int, tuple]:
        """What leaves in this cycle, as in `Cycle`."""
        if self.leaving is None:
            return {}
        each = zip(*self.leaving, strict=True)
        return {int(column): (int(i), int(j), number) for column, i, j, number in each}


def _filled(block: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """The block with zeros below and to the right."""
    below = rows - block.shape[0]
    beside = cols - block.shape[1]
    return np.pad(block, ((0, below), (0, beside)))
