"""Wrong kernels of the lesson, half repaired by a learner, and what each must be told."""

import math
from functools import partial

import numpy as np

from labkit.gpu import cuda
from tests.exercises.edits import edit

zero, one, three, infinity = np.float32(0), np.float32(1), np.float32(3), np.float32(np.inf)

# --- gpu.case_neighbours: blocks of 32, a tile with a neighbour on each side


smooth = partial(edit, "gpu.case_neighbours")
MEAN = "(tile[lane] + tile[lane + 1] + tile[lane + 2]) / three"
LEFT, RIGHT = "lane == 0 and i > 0", "lane == 31 and i + 1 < x.size"
INNER = "if 0 < i < x.size - 1:"
guard_one_too_far = smooth("guard_one_too_far", RIGHT, "lane == 31 and i < x.size")
smooth_for_full_blocks = smooth(
    "smooth_for_full_blocks", "    if i < x.size:\n        tile", "    if True:\n        tile"
)
ends_smoothed_with_zero = smooth(
    "ends_smoothed_with_zero",
    "    if i < x.size:",
    "    tile[lane] = tile[lane + 2] = zero\n    cuda.syncwarp()\n    if i < x.size:",
    (INNER, "if i < x.size:"),
)
ends_meet = smooth(
    "ends_meet",
    LEFT,
    "lane == 0",
    ("x[i + 1]", "x[(i + 1) % x.size]"),
    (RIGHT, "i < x.size and (lane == 31 or i == x.size - 1)"),
    ("tile[33]", "tile[lane + 2]"),
    (INNER, "if i < x.size:"),
)
ends_twice = smooth(
    "ends_twice",
    INNER,
    "if i == 0 and x.size > 1:\n        y[i] = (x[i] + x[i] + x[i + 1]) / three\n"
    "    elif i == x.size - 1 and i > 0:\n        y[i] = (x[i - 1] + x[i] + x[i]) / three\n"
    "    elif 0 < i < x.size - 1:",
)
seams_are_zero = smooth(
    "seams_are_zero",
    "tile[0] = x[i - 1]",
    "tile[0] = zero",
    ("tile[33] = x[i + 1]", "tile[33] = zero"),
)
seams_stay = smooth("seams_stay", INNER, "if 0 < i < x.size - 1 and 0 < lane < 31:")
mean_without_itself = smooth(
    "mean_without_itself", MEAN, "(tile[lane] + tile[lane + 2]) / np.float32(2)"
)
total_of_three = smooth("total_of_three", " / three", "")
left_and_itself = smooth("left_and_itself", MEAN, "(tile[lane] + tile[lane + 1]) / three")
right_and_itself = smooth("right_and_itself", MEAN, "(tile[lane + 1] + tile[lane + 2]) / three")
smooth_of_one_block = smooth("smooth_of_one_block", INNER, "if 0 < i < min(x.size - 1, 32):")
nothing_smoothed = smooth("nothing_smoothed", MEAN, "tile[lane + 1]")
halo_not_loaded = smooth(
    "halo_not_loaded",
    "    if lane == 31 and i + 1 < x.size:\n        tile[33] = x[i + 1]\n",
    "",
)
tile_without_barrier = smooth("tile_without_barrier", "    cuda.syncthreads()\n", "")
barrier_for_some = smooth(
    "barrier_for_some", "    cuda.syncthreads()", "    if i < x.size:\n        cuda.syncthreads()"
)
smooth_in_float64 = smooth("smooth_in_float64", "/ three", "* (1 / 3)")
smooth_added = smooth("smooth_added", "y[i] = x[i]", "y[i] += x[i]", ("y[i] = (", "y[i] += ("))
ends_set_to_zero = smooth(
    "ends_set_to_zero", "        y[i] = x[i]", "        y[i] = x[i]\n        x[i] = zero"
)


