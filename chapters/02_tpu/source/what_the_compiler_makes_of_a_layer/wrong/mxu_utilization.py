"""Wrong ideas of tpu.mxu_utilization: M, K, N, cycles [n], units, size -> utilization, filled [n].

They may raise, as a learner's would.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer.wrong.shared import (
    down,
    one_tile_more,
    up,
    up_by_reciprocals,
)


class Given(NamedTuple):
    """What the exercise gives: products of M x K and K x N, on `units` arrays of size x size."""

    M: np.ndarray
    K: np.ndarray
    N: np.ndarray
    cycles: np.ndarray
    units: int
    size: int


def utilization(given: Given):
    """Multiply-adds over those that all cells could do, as it should be."""
    done = given.M * given.K * given.N
    cells = given.units * given.size**2
    return done / (given.cycles * cells)


def share(given: Given, rows: Any, columns: Any):
    """Weights over rows * columns cells."""
    weights = given.K * given.N
    return weights / (rows * columns)


def filled_share(given: Given):
    """Weights over the cells of their tiles, as it should be."""
    return share(given, rows=up(given.K, given.size), columns=up(given.N, given.size))


def times(factor: Callable) -> Callable:
    """The utilization is too large by `factor(given)`; filled is right."""

    def wrong(*arguments):
        given = Given(*arguments)
        return utilization(given) * factor(given), filled_share(given)

    return wrong


def with_filled(filled_of: Callable) -> Callable:
    """The utilization is right; `filled_of(given)` stands for filled."""

    def wrong(*arguments):
        given = Given(*arguments)
        return utilization(given), filled_of(given)

    return wrong


def always_128(M, K, N, cycles, units, size):
    """The size of the arrays is not looked at."""
    given = Given(M, K, N, cycles, units, 128)
    return utilization(given), filled_share(given)


def whole(*arguments):
    """Cut off to whole numbers."""
    given = Given(*arguments)
    return np.floor(utilization(given)), filled_share(given)


def sides_by_reciprocals(given: Given):
    """Both sides are multiplied by 1 / size before they are rounded up."""
    rows = up_by_reciprocals(given.K, given.size)
    return share(given, rows=rows, columns=up_by_reciprocals(given.N, given.size))


def never_above_filled(*arguments):
    """The utilization is cut off."""
    given = Given(*arguments)
    filled = filled_share(given)
    return np.minimum(utilization(given), filled), filled


def swapped(*arguments):
    """filled comes first."""
    given = Given(*arguments)
    return filled_share(given), utilization(given)


def rows_only(given: Given):
    """The columns of the tiles are forgotten."""
    return given.K / up(given.K, given.size)


def columns_only(given: Given):
    """The rows of the tiles are forgotten."""
    return given.N / up(given.N, given.size)


def of_all_units(given: Given):
    """Every unit has all the cells."""
    return filled_share(given) / given.units


def stream_padded(given: Given):
    """The rows that stream through fill whole tiles as well."""
    return filled_share(given) * given.M / up(given.M, given.size)


def product_rounded(given: Given):
    """The weights fill tiles one after the other."""
    weights = given.K * given.N
    return weights / up(weights, given.size**2)


def unrounded(given: Given):
    """One array's cells, however many tiles there are."""
    return share(given, given.size, given.size)


def one_tile(given: Given):
    """A side of one tile or more is full."""
    rows = np.minimum(given.K / given.size, 1)
    columns = np.minimum(given.N / given.size, 1)
    return rows * columns


def last_tile(given: Given):
    """Only the last tile, in the corner."""
    rows = given.K % given.size
    columns = given.N % given.size
    return rows * columns / given.size**2


def sides_rounded_down(given: Given):
    """What fills no tile is dropped, on both sides."""
    return share(given, rows=down(given.K, given.size), columns=down(given.N, given.size))


def sides_one_tile_more(given: Given):
    """One tile more than full ones, on both sides."""
    rows = one_tile_more(given.K, given.size)
    columns = one_tile_more(given.N, given.size)
    return share(given, rows, columns)
