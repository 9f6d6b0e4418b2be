"""Case gpu.case_log_sum_exp: out[n] = log sum_k exp(x[k, n]), for scores of any size."""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.gpu.judging.cost_limits import float64_operations
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.races_and_other_faults import solutions
from labkit_lessons.gpu.races_and_other_faults.exercises.shared import move_tops
from labkit_lessons.gpu.races_and_other_faults.wrong import case_log_sum_exp as wrong_sum

THREADS = 128  # of a block


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
            "one score each, nearly the least": (1, 7, 1e36, -3.38e38),
            "far apart and of both signs": (6, 17, 150, -150),
        },
        scores,
    ),
    oracle=log_sum_exp,
    wrong={
        **by_own_name(
            wrong_sum.shift_not_added,
            wrong_sum.shift_subtracted,
            wrong_sum.first_score,
            wrong_sum.last_score,
            wrong_sum.first_left_out,
            wrong_sum.smallest_score,
            wrong_sum.mean_score,
            wrong_sum.at_least_zero,
            wrong_sum.finite_start,
            wrong_sum.one_for_all_images,
            wrong_sum.largest_size,
            wrong_sum.clipped,
            wrong_sum.clipped_below,
            wrong_sum.largest_alone,
            wrong_sum.one_too_many,
            wrong_sum.unshifted_in_float64,
        ),
        "unshifted": wrong_sum.log_sum,
    },
    limit=float64_operations,
    anywhere=True,  # it is about finite results
)
