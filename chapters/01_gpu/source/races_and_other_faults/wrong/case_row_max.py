"""Wrong repairs of gpu.case_row_max: x[R,C] -> top[r] = the largest of row r, by one warp."""

import numpy as np

from labkit.gpu.judging.cost_limits import WARP
from labkit.gpu.judging.kernel_exercise import MARK

ZERO = np.float32(0)
INFINITY = np.float32(np.inf)


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


def first_half_rounded_up(x):
    """The tree begins at half of the row, rounded up; the later halves are rounded down."""
    lanes = min(WARP, x.shape[1])
    return tree_max(x, (lanes + 1) // 2)


def last_column_missing(x):
    """The loop over the columns ends too soon; a single column leaves -infinity."""
    return np.max(x[:, :-1], axis=1, initial=-INFINITY)


def first_round_missing(x):
    """The tree begins at the distance 8."""
    return tree_max(x, WARP // 4)


def last_round_missing(x):
    """The tree ends at the distance 2."""
    return tree_max(x, WARP // 2, last=2)


def with_what_was_there(x):
    """The maximum with what the output held; that alone counts as not written."""
    largest = x.max(axis=1)
    return np.where(largest > MARK, largest, ZERO)


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
