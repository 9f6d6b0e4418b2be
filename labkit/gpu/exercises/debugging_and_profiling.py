"""The repaired kernels of lesson 01_gpu/5, debugging and profiling cases."""

import math
from typing import Any

import numpy as np

from labkit.checks.items import cases_of
from labkit.gpu import cuda
from labkit.gpu.cost_limits import worst_line
from labkit.gpu.exercise_data import distinct, whole_numbers
from labkit.gpu.kernel_exercise import blocks, kernel_exercise

THREADS = 128  # of a block
WARP = 32  # lanes
STRIP = 64  # rows of dy that a block adds up
ZERO, ONE, INFINITY = np.float32(0), np.float32(1), np.float32(np.inf)
SLOPE = np.float32(-1.702)


def float64_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """Nothing is computed in float64; what Numba makes of 0.0, -math.inf and 1 beside float32."""
    wide, all_sizes = (profile.counters[name] / x.size for name in ("flops_fp64", "flops"))
    if not wide:
        return None
    return (
        f"{wide:.2g} of its {all_sizes:.2g} additions, multiplications and divisions for each "
        "element are in float64. Look at each number that is written in the kernel: what type has "
        "it, and what type has the result?"
    )


# out[n] = log sum_k exp(x[k, n]), for scores of any size


@cuda.jit
def log_sum_exp(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        largest = -INFINITY
        for k in range(x.shape[0]):
            largest = max(largest, x[k, n])
        total = ZERO
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - largest)
        out[n] = largest + math.log(total)


def log_sum(x, shift=ZERO):
    """In the precision of x: log sum_k exp(x[k, n] - shift[n]) [N]; float32 overflows at 89."""
    with np.errstate(all="ignore"):
        return np.log(np.exp(x - shift).sum(axis=0))


def shifted(x, shift):
    return (shift + log_sum(x, shift)).astype(np.float32)


def wide(x):
    return x.astype(np.float64)


def one_too_many(x):
    """The sum begins at 1 instead of 0."""
    largest = x.max(axis=0)
    total = np.exp(x - largest).sum(axis=0) + ONE
    return (largest + np.log(total)).astype(np.float32)


def scores(rng: np.random.Generator, K: int, N: int, spread: float, size: float) -> tuple:
    """Image n has its largest score in row n % K: the first, the last and every other row."""
    x = spread * distinct(rng, K, N) + np.float32(size)
    images = np.arange(N)
    wanted, found = images % K, x.argmax(axis=0)
    largest, other = x[found, images], x[wanted, images]
    x[found, images], x[wanted, images] = other, largest
    return (x,)


loss = kernel_exercise(
    "gpu.case_log_sum_exp",
    launch=lambda x: (blocks(x.shape[1], THREADS), THREADS, (np.zeros(x.shape[1], np.float32),)),
    kernel=log_sum_exp,
    cases=cases_of(  # K, N, how far apart the scores are, and how large
        {
            "prime sizes": (7, 13, 1, 0),
            "one score": (1, 1, 1, 0),
            "two blocks": (2, 200, 1, 50),
            "large scores": (10, 130, 1, 1000),
            "very negative scores": (3, 128, 1, -1000),
            "scores far apart": (33, 37, 150, 0),
            "far apart and large": (5, 11, 100, 500),
            "far apart and negative": (4, 9, 100, -500),
            "far apart and of both signs": (6, 17, 150, -150),
        },
        scores,
    ),
    oracle=lambda x: shifted(wide(x), wide(x).max(axis=0)),
    wrong={
        "shift_not_added": lambda x: log_sum(x, x.max(axis=0)),
        "shift_subtracted": lambda x: log_sum(x, x.max(axis=0)) - x.max(axis=0),
        "first_score": lambda x: shifted(x, x[0]),
        "last_score": lambda x: shifted(x, x[-1]),
        "smallest_score": lambda x: shifted(x, x.min(axis=0)),
        "mean_score": lambda x: shifted(x, x.mean(axis=0)),
        "at_least_zero": lambda x: shifted(x, np.maximum(x.max(axis=0), ZERO)),
        "largest_size": lambda x: shifted(x, abs(x).max(axis=0)),
        "clipped": lambda x: log_sum(np.minimum(x, np.float32(80))),
        "clipped_below": lambda x: log_sum(np.clip(x, np.float32(-80), np.float32(80))),
        "largest_alone": lambda x: x.max(axis=0),
        "one_too_many": one_too_many,
        "unshifted_in_float64": lambda x: log_sum(wide(x)).astype(np.float32),
        "unshifted": log_sum,
    },
    limit=float64_limit,
)

