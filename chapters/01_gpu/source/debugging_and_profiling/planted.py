"""Wrong kernels of the lesson, half repaired by a learner, and what each must be told."""

import math
from functools import partial

import numpy as np

from labkit.gpu import cuda
from tests.exercises.edits import edit

zero, one, infinity = np.float32(0), np.float32(1), np.float32(np.inf)
slope = np.float32(-1.702)

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


# --- gpu.case_bias_gradient: blocks of 32, a strip of 64 rows and 32 columns


bias_gradient = partial(edit, "gpu.case_bias_gradient")
OLD_STEP = ("dy.shape[0])", "dy.shape[0]), 32")
coalesced_but_crowded = bias_gradient(
    "coalesced_but_crowded",
    "total += dy[row, col]",
    "cuda.atomic.add(db, col, dy[row, col])",
    ("        cuda.atomic.add(db, col, total)", ""),
)
sum_without_atomic = bias_gradient(
    "sum_without_atomic", "cuda.atomic.add(db, col, total)", "db[col] += total"
)
bottom_forgotten = bias_gradient("bottom_forgotten", "min(top + 64, dy.shape[0])", "top + 64")
strips_of_32 = bias_gradient("strips_of_32", "top + 64", "top + 32")
loop_of_the_old_kernel = bias_gradient("loop_of_the_old_kernel", *OLD_STEP)
start_of_the_old_kernel = bias_gradient(
    "start_of_the_old_kernel", "range(top", "range(top + cuda.threadIdx.x", OLD_STEP
)
first_row_forgotten = bias_gradient("first_row_forgotten", "range(top", "range(top + 1")
strip_replaced = bias_gradient("strip_replaced", "total +=", "total =")
full_strips_only = bias_gradient(
    "full_strips_only", "if col < dy.shape[1]", "if col < dy.shape[1] and top + 64 <= dy.shape[0]"
)


@cuda.jit
def two_sums(dy, db):
    col, strip = cuda.grid(2)
    if col >= dy.shape[1]:
        return
    even = odd = zero
    last = min(64 * strip + 64, dy.shape[0])
    for row in range(64 * strip, last, 2):
        even += dy[row, col]
        if row + 1 < last:
            odd += dy[row + 1, col]
    cuda.atomic.add(db, col, even + odd)


bias_in_float64 = bias_gradient("bias_in_float64", "total = zero", "total = 0.0")
strips_of_65 = bias_gradient("strips_of_65", "top + 64", "top + 65")


@cuda.jit
def half_a_strip_at_a_time(dy, db):
    col, top = 32 * cuda.blockIdx.x + cuda.threadIdx.x, 64 * cuda.blockIdx.y
    if col < dy.shape[1]:
        for part in range(2):
            total = zero
            for row in range(top + 32 * part, min(top + 32 * part + 32, dy.shape[0])):
                total += dy[row, col]
            cuda.atomic.add(db, col, total)


@cuda.jit
def few_atomics_but_down_the_rows(dy, db):
    part = cuda.shared.array(32, "float32")
    left, top, lane = 32 * cuda.blockIdx.x, 64 * cuda.blockIdx.y, cuda.threadIdx.x
    for col in range(left, min(left + 32, dy.shape[1])):
        total = zero
        for row in range(top + lane, min(top + 64, dy.shape[0]), 32):
            total += dy[row, col]
        part[lane] = total
        cuda.syncthreads()
        step = 16
        while step > 0:
            if lane < step:
                part[lane] += part[lane + step]
            cuda.syncthreads()
            step //= 2
        if lane == 0:
            cuda.atomic.add(db, col, part[0])
        cuda.syncthreads()


@cuda.jit
def atomics_in_shared_memory(dy, db):
    sums = cuda.shared.array(32, "float32")
    lane = cuda.threadIdx.x
    col, top = 32 * cuda.blockIdx.x + lane, 64 * cuda.blockIdx.y
    sums[lane] = zero
    cuda.syncwarp()
    if col < dy.shape[1]:
        for row in range(top, min(top + 64, dy.shape[0])):
            cuda.atomic.add(sums, lane, dy[row, col])
        cuda.atomic.add(db, col, sums[lane])