@cuda.jit
def smooth_without_a_tile(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
        if i > 0 and i + 1 < x.size:
            y[i] = (x[i - 1] + x[i] + x[i + 1]) / three


@cuda.jit
def smooth_with_clamped_neighbours(x, y):
    """No neighbour is outside: the index stops at the ends, whose results stay."""
    i, last = cuda.grid(1), x.size - 1
    total = x[min(max(i - 1, 0), last)] + x[min(i, last)] + x[min(i + 1, last)]
    if i <= last:
        y[i] = x[i] if i == 0 or i == last else total / three


@cuda.jit
def smooth_by_one_thread(x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = x[i] if i == 0 or i == x.size - 1 else (x[i - 1] + x[i] + x[i + 1]) / three


def smooth_on_the_host(x, y):
    y[...] = x
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3


# --- gpu.case_log_sum_exp: blocks of 128


log_sum_exp = partial(edit, "gpu.case_log_sum_exp")
search_from_the_second = log_sum_exp(
    "search_from_the_second",
    "largest = -infinity\n        for k in range(",
    "largest = -infinity\n        for k in range(1, ",
)
SEARCH = "largest = max(largest, x[k, n])"
TERM = "math.exp(x[k, n] - largest)"
RESULT = "largest + math.log(total)"
shift_forgotten = log_sum_exp("shift_forgotten", RESULT, "math.log(total)")
shift_taken_off_twice = log_sum_exp("shift_taken_off_twice", RESULT, "math.log(total) - largest")
maximum_alone = log_sum_exp("maximum_alone", RESULT, "largest")
as_handed_in = log_sum_exp("as_handed_in", TERM, "math.exp(x[k, n])", (RESULT, "math.log(total)"))
clipped = log_sum_exp(
    "clipped", TERM, "math.exp(min(x[k, n], np.float32(80)))", (RESULT, "math.log(total)")
)
shift_by_the_first = log_sum_exp("shift_by_the_first", SEARCH, "largest = x[0, n]")
shift_by_the_last = log_sum_exp("shift_by_the_last", SEARCH, "largest = x[k, n]")
shift_by_the_smallest = log_sum_exp(
    "shift_by_the_smallest", SEARCH, "largest = min(largest, x[k, n])", ("-infinity", "infinity")
)
shift_by_the_mean = log_sum_exp(
    "shift_by_the_mean",
    SEARCH,
    "largest += x[k, n] / np.float32(x.shape[0])",
    ("-infinity", "zero"),
)
shift_by_the_size = log_sum_exp(
    "shift_by_the_size", SEARCH, "largest = max(largest, abs(x[k, n]))", ("-infinity", "zero")
)
search_begins_at_zero = log_sum_exp("search_begins_at_zero", "-infinity", "zero")
search_begins_at_a_float64 = log_sum_exp("search_begins_at_a_float64", "-infinity", "-math.inf")
sum_begins_at_one = log_sum_exp("sum_begins_at_one", "total = zero", "total = np.float32(1)")
sum_begins_at_a_float64 = log_sum_exp("sum_begins_at_a_float64", "total = zero", "total = 0.0")
shifts_the_scores_themselves = log_sum_exp(
    "shifts_the_scores_themselves",
    "total += math.exp(x[k, n] - largest)",
    "x[k, n] -= largest\n            total += math.exp(x[k, n])",
)
guard_lost = log_sum_exp("guard_lost", "n < x.shape[1]", "n >= 0")


@cuda.jit
def running(x, out):
    """One pass: the sum shrinks whenever a larger score turns up."""
    n = cuda.grid(1)
    if n < x.shape[1]:
        m, total = x[0, n], one
        for k in range(1, x.shape[0]):
            new = max(m, x[k, n])
            total = total * math.exp(m - new) + math.exp(x[k, n] - new)
            m = new
        out[n] = m + math.log(total)


@cuda.jit
def wider(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = 0.0
        for k in range(x.shape[0]):
            total += math.exp(np.float64(x[k, n]))
        out[n] = math.log(total)


@cuda.jit
def from_the_first_score(x, out):
    n = cuda.grid(1)
    if n >= x.shape[1]:
        return
    m, total = x[0, n], zero
    for k in range(1, x.shape[0]):
        if x[k, n] > m:
            m = x[k, n]
    for k in range(x.shape[0]):
        total += math.exp(x[k, n] - m)
    out[n] = math.log(total) + m


@cuda.jit
def without_the_largest(x, out):
    """Its lanes read rows of their own: the place of the largest score, whose term is 1."""
    n = cuda.grid(1)
    if n < x.shape[1]:
        best = 0
        for k in range(x.shape[0]):
            best = k if x[k, n] > x[best, n] else best
        total = one
        for k in range(x.shape[0]):
            if k != best:
                total += math.exp(x[k, n] - x[best, n])
        out[n] = x[best, n] + math.log(total)


search_begins_at_a_number = log_sum_exp(
    "search_begins_at_a_number", "-infinity", "np.float32(-1e9)"
)
log_sum_added = log_sum_exp("log_sum_added", "out[n] =", "out[n] +=")


@cuda.jit
def one_shift_for_all(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m, total = -infinity, zero
        for j in range(x.shape[1]):
            for k in range(x.shape[0]):
                m = max(m, x[k, j])
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


def log_sum_on_the_host(x, out):
    m = x.max(axis=0)
    out[...] = m + np.log(np.exp(x - m).sum(axis=0))


# --- gpu.case_row_max: a block of 32 for each row


row_max = partial(edit, "gpu.case_row_max")
lanes_return_early = row_max(
    "lanes_return_early",
    "    for col in range(lane,",
    "    if lane >= x.shape[1]:\n        return\n    for col in range(lane,",
)
FILL = "best[lane] = -infinity  # changes no maximum"
FILL_WHERE_A_COLUMN_IS = "if lane < x.shape[1]:\n        best[lane] = x[row, lane]"
ON_FROM_THERE = ("range(lane,", "range(lane + 32,")
ROUND = "        cuda.syncwarp()\n        step //= 2"
NO_ROUND_FOR_ONE_COLUMN = ("step = 16", "step = 16 if x.shape[1] > 1 else 0")
sizes_repaired_race_left = row_max(
    "sizes_repaired_race_left",
    ROUND,
    "        step //= 2",
    ("    cuda.syncwarp()\n", ""),
)
race_repaired_sizes_left = row_max(
    "race_repaired_sizes_left",
    FILL,
    FILL_WHERE_A_COLUMN_IS,
    ON_FROM_THERE,
    ("step = 16", "step = min(32, x.shape[1]) // 2"),
)
filled_with_zeros = row_max(
    "filled_with_zeros",
    FILL,
    "best[lane] = x[row, lane] if lane < x.shape[1] else zero",
    ON_FROM_THERE,
)
not_filled = row_max("not_filled", FILL, FILL_WHERE_A_COLUMN_IS, ON_FROM_THERE)
barrier_in_the_if = row_max(
    "barrier_in_the_if",
    ROUND,
    "            cuda.syncthreads()\n        step //= 2",
    NO_ROUND_FOR_ONE_COLUMN,
)
warp_barrier_in_the_if = row_max(
    "warp_barrier_in_the_if", ROUND, "    " + ROUND, NO_ROUND_FOR_ONE_COLUMN
)
one_warp_of_columns = row_max("one_warp_of_columns", "x.shape[1]", "min(32, x.shape[1])")
max_without_last_round = row_max("max_without_last_round", "step > 0", "step > 1")
search_starts_at_zero = row_max("search_starts_at_zero", "-infinity", "zero")
tree_begins_too_late = row_max("tree_begins_too_late", "step = 16", "step = 8")
tree_left_out = row_max("tree_left_out", "step = 16", "step = 0")
max_of_the_sizes = row_max("max_of_the_sizes", "x[row, col]", "abs(x[row, col])")
lane_keeps_the_last = row_max("lane_keeps_the_last", "max(best[lane], x[row, col])", "x[row, col]")
max_in_the_input = row_max(
    "max_in_the_input", "top[row] = best[0]", "top[row] = x[row, 0] = best[0]"
)


@cuda.jit
def shuffled(x, top):
    """Without shared memory: the lanes hand their numbers on."""
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best = -infinity
    for col in range(lane, x.shape[1], 32):
        best = max(best, x[row, col])
    for k in range(5):
        best = max(best, cuda.shfl_down_sync(0xFFFFFFFF, best, 16 >> k))
    if lane == 0:
        top[row] = best


max_begins_at_a_low_number = row_max(
    "max_begins_at_a_low_number", "best[lane] = -infinity", "best[lane] = np.float32(-3e38)"
)
max_begins_at_a_number = row_max(
    "max_begins_at_a_number", "best[lane] = -infinity", "best[lane] = np.float32(-1000)"
)
half_rounded_up = row_max("half_rounded_up", "step = 16", "step = (min(32, x.shape[1]) + 1) // 2")
ends_a_column_early = row_max("ends_a_column_early", "x.shape[1], 32", "x.shape[1] - 1, 32")
max_kept_in_top = row_max(
    "max_kept_in_top", "top[row] = best[0]", "top[row] = max(top[row], best[0])"
)


@cuda.jit
def max_by_atomics(x, top):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    if lane == 0:
        top[row] = -infinity
    cuda.syncwarp()
    for col in range(lane, x.shape[1], 32):
        cuda.atomic.max(top, row, x[row, col])


@cuda.jit
def lane_0_collects(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncthreads()
    if lane == 0:
        for k in range(1, 32):
            best[0] = max(best[0], best[k])
        top[row] = best[0]


@cuda.jit
def max_by_one_lane(x, top):
    row = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        best = x[row, 0]
        for col in range(1, x.shape[1]):
            best = max(best, x[row, col])
        top[row] = best


def max_on_the_host(x, top):
    top[...] = x.max(axis=1)


@cuda.jit
def never_ends(x, y):
    while cuda.threadIdx.x == 3:  # one lane
        pass


@cuda.jit
def empty(x, y):
    pass


PLANTED = {
    "gpu.case_neighbours": [
        (guard_one_too_far, "uses index 64 on axis 0 of x"),
        (smooth_for_full_blocks, "tile[lane + 1] = x[i]"),
        (ends_smoothed_with_zero, "with 0 for the neighbour that does not exist"),
        (ends_meet, "as if x were a ring"),
        (ends_twice, "At either end the element itself"),
        (seams_are_zero, "the neighbour in the other block counts as 0"),
        (seams_stay, "Where two blocks meet, elements stay"),
        (mean_without_itself, "the mean of the two neighbours"),
        (total_of_three, "the sum of the three"),
        (left_and_itself, "The right neighbour is missing"),
        (right_and_itself, "The left neighbour is missing"),
        (smooth_of_one_block, "Behind the first block nothing is smoothed"),
        (nothing_smoothed, "Nothing is smoothed"),
        (halo_not_loaded, "Uninitialised"),
        (tile_without_barrier, "Race on tile"),
        (barrier_for_some, "Barrier in divergent code"),
        (smooth_in_float64, "it computes in float64"),
        (smooth_added, "use = instead of +="),
        (ends_set_to_zero, "changes its input"),
        (smooth_by_one_thread, "a few do the work of all"),
        (smooth_on_the_host, "This is no kernel"),
    ],
    "gpu.case_log_sum_exp": [
        (shift_forgotten, "not given back"),
        (shift_by_the_first, "shifted by its first score"),
        (shift_taken_off_twice, "The shift is taken off twice"),
        (shift_by_the_last, "shifted by its last score"),
        (shift_by_the_smallest, "The smallest score is taken off"),
        (shift_by_the_mean, "The mean of the scores is taken off"),
        (shift_by_the_size, "the largest size, without its sign"),
        (sum_begins_at_one, "The sum has a 1 too many"),
        (as_handed_in, "nothing is taken off the scores yet"),
        (search_begins_at_zero, "shift is never below 0"),
        (clipped, "Scores above 80 are cut off"),
        (wider, "float64 moves both ends of the exponential"),
        (search_begins_at_a_number, "begins at a finite number"),
        (one_shift_for_all, "One shift serves all images"),
        (log_sum_added, "use = instead of +="),
        (sum_begins_at_a_float64, "but 1.1 of its 2.1 additions"),
        (search_begins_at_a_float64, "but 2.1 of its 2.1 additions"),
        (maximum_alone, "largest score alone"),
        (shifts_the_scores_themselves, "changes its input"),
        (guard_lost, "Out of bounds"),
        (log_sum_on_the_host, "This is no kernel"),
        (search_from_the_second, "The first score is left out of the search"),
    ],
    "gpu.case_row_max": [
        (sizes_repaired_race_left, "Race on best"),
        (race_repaired_sizes_left, "half of an odd number of places"),
        (filled_with_zeros, "larger than every negative number"),
        (search_starts_at_zero, "The search begins at 0"),
        (tree_begins_too_late, "Lanes 16 to 31 are lost"),
        (tree_left_out, "Only what lane 0 has met"),
        (max_of_the_sizes, "This is the largest size, without its sign"),
        (lane_keeps_the_last, "Each lane keeps the last element"),
        (not_filled, "Uninitialised"),
        (barrier_in_the_if, "Barrier in divergent code"),
        (warp_barrier_in_the_if, "Move it out of the if, or out of the loop"),
        (one_warp_of_columns, "Only the first 32 columns"),
        (max_without_last_round, "one round too early"),
        (max_in_the_input, "changes its input"),
        (max_begins_at_a_number, "no value goes below -1000"),
        (max_begins_at_a_low_number, "no value goes below -3e+38"),
        (half_rounded_up, "The first half is rounded up"),
        (ends_a_column_early, "The last column is never looked at"),
        (max_kept_in_top, "what top held before the launch"),
        (max_by_atomics, "atomic operations are asked for"),
        (max_by_one_lane, "a few do the work of all"),
        (max_on_the_host, "This is no kernel"),
        (lanes_return_early, "some lanes have returned before the barrier"),
    ],
}
RIGHT_ON = {
    ends_smoothed_with_zero: (np.zeros(5, np.float32),),
    ends_a_column_early: (np.linspace(1, 0, 80, dtype=np.float32).reshape(2, 40),),
    shift_forgotten: (np.array([[0, -3], [-1, 0]], np.float32),),
    shift_taken_off_twice: (np.array([[0, -3], [-1, 0]], np.float32),),
    sum_begins_at_one: (np.full((1, 3), 1e7, np.float32),),
    search_starts_at_zero: (np.ones((3, 40), np.float32),),
    max_of_the_sizes: (np.ones((3, 40), np.float32),),
}
ALSO_RIGHT = {
    "gpu.case_neighbours": [smooth_without_a_tile, smooth_with_clamped_neighbours],
    "gpu.case_log_sum_exp": [running, from_the_first_score, without_the_largest],
    "gpu.case_row_max": [shuffled, lane_0_collects],
}
ENDLESS = dict.fromkeys(PLANTED, never_ends)
EMPTY = dict.fromkeys(PLANTED, empty)