# top[r] = the largest of row r, by one warp for each row


@cuda.jit
def row_max(x, top):
    best = cuda.shared.array(WARP, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -INFINITY
    for col in range(lane, x.shape[1], WARP):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = WARP // 2
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


def tree_max(x, step, last=1):
    """The rows' maxima by a tree that begins at the distance `step` and ends at `last`."""
    best = np.pad(x, ((0, 0), (0, -x.shape[1] % WARP)), constant_values=-INFINITY)
    best = best.reshape(len(x), -1, WARP).max(axis=1)  # [R, 32]
    while step >= last:
        best[:, :step] = np.maximum(best[:, :step], best[:, step : 2 * step])
        step //= 2
    return best[:, 0]


def rows_with_tops(rng: np.random.Generator, R: int, C: int, shift: float) -> tuple:
    """Row r has its maximum in another place: the ends, those of the warp, and all between them."""
    x = distinct(rng, R, C) + np.float32(shift)
    ends = [col for col in (0, C - 1, 31, 32, 15, 16, 63, 64) if 0 <= col < C]
    places = list(dict.fromkeys([*ends, *range(C)]))  # each once
    rows = np.arange(R)
    wanted, found = np.array(places)[rows % C], x.argmax(axis=1)
    largest, other = x[rows, found], x[rows, wanted]
    x[rows, found], x[rows, wanted] = other, largest
    return (x,)


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


maximum = kernel_exercise(
    "gpu.case_row_max",
    launch=lambda x: (len(x), WARP, (np.zeros(len(x), np.float32),)),
    kernel=row_max,
    cases=cases_of(  # R, C, and what is added to numbers between -2 and 2
        {
            "one full warp": (32, 32, 0),
            "prime sizes": (29, 13, 0),
            "one element": (1, 1, 0),
            "one column more than lanes": (9, 33, 0),
            "one column less than lanes": (9, 31, 3),
            "wide rows": (9, 150, 0),
            "all negative": (16, 10, -3),
            "wide and negative": (8, 70, -3),
        },
        rows_with_tops,
    ),
    oracle=lambda x: x.max(axis=1),
    wrong={
        "odd_halves": lambda x: tree_max(x, min(WARP, x.shape[1]) // 2),
        "padded_with_zero": free_lanes_zero,
        "starts_at_zero": lambda x: np.maximum(x.max(axis=1), ZERO),
        "first_round_missing": lambda x: tree_max(x, WARP // 4),
        "last_round_missing": lambda x: tree_max(x, WARP // 2, last=2),
        "lane_0_only": lambda x: x[:, ::WARP].max(axis=1),
        "first_columns_only": lambda x: x[:, :WARP].max(axis=1),
        "last_columns_only": last_of_each_lane,
        "first_column": lambda x: x[:, 0],
        "largest_size": lambda x: abs(x).max(axis=1),
        "smallest": lambda x: x.min(axis=1),
    },
)

# db[k] = the sum of dy[m, k] over m; a block has 64 rows of 32 columns


@cuda.jit
def bias_gradient(dy, db):
    col, top = WARP * cuda.blockIdx.x + cuda.threadIdx.x, STRIP * cuda.blockIdx.y
    if col < dy.shape[1]:
        total = ZERO
        for row in range(top, min(top + STRIP, dy.shape[0])):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


def bias_limit(profile: Any, kernel: Any, dy: np.ndarray) -> str | None:
    """Lanes are neighbours in dy, and an atomic addition serves 16 elements or more."""
    M, K = dy.shape
    if M < STRIP or K < WARP:
        return None
    line, sectors = worst_line(profile, "load")
    if sectors > 6:
        return f"in line {line} a warp's load touches {sectors:.0f} sectors where 4 would do."
    if (atomics := profile.counters["atomic_lanes"]) <= M * K // 16:
        return None
    if (shared := lanes_of_atomics(profile, "shared")) > M * K // 16:
        where = f"{shared:,} of them in shared memory"
    else:
        where = "in global memory"
    return (
        f"its lanes make {atomics:,} atomic additions for {M * K:,} elements, {where}; one for "
        f"every {STRIP} is enough. Additions to one address wait for each other."
    )


def lanes_of_atomics(profile: Any, space: str) -> int:
    """How many lanes add atomically to this memory, added up over all requests."""
    requests = [a for a in profile.accesses if (a.kind, a.space) == ("atomic", space)]
    return sum(int(np.count_nonzero(request.addresses >= 0)) for request in requests)


def sum_where(keep):
    """The gradient from the elements with keep(row in the strip, row, column) alone."""

    def wrong(dy):
        row, col = np.indices(dy.shape)
        return np.where(keep(row % STRIP, row, col), dy, 0).sum(axis=0, dtype=np.float32)

    return wrong


def first_strip(inside, row, col):
    return row < STRIP


def half_of_the_rows(inside, row, col):
    return inside < WARP


def every_32nd_row(inside, row, col):
    return inside % WARP == 0


def row_of_the_lane(inside, row, col):
    return inside % WARP == col % WARP


def first_row_of_the_lane(inside, row, col):
    return inside == col % WARP


def first_columns(inside, row, col):
    return col < WARP


def last_row_missing(inside, row, col):
    return inside < STRIP - 1


def first_row_missing(inside, row, col):
    return inside > 0


def whole_strips(inside, row, col):
    return row < (row.max() + 1) // STRIP * STRIP


def last_row_of_strip(inside, row, col):
    return (inside == STRIP - 1) | (row == row.max())


bias = kernel_exercise(
    "gpu.case_bias_gradient",
    launch=lambda dy: (
        (blocks(dy.shape[1], WARP), blocks(dy.shape[0], STRIP)),
        WARP,
        (np.zeros(dy.shape[1], np.float32),),
    ),
    kernel=bias_gradient,
    cases=cases_of(
        {
            "one block": (64, 32),
            "one element": (1, 1),
            "prime sizes": (13, 7),
            "wide": (5, 100),
            "tall": (130, 6),
            "several blocks": (200, 70),
            "one row more than a strip": (65, 33),
        },
        lambda rng, *shape: (whole_numbers(rng, *shape),),
    ),
    oracle=lambda dy: dy.sum(axis=0, dtype=np.float64).astype(np.float32),
    wrong={
        "first_strip": sum_where(first_strip),
        "half_of_the_rows": sum_where(half_of_the_rows),
        "every_32nd_row": sum_where(every_32nd_row),
        "row_of_the_lane": sum_where(row_of_the_lane),
        "first_row_of_the_lane": sum_where(first_row_of_the_lane),
        "first_columns": sum_where(first_columns),
        "last_row_missing": sum_where(last_row_missing),
        "first_row_missing": sum_where(first_row_missing),
        "whole_strips": sum_where(whole_strips),
        "last_row_of_strip": sum_where(last_row_of_strip),
        "sizes": lambda dy: abs(dy).sum(axis=0),
        "mean": lambda dy: dy.mean(axis=0),
    },
    limit=bias_limit,
    costs=("global_load_sectors_per_request", "atomic_lanes"),
    fills=False,
)

# y = x / (1 + exp(-1.702 x)), without an operation in float64


@cuda.jit
def quick_gelu(x, y):
    i = np.uint32(cuda.grid(1))
    if i < x.size:
        y[i] = x[i] / (ONE + math.exp(SLOPE * x[i]))


def gelu(x, slope=1.702):
    return (x / (1 + np.exp(-slope * wide(x)))).astype(np.float32)


activation = kernel_exercise(
    "gpu.case_float64",
    launch=lambda x: (blocks(x.size, THREADS), THREADS, (np.zeros_like(x),)),
    kernel=quick_gelu,
    cases=cases_of(  # n, and how large the numbers may be, halved
        {
            "one block": (128, 1),
            "two blocks and a bit": (300, 4),
            "one element": (1, 1),
            "a prime number": (13, 2),
            "one more than a block": (129, 50),
            "many blocks": (1000, 1),
        },
        lambda rng, n, size: (size * distinct(rng, n),),
    ),
    oracle=gelu,
    wrong={
        "sign": lambda x: gelu(x, -1.702),
        "no_slope": lambda x: gelu(x, 1),
        "slope_is_integer": lambda x: gelu(x, 2),
        "slope_cut": lambda x: gelu(x, 1.7),
        "no_factor": lambda x: gelu(x) / x,
        "multiplied": lambda x: x * x / gelu(x),
        "sum_left_out": lambda x: np.float32(x * np.exp(1.702 * wide(x))),  # infinite where large
        "both_left_out": lambda x: np.float32(x * np.exp(-wide(x))),
        "factor_outside": lambda x: x / (1 - 1.702 * np.exp(wide(x))),
    },
    limit=float64_limit,
    costs=("flops_fp32", "flops_fp64", "traffic_bytes"),
)

EXERCISES = [loss, maximum, bias, activation]
