"""Wrong kernels of the lesson, half repaired by a learner, and what each must be told."""

import math
from functools import partial

import numpy as np

from labkit.gpu import cuda
from tests.exercises.edits import edit

zero, one = np.float32(0), np.float32(1)
slope = np.float32(-1.702)

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
    "gpu.case_bias_gradient": [two_sums, half_a_strip_at_a_time],
    "gpu.case_float64": [sigmoid_times_x, gelu_by_tanh],
}
ENDLESS = dict.fromkeys(PLANTED, never_ends)
EMPTY = dict.fromkeys(PLANTED, empty)
