"""Wrong repairs of gpu.case_bias_gradient: dy[M,K] -> db[k] = sum_m dy[m, k]."""

from collections.abc import Callable

import numpy as np

from labkit.gpu.judging.cost_limits import WARP

STRIP = 64  # rows of dy that a block adds up


def sum_of_sizes(dy):
    """The sign is left out."""
    return abs(dy).sum(axis=0)


def mean_of_rows(dy):
    """The mean for the sum."""
    return dy.mean(axis=0)


def sum_where(keep: Callable) -> Callable:
    """The gradient from the elements with keep(row in the strip, row, column) alone."""

    def wrong(dy):
        row, col = np.indices(dy.shape)
        inside = row % STRIP
        kept = np.where(keep(inside, row, col), dy, 0)
        return kept.sum(axis=0, dtype=np.float32)

    return wrong


def first_strip(inside, row, col):
    """Only the first 64 rows."""
    return row < STRIP


def half_of_the_rows(inside, row, col):
    """Only the first 32 of a strip."""
    return inside < WARP


def every_32nd_row(inside, row, col):
    """The loop still has the old step."""
    return inside % WARP == 0


def row_of_the_lane(inside, row, col):
    """The loop still begins at the lane, and has its step."""
    return inside % WARP == col % WARP


def first_row_of_the_lane(inside, row, col):
    """The lane's first row alone."""
    return inside == col % WARP


def first_columns(inside, row, col):
    """Only the first 32 columns."""
    return col < WARP


def last_row_missing(inside, row, col):
    """The loop ends one row too early."""
    return inside < STRIP - 1


def first_row_missing(inside, row, col):
    """The loop begins one row too late."""
    return inside > 0


def whole_strips(inside, row, col):
    """A strip with fewer rows is left out."""
    rows = row.max() + 1
    strips = rows // STRIP
    return row < strips * STRIP


def last_row_of_strip(inside, row, col):
    """Each row replaces the one before."""
    last_of_strip = inside == STRIP - 1
    last_of_all = row == row.max()
    return last_of_strip | last_of_all
