"""Wrong kernels of lesson 01_gpu/5, half repaired by a learner, and what each must be told."""

import math

import numpy as np

from labkit.gpu import cuda

zero, one, infinity = np.float32(0), np.float32(1), np.float32(np.inf)
slope, most = np.float32(-1.702), np.float32(80)

# --- gpu.case_log_sum_exp: blocks of 128


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
def shift_forgotten(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = x[0, n]
        for k in range(1, x.shape[0]):
            m = max(m, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = math.log(total)


@cuda.jit
def shift_by_the_first(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - x[0, n])
        out[n] = x[0, n] + math.log(total)


@cuda.jit
def search_begins_at_zero(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = zero
        for k in range(x.shape[0]):
            m = max(m, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def clipped(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(min(x[k, n], most))
        out[n] = math.log(total)


@cuda.jit
def wider(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = 0.0
        for k in range(x.shape[0]):
            total += math.exp(np.float64(x[k, n]))
        out[n] = math.log(total)


@cuda.jit
def sum_begins_at_a_float64(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m, total = x[0, n], 0.0
        for k in range(1, x.shape[0]):
            m = max(m, x[k, n])
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def search_begins_at_a_float64(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m, total = -math.inf, zero
        for k in range(x.shape[0]):
            m = max(m, x[k, n])
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def maximum_alone(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = x[0, n]
        for k in range(1, x.shape[0]):
            m = max(m, x[k, n])
        out[n] = m


@cuda.jit
def shifts_the_scores_themselves(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = x[0, n]
        for k in range(1, x.shape[0]):
            m = max(m, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            x[k, n] -= m
            total += math.exp(x[k, n])
        out[n] = m + math.log(total)


@cuda.jit
def shift_taken_off_twice(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = x[0, n]
        for k in range(1, x.shape[0]):
            m = max(m, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = math.log(total) - m


@cuda.jit
def shift_by_the_last(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = zero
        for k in range(x.shape[0]):
            m = x[k, n]
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def shift_by_the_smallest(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = x[0, n]
        for k in range(1, x.shape[0]):
            m = min(m, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def shift_by_the_mean(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = zero
        for k in range(x.shape[0]):
            m += x[k, n] / np.float32(x.shape[0])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def shift_by_the_size(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = zero
        for k in range(x.shape[0]):
            m = max(m, abs(x[k, n]))
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def sum_begins_at_one(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        m = x[0, n]
        for k in range(1, x.shape[0]):
            m = max(m, x[k, n])
        total = one
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - m)
        out[n] = m + math.log(total)


@cuda.jit
def as_handed_in(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n])
        out[n] = math.log(total)


@cuda.jit
def guard_lost(x, out):
    n = cuda.grid(1)
    m = x[0, n]
    for k in range(1, x.shape[0]):
        m = max(m, x[k, n])
    total = zero
    for k in range(x.shape[0]):
        total += math.exp(x[k, n] - m)
    out[n] = m + math.log(total)


def log_sum_on_the_host(x, out):
    m = x.max(axis=0)
    out[...] = m + np.log(np.exp(x - m).sum(axis=0))


# --- gpu.case_row_max: a block of 32 for each row


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


@cuda.jit
def sizes_repaired_race_left(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def race_repaired_sizes_left(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane, columns = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    if lane < columns:
        best[lane] = x[row, lane]
    for col in range(lane + 32, columns, 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncthreads()
    step = min(32, columns) // 2
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def filled_with_zeros(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane, columns = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    best[lane] = x[row, lane] if lane < columns else zero
    for col in range(lane + 32, columns, 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def not_filled(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane, columns = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    if lane < columns:
        best[lane] = x[row, lane]
    for col in range(lane + 32, columns, 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def barrier_in_the_if(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane, columns = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    best[lane] = -infinity
    for col in range(lane, columns, 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncthreads()
    step = 16 if columns > 1 else 0
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
            cuda.syncthreads()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def warp_barrier_in_the_if(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane, columns = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    best[lane] = -infinity
    for col in range(lane, columns, 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 16 if columns > 1 else 0
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
            cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def one_warp_of_columns(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = x[row, lane] if lane < x.shape[1] else -infinity
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def max_without_last_round(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 16
    while step > 1:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def search_starts_at_zero(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = zero
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def tree_begins_too_late(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 8
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def tree_left_out(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 0
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def max_of_the_sizes(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], abs(x[row, col]))
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def lane_keeps_the_last(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity
    for col in range(lane, x.shape[1], 32):
        best[lane] = x[row, col]
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


@cuda.jit
def max_in_the_input(x, top):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best = -infinity
    for col in range(lane, x.shape[1], 32):
        best = max(best, x[row, col])
    for k in range(5):
        best = max(best, cuda.shfl_down_sync(0xFFFFFFFF, best, 16 >> k))
    if lane == 0:
        x[row, 0] = best
        top[row] = x[row, 0]


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


@cuda.jit
def coalesced_but_crowded(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        for row in range(64 * strip, min(64 * strip + 64, dy.shape[0])):
            cuda.atomic.add(db, col, dy[row, col])


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
def sum_without_atomic(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        for row in range(64 * strip, min(64 * strip + 64, dy.shape[0])):
            total += dy[row, col]
        db[col] += total


@cuda.jit
def bottom_forgotten(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        for row in range(64 * strip, 64 * strip + 64):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def strips_of_32(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        for row in range(64 * strip, min(64 * strip + 32, dy.shape[0])):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def loop_of_the_old_kernel(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        for row in range(64 * strip, min(64 * strip + 64, dy.shape[0]), 32):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def start_of_the_old_kernel(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        first = 64 * strip + cuda.threadIdx.x
        for row in range(first, min(64 * strip + 64, dy.shape[0]), 32):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def first_row_forgotten(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        for row in range(64 * strip + 1, min(64 * strip + 64, dy.shape[0])):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def strip_replaced(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1]:
        total = zero
        for row in range(64 * strip, min(64 * strip + 64, dy.shape[0])):
            total = dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def full_strips_only(dy, db):
    col, strip = cuda.grid(2)
    if col < dy.shape[1] and 64 * strip + 64 <= dy.shape[0]:
        total = zero
        for row in range(64 * strip, 64 * strip + 64):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


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


@cuda.jit
def sigmoid_times_x(x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    e = math.exp(slope * x[i])
    y[i] = x[i] / (e + one)


@cuda.jit
def gelu_float_literal_repaired(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (1 + math.exp(slope * x[i]))


@cuda.jit
def gelu_cast_at_the_end(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = np.float32(x[i] / (1 + math.exp(-1.702 * x[i])))


@cuda.jit
def gelu_integer_literal_repaired(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (one + np.float32(math.exp(-1.702 * x[i])))


@cuda.jit
def gelu_sign(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (one + math.exp(-slope * x[i]))


@cuda.jit
def gelu_without_slope(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (one + math.exp(-x[i]))


@cuda.jit
def gelu_multiplied(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * (one + math.exp(slope * x[i]))


@cuda.jit
def gelu_sum_left_out(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / math.exp(slope * x[i])


@cuda.jit
def gelu_sum_and_slope_left_out(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / math.exp(x[i])


@cuda.jit
def gelu_slope_rounded(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (one + math.exp(np.float32(-1.7) * x[i]))


@cuda.jit
def gelu_slope_outside(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (one + slope * math.exp(x[i]))


@cuda.jit
def gelu_guard_lost(x, y):
    i = np.uint32(cuda.grid(1))
    y[i] = x[i] / (one + math.exp(slope * x[i]))


@cuda.jit
def gelu_in_place_too(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] / (one + math.exp(slope * x[i]))
        y[i] = x[i]


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
        (sum_begins_at_a_float64, "but 1.1 of its 2.1 additions"),
        (search_begins_at_a_float64, "but 2.1 of its 2.1 additions"),
        (maximum_alone, "largest score alone"),
        (shifts_the_scores_themselves, "changes its input"),
        (guard_lost, "Out of bounds"),
        (log_sum_on_the_host, "This is no kernel"),
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
        (max_by_one_lane, "a few do the work of all"),
        (max_on_the_host, "This is no kernel"),
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
        (gelu_guard_lost, "Out of bounds"),
        (gelu_in_place_too, "changes its input"),
        (gelu_on_the_host, "This is no kernel"),
    ],
}
RIGHT_ON = {
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
SOLVED = {
    "gpu.case_log_sum_exp": running,
    "gpu.case_row_max": shuffled,
    "gpu.case_bias_gradient": two_sums,
    "gpu.case_float64": sigmoid_times_x,
}
ENDLESS = dict.fromkeys(PLANTED, never_ends)
EMPTY = dict.fromkeys(PLANTED, empty)