@cuda.jit
def sums_in_the_input(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        top = 64 * strip
        for row in range(top + 1, min(top + 64, dy.shape[0])):
            dy[top, col] += dy[row, col]
        cuda.atomic.add(db, col, dy[top, col])


def bias_on_the_host(dy, db):
    db[...] = dy.sum(axis=0)


# --- gpu.case_float64: blocks of 128


gelu = partial(edit, "gpu.case_float64")
without_parentheses = gelu(
    "without_parentheses",
    "/ (np.float32(1) + math.exp(np.float32(-1.702) * x[i]))",
    "/ np.float32(1) + math.exp(np.float32(-1.702) * x[i])",
)
EXPONENTIAL = "math.exp(np.float32(-1.702) * x[i])"
gelu_float_literal_repaired = gelu("gelu_float_literal_repaired", "np.float32(1)", "1")
gelu_cast_at_the_end = gelu(
    "gelu_cast_at_the_end",
    "x[i] / (np.float32(1) + math.exp(np.float32(-1.702) * x[i]))",
    "np.float32(x[i] / (1 + math.exp(-1.702 * x[i])))",
)
gelu_integer_literal_repaired = gelu(
    "gelu_integer_literal_repaired", EXPONENTIAL, "np.float32(math.exp(-1.702 * x[i]))"
)
gelu_sign = gelu("gelu_sign", "-1.702) *", "1.702) *")
gelu_without_slope = gelu("gelu_without_slope", EXPONENTIAL, "math.exp(-x[i])")
gelu_multiplied = gelu("gelu_multiplied", "x[i] /", "x[i] *")
gelu_sum_left_out = gelu("gelu_sum_left_out", "np.float32(1) +", "")
gelu_sum_and_slope_left_out = gelu(
    "gelu_sum_and_slope_left_out", "np.float32(1) + " + EXPONENTIAL, "math.exp(x[i])"
)
gelu_slope_rounded = gelu("gelu_slope_rounded", "-1.702) *", "-1.7) *")
gelu_slope_outside = gelu("gelu_slope_outside", EXPONENTIAL, "np.float32(-1.702) * math.exp(x[i])")
gelu_guard_lost = gelu("gelu_guard_lost", "i < x.size", "i >= 0")
gelu_in_place_too = gelu("gelu_in_place_too", "y[i] = x[i] /", "y[i] = x[i] = x[i] /")


@cuda.jit
def sigmoid_times_x(x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    e = math.exp(slope * x[i])
    y[i] = x[i] / (e + one)


@cuda.jit
def gelu_of_infinities(x, y):
    i = cuda.grid(1)
    if i < x.size:
        e = math.exp(-slope * x[i])
        y[i] = x[i] * e / (one + e)


@cuda.jit
def gelu_by_tanh(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = np.float32(0.5) * x[i] * (one + math.tanh(np.float32(0.851) * x[i]))


gelu_added = gelu("gelu_added", "y[i] = x[i]", "y[i] += x[i]")
gelu_of_one_block = gelu("gelu_of_one_block", "i < x.size", "i < min(x.size, 128)")


def gelu_on_the_host(x, y):
    y[...] = x / (1 + np.exp(-1.702 * x))


@cuda.jit
def never_ends(x, y):
    while cuda.threadIdx.x == 3:  # one lane
        pass


@cuda.jit
def empty(x, y):
    pass


PLANTED = {
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
    "gpu.case_bias_gradient": [
        (coalesced_but_crowded, "2,048 atomic additions for 2,048 elements, in global memory"),
        (few_atomics_but_down_the_rows, "sectors where 4 would do"),
        (sum_without_atomic, "Race on db"),
        (bottom_forgotten, "Out of bounds"),
        (strips_of_32, "only the first 32 are there"),
        (loop_of_the_old_kernel, "Only every 32nd row"),
        (start_of_the_old_kernel, "adds two rows of its column"),
        (first_row_forgotten, "The first row of each block is missing"),
        (strip_replaced, "Only the last row of each block is left"),
        (bias_in_float64, "it computes in float64"),
        (strips_of_65, "the length of dy along axis 0 is at most 64"),
        (full_strips_only, "Blocks with fewer than 64 rows are left out"),
        (atomics_in_shared_memory, "2,048 of them in shared memory"),
        (sums_in_the_input, "changes its input"),
        (bias_on_the_host, "This is no kernel"),
    ],
    "gpu.case_float64": [
        (gelu_cast_at_the_end, "3 of its 3 additions"),
        (gelu_float_literal_repaired, "2 of its 3 additions"),
        (gelu_integer_literal_repaired, "1 of its 3 additions"),
        (gelu_sign, "wrong sign"),
        (gelu_without_slope, "factor 1.702 in the exponent is missing"),
        (gelu_multiplied, "should divide"),
        (gelu_sum_left_out, "The 1 of the sum is missing: the"),
        (gelu_sum_and_slope_left_out, "The 1 of the sum and the factor 1.702 are missing"),
        (gelu_slope_rounded, "The factor in the exponent is 1.7 here"),
        (gelu_slope_outside, "stands before the exponential"),
        (gelu_of_infinities, "infinity over infinity is no number"),
        (gelu_added, "use = instead of +="),
        (gelu_of_one_block, "the first 128 places are right"),
        (gelu_guard_lost, "Out of bounds"),
        (gelu_in_place_too, "changes its input"),
        (gelu_on_the_host, "This is no kernel"),
        (without_parentheses, "Only the 1 is divided by"),
    ],
}
RIGHT_ON = {
    without_parentheses: (np.full(3, 50, np.float32),),
    ends_a_column_early: (np.linspace(1, 0, 80, dtype=np.float32).reshape(2, 40),),
    shift_forgotten: (np.array([[0, -3], [-1, 0]], np.float32),),
    shift_taken_off_twice: (np.array([[0, -3], [-1, 0]], np.float32),),
    sum_begins_at_one: (np.full((1, 3), 1e7, np.float32),),
    search_starts_at_zero: (np.ones((3, 40), np.float32),),
    max_of_the_sizes: (np.ones((3, 40), np.float32),),
    first_row_forgotten: (np.zeros((9, 5), np.float32),),
    gelu_sum_left_out: (np.zeros(5, np.float32),),
    gelu_sum_and_slope_left_out: (np.zeros(5, np.float32),),
    gelu_slope_rounded: (np.zeros(5, np.float32),),
    gelu_slope_outside: (np.zeros(5, np.float32),),
    gelu_sign: (np.zeros(5, np.float32),),
    gelu_without_slope: (np.zeros(5, np.float32),),
    gelu_multiplied: (np.zeros(5, np.float32),),
}
ALSO_RIGHT = {
    "gpu.case_log_sum_exp": [running, from_the_first_score, without_the_largest],
    "gpu.case_row_max": [shuffled, lane_0_collects],
    "gpu.case_bias_gradient": [two_sums, half_a_strip_at_a_time],
    "gpu.case_float64": [sigmoid_times_x, gelu_by_tanh],
}
ENDLESS = dict.fromkeys(PLANTED, never_ends)
EMPTY = dict.fromkeys(PLANTED, empty)
