"""Case gpu.case_row_max: top[r] = the largest of row r, by one warp for each row."""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.gpu.judging.cost_limits import WARP
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import kernel_exercise
from labkit_lessons.gpu.races_and_other_faults import solutions
from labkit_lessons.gpu.races_and_other_faults.exercises.shared import move_tops
from labkit_lessons.gpu.races_and_other_faults.wrong import case_row_max as wrong_max


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
            "wide and very negative": (8, 70, -66, 5e36),
        },
        rows_with_tops,
    ),
    oracle=lambda x: x.max(axis=1),
    wrong={
        **by_own_name(
            wrong_max.odd_halves,
            wrong_max.first_half_rounded_up,
            wrong_max.last_column_missing,
            wrong_max.with_what_was_there,
        ),
        "padded_with_zero": wrong_max.free_lanes_zero,
        **by_own_name(
            wrong_max.starts_at_zero,
            wrong_max.first_round_missing,
            wrong_max.last_round_missing,
            wrong_max.lane_0_only,
            wrong_max.first_columns_only,
        ),
        "last_columns_only": wrong_max.last_of_each_lane,
        "first_column": wrong_max.first_column,
        "largest_size": wrong_max.largest_size_of_row,
        "smallest": wrong_max.smallest_of_row,
    },
    limit=barrier_limit,
    rtol=1e-6,
    atol=0,
)
