"""Case gpu.case_neighbours: y[i] = the mean of x[i] and its two neighbours; both ends stay."""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.gpu.judging.cost_limits import WARP
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.races_and_other_faults import solutions
from labkit_lessons.gpu.races_and_other_faults.wrong import case_neighbours as wrong_mean


def a_thread_per_element(x):
    """The launch for x[n]."""
    y = np.zeros_like(x)
    return blocks(x.size, WARP), WARP, (y,)


case_neighbours = kernel_exercise(
    "gpu.case_neighbours",
    launch=a_thread_per_element,
    kernel=solutions.smooth,
    cases=cases_of(  # n
        {
            "two full blocks": (64,),
            "one element": (1,),
            "two elements": (2,),
            "a prime number": (13,),
            "one more than a block": (33,),
            "one less than a block": (31,),
            "several blocks and a bit": (150,),
        },
        lambda rng, n: (distinct(rng, n),),
    ),
    oracle=wrong_mean.smoothed,
    wrong=by_own_name(
        wrong_mean.zeros_at_the_ends,
        wrong_mean.wraps_around,
        wrong_mean.ends_repeated,
        wrong_mean.zeros_at_the_seams,
        wrong_mean.seams_kept,
        wrong_mean.right_neighbour_missing,
        wrong_mean.left_neighbour_missing,
        wrong_mean.without_itself,
        wrong_mean.sum_of_three,
        wrong_mean.first_block_only,
        wrong_mean.copied,
    ),
    costs=("global_load_bytes", "global_store_bytes"),
)
