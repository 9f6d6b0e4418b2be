"""The repaired kernels of lesson debugging_and_profiling cases."""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu.cost_limits import WARP, worst_line
from labkit.gpu.exercise_data import distinct, whole_numbers
from labkit.gpu.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.debugging_and_profiling import solutions
from labkit_lessons.gpu.debugging_and_profiling.wrong import case_bias_gradient as wrong_db
from labkit_lessons.gpu.debugging_and_profiling.wrong import case_float64 as wrong_gelu
from labkit_lessons.gpu.debugging_and_profiling.wrong import case_log_sum_exp as wrong_sum
from labkit_lessons.gpu.debugging_and_profiling.wrong import case_row_max as wrong_max
from labkit_lessons.gpu.debugging_and_profiling.wrong.case_bias_gradient import STRIP

THREADS = 128  # of a block


def float64_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """Nothing is computed in float64; what Numba makes of 0.0, -math.inf and 1 beside float32."""
    in_float64 = profile.counters["flops_fp64"] / x.size
    all_sizes = profile.counters["flops"] / x.size
    if not in_float64:
        return None
    return (
        f"{in_float64:.2g} of its {all_sizes:.2g} additions, multiplications and divisions for "
        "each element are in float64. Look at each number that is written in the kernel: what type "
        "has it, and what type has the result?"
    )


def move_tops(x: np.ndarray, places: np.ndarray) -> None:
    """Brings the largest of each row of x, which changes, to the row's place."""
    rows = np.arange(len(x))
    found = x.argmax(axis=1)
    largest = x[rows, found]
    x[rows, found] = x[rows, places]
    x[rows, places] = largest


# out[n] = log sum_k exp(x[k, n]), for scores of any size


def scores(rng: np.random.Generator, K: int, N: int, spread: float, size: float) -> tuple:
    """Image n has its largest score in row n % K: the first, the last and every other row."""
    x = spread * distinct(rng, K, N) + np.float32(size)
    move_tops(x.T, np.arange(N) % K)
    return (x,)


def a_thread_per_image(x):
    """The launch for x[K,N]."""
    N = x.shape[1]
    out = np.zeros(N, np.float32)
    return blocks(N, THREADS), THREADS, (out,)


def log_sum_exp(x):
    """out[N], by way of float64."""
    in_float64 = x.astype(np.float64)
    largest = in_float64.max(axis=0)
    total = np.exp(in_float64 - largest).sum(axis=0)
    return (largest + np.log(total)).astype(np.float32)


case_log_sum_exp = kernel_exercise(
    "gpu.case_log_sum_exp",
    launch=a_thread_per_image,
    kernel=solutions.log_sum_exp,
    cases=cases_of(  # K, N, how far apart the scores are, and how large
        {
            "prime sizes": (7, 13, 1, 0),
            "one score": (1, 1, 1, 0),
            "two blocks": (2, 200, 1, 50),
            "large scores": (10, 130, 1, 1000),
            "very negative scores": (3, 128, 1, -1000),
            "scores far apart": (33, 37, 150, 0),
            "far apart and large": (5, 11, 100, 500),
            "far apart and very negative": (4, 9, 1e36, -7e37),
            "far apart and of both signs": (6, 17, 150, -150),
        },
        scores,
    ),
    oracle=log_sum_exp,
    wrong={
        "shift_not_added": wrong_sum.shift_not_added,
        "shift_subtracted": wrong_sum.shift_subtracted,
        "first_score": wrong_sum.first_score,
        "last_score": wrong_sum.last_score,
        "first_left_out": wrong_sum.first_left_out,
        "smallest_score": wrong_sum.smallest_score,
        "mean_score": wrong_sum.mean_score,
        "at_least_zero": wrong_sum.at_least_zero,
        "finite_start": wrong_sum.finite_start,
        "one_for_all_images": wrong_sum.one_for_all_images,
        "largest_size": wrong_sum.largest_size,
        "clipped": wrong_sum.clipped,
        "clipped_below": wrong_sum.clipped_below,
        "largest_alone": wrong_sum.largest_alone,
        "one_too_many": wrong_sum.one_too_many,
        "unshifted_in_float64": wrong_sum.unshifted_in_float64,
        "unshifted": wrong_sum.log_sum,
    },
    limit=float64_limit,
)

# top[r] = the largest of row r, by one warp for each row


def rows_with_tops(
    rng: np.random.Generator, R: int, C: int, shift: float, size: float = 1
) -> tuple:
    """Row r has its maximum in another place: the ends, those of the warp, and all between them."""
    x = np.float32(size) * (distinct(rng, R, C) + np.float32(shift))
    ends = [col for col in (0, C - 1, 31, 32, 15, 16, 63, 64) if 0 <= col < C]
    places = np.array(list(dict.fromkeys([*ends, *range(C)])))  # each once
    move_tops(x, places[np.arange(R) % C])
    return (x,)


def a_warp_per_row(x):
    """The launch for x[R,C]."""
    R = len(x)
    top = np.zeros(R, np.float32)
    return R, WARP, (top,)


