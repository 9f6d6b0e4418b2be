"""Wrong repairs of three of the lesson's cases: of a row's maximum, a bias and a GELU."""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit.gpu.exercises.wrong.log_sum_exp import wide

WARP = 32  # lanes
STRIP = 64  # rows of dy that a block adds up
ZERO = np.float32(0)
INFINITY = np.float32(np.inf)


# top[r] = the largest of row r, by one warp for each row


def tree_max(x, step, last=1):
    """The rows' maxima by a tree that begins at the distance `step` and ends at `last`."""
    R, C = x.shape
    missing = -C % WARP
    padded = np.pad(x, ((0, 0), (0, missing)), constant_values=-INFINITY)
    per_round = padded.reshape(R, -1, WARP)
    best = per_round.max(axis=1)  # [R, 32]
    while step >= last:
        own = best[:, :step]
        neighbours = best[:, step : 2 * step]
        best[:, :step] = np.maximum(own, neighbours)
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


def odd_halves(x):
    """The tree begins at half of the row, whether that is a power of 2 or not."""
    lanes = min(WARP, x.shape[1])
    return tree_max(x, lanes // 2)


def first_round_missing(x):
    """The tree begins at the distance 8."""
    return tree_max(x, WARP // 4)


def last_round_missing(x):
    """The tree ends at the distance 2."""
    return tree_max(x, WARP // 2, last=2)


def starts_at_zero(x):
    """The search begins at 0."""
    largest = x.max(axis=1)
    return np.maximum(largest, ZERO)


def lane_0_only(x):
    """The other lanes' results are lost."""
    of_lane_0 = x[:, ::WARP]
    return of_lane_0.max(axis=1)


def first_columns_only(x):
    """Each lane looks at one element."""
    first = x[:, :WARP]
    return first.max(axis=1)


def first_column(x):
    """The first element of each row."""
    return x[:, 0]


def largest_size_of_row(x):
    """The sign is left out."""
    return abs(x).max(axis=1)


def smallest_of_row(x):
    """The smallest for the largest."""
    return x.min(axis=1)


# db[k] = the sum of dy[m, k] over m


def right_bias_gradient(dy):
    """The right db."""
    total = dy.sum(axis=0, dtype=np.float64)
    return total.astype(np.float32)


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


# y = x / (1 + exp(-1.702 x))


def gelu(x, slope=1.702):
    """The right y, or that of another slope."""
    decay = np.exp(-slope * wide(x))
    y = x / (1 + decay)
    return y.astype(np.float32)


def with_slope(slope: float) -> Callable:
    """y with another slope than 1.702."""
    return partial(gelu, slope=slope)


def no_factor(x):
    """x is left out of the numerator."""
    return gelu(x) / x


def multiplied(x):
    """The product for the quotient."""
    return x * x / gelu(x)


def sum_left_out(x):
    """The 1 of the denominator is left out; infinite where x is large."""
    growth = np.exp(1.702 * wide(x))
    return np.float32(x * growth)


def both_left_out(x):
    """The 1 and the slope are left out, and the product stands for the quotient."""
    decay = np.exp(-wide(x))
    return np.float32(x * decay)


def factor_outside(x):
    """The slope stands before the exponential."""
    growth = np.exp(wide(x))
    return x / (1 - 1.702 * growth)
