"""Wrong repairs of the lesson's four cases: of a log-sum-exp, a row's maximum, a bias, a GELU."""

from collections.abc import Callable

import numpy as np

WARP = 32  # lanes
STRIP = 64  # rows of dy that a block adds up
ZERO = np.float32(0)
ONE = np.float32(1)
INFINITY = np.float32(np.inf)


# out[n] = log sum_k exp(x[k, n])


def log_sum(x, shift=ZERO):
    """In the precision of x: log sum_k exp(x[k, n] - shift[n]) [N]; float32 overflows at 89."""
    with np.errstate(all="ignore"):
        return np.log(np.exp(x - shift).sum(axis=0))


def shifted(x, shift):
    """log sum_k exp(x[k, n]), computed after `shift` [N] is taken off; float32."""
    return (shift + log_sum(x, shift)).astype(np.float32)


def wide(x):
    """x in float64."""
    return x.astype(np.float64)


def one_too_many(x):
    """The sum begins at 1 instead of 0."""
    largest = x.max(axis=0)
    total = np.exp(x - largest).sum(axis=0) + ONE
    return (largest + np.log(total)).astype(np.float32)


# top[r] = the largest of row r, by one warp for each row


def tree_max(x, step, last=1):
    """The rows' maxima by a tree that begins at the distance `step` and ends at `last`."""
    best = np.pad(x, ((0, 0), (0, -x.shape[1] % WARP)), constant_values=-INFINITY)
    best = best.reshape(len(x), -1, WARP).max(axis=1)  # [R, 32]
    while step >= last:
        best[:, :step] = np.maximum(best[:, :step], best[:, step : 2 * step])
        step //= 2
    return best[:, 0]


def free_lanes_zero(x):
    """Lanes without an element hold 0."""
    largest = x.max(axis=1)
    return np.maximum(largest, ZERO) if x.shape[1] < WARP else largest


def last_of_each_lane(x):
    """A lane keeps the last element that it has met."""
    columns = x.shape[1]
    lanes = min(WARP, columns)
    last = [col + (columns - 1 - col) // WARP * WARP for col in range(lanes)]
    return x[:, last].max(axis=1)


# db[k] = the sum of dy[m, k] over m


def sum_where(keep: Callable) -> Callable:
    """The gradient from the elements with keep(row in the strip, row, column) alone."""

    def wrong(dy):
        row, col = np.indices(dy.shape)
        return np.where(keep(row % STRIP, row, col), dy, 0).sum(axis=0, dtype=np.float32)

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
    return row < (row.max() + 1) // STRIP * STRIP


def last_row_of_strip(inside, row, col):
    """Each row replaces the one before."""
    return (inside == STRIP - 1) | (row == row.max())


# y = x / (1 + exp(-1.702 x))


def gelu(x, slope=1.702):
    """The right y, or that of another slope."""
    return (x / (1 + np.exp(-slope * wide(x)))).astype(np.float32)