def barrier_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """No lane has returned before a barrier of its warp. A GPU allows it since Volta, of 2017."""
    for line, text, counters in profile.source:
        if "syncwarp()" in text and counters.get("active_lane_ratio", 1) < 1:
            return (
                f"some lanes have returned before the barrier in line {line}. Like every barrier, "
                "it stands where all lanes come to it: guard their work with an `if` instead."
            )
    return None


case_row_max = kernel_exercise(
    "gpu.case_row_max",
    launch=a_warp_per_row,
    kernel=solutions.row_max,
    cases=cases_of(  # R, C, what is added to numbers between -2 and 2, and what multiplies them
        {
            "one full warp": (32, 32, 0),
            "prime sizes": (29, 13, 0),
            "one element": (1, 1, 0),
            "one column more than lanes": (9, 33, 0),
            "one column less than lanes": (9, 31, 3),
            "wide rows": (9, 150, 0),
            "all negative": (16, 10, -3),
            "wide and very negative": (8, 70, -3, 1e37),
        },
        rows_with_tops,
    ),
    oracle=lambda x: x.max(axis=1),
    wrong={
        "odd_halves": wrong_max.odd_halves,
        "first_half_rounded_up": wrong_max.first_half_rounded_up,
        "last_column_missing": wrong_max.last_column_missing,
        "with_what_was_there": wrong_max.with_what_was_there,
        "padded_with_zero": wrong_max.free_lanes_zero,
        "starts_at_zero": wrong_max.starts_at_zero,
        "first_round_missing": wrong_max.first_round_missing,
        "last_round_missing": wrong_max.last_round_missing,
        "lane_0_only": wrong_max.lane_0_only,
        "first_columns_only": wrong_max.first_columns_only,
        "last_columns_only": wrong_max.last_of_each_lane,
        "first_column": wrong_max.first_column,
        "largest_size": wrong_max.largest_size_of_row,
        "smallest": wrong_max.smallest_of_row,
    },
    limit=barrier_limit,
)

# db[k] = the sum of dy[m, k] over m; a block has 64 rows of 32 columns


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


def a_warp_per_strip(dy):
    """The launch for dy[M,K]."""
    M, K = dy.shape
    across = blocks(K, WARP)
    down = blocks(M, STRIP)
    db = np.zeros(K, np.float32)
    return (across, down), WARP, (db,)


def bias_gradient(dy):
    """db[K], by way of float64."""
    total = dy.sum(axis=0, dtype=np.float64)
    return total.astype(np.float32)


case_bias_gradient = kernel_exercise(
    "gpu.case_bias_gradient",
    launch=a_warp_per_strip,
    kernel=solutions.bias_gradient,
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
    oracle=bias_gradient,
    wrong={
        "first_strip": wrong_db.sum_where(wrong_db.first_strip),
        "half_of_the_rows": wrong_db.sum_where(wrong_db.half_of_the_rows),
        "every_32nd_row": wrong_db.sum_where(wrong_db.every_32nd_row),
        "row_of_the_lane": wrong_db.sum_where(wrong_db.row_of_the_lane),
        "first_row_of_the_lane": wrong_db.sum_where(wrong_db.first_row_of_the_lane),
        "first_columns": wrong_db.sum_where(wrong_db.first_columns),
        "last_row_missing": wrong_db.sum_where(wrong_db.last_row_missing),
        "first_row_missing": wrong_db.sum_where(wrong_db.first_row_missing),
        "whole_strips": wrong_db.sum_where(wrong_db.whole_strips),
        "last_row_of_strip": wrong_db.sum_where(wrong_db.last_row_of_strip),
        "sizes": wrong_db.sum_of_sizes,
        "mean": wrong_db.mean_of_rows,
    },
    limit=bias_limit,
    costs=("global_load_sectors_per_request", "atomic_lanes"),
    fills=False,
)

# y = x / (1 + exp(-1.702 x)), without an operation in float64


def a_thread_per_element(x):
    """The launch for x[n]."""
    y = np.zeros_like(x)
    return blocks(x.size, THREADS), THREADS, (y,)


def gelu(x):
    """y[n], by way of float64."""
    decay = np.exp(-1.702 * x.astype(np.float64))
    y = x / (1 + decay)
    return y.astype(np.float32)


case_float64 = kernel_exercise(
    "gpu.case_float64",
    launch=a_thread_per_element,
    kernel=solutions.quick_gelu,
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
        "sign": wrong_gelu.with_slope(-1.702),
        "no_slope": wrong_gelu.with_slope(1),
        "slope_is_integer": wrong_gelu.with_slope(2),
        "slope_cut": wrong_gelu.with_slope(1.7),
        "no_factor": lambda x: gelu(x) / x,
        "multiplied": lambda x: x * x / gelu(x),
        "sum_left_out": wrong_gelu.sum_left_out,
        "no_parenthesis": wrong_gelu.no_parenthesis,
        "both_left_out": wrong_gelu.both_left_out,
        "factor_outside": wrong_gelu.factor_outside,
        "overflows": wrong_gelu.overflows,
    },
    limit=float64_limit,
    costs=("flops_fp32", "flops_fp64", "traffic_bytes"),
)

EXERCISES = [case_log_sum_exp, case_row_max, case_bias_gradient, case_float64]
