"""Case gpu.case_bias_gradient: db[k] = the sum of dy[m, k] over m.

A block has 64 rows of 32 columns.
"""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.gpu.judging.cost_limits import WARP, worst_line
from labkit.gpu.judging.exercise_data import whole_numbers
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.profiling import solutions
from labkit_lessons.gpu.profiling.wrong import case_bias_gradient as wrong_db
from labkit_lessons.gpu.profiling.wrong.case_bias_gradient import STRIP


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
        **by_own_name(
            wrong_db.first_strip,
            wrong_db.half_of_the_rows,
            wrong_db.every_32nd_row,
            wrong_db.row_of_the_lane,
            wrong_db.first_row_of_the_lane,
            wrong_db.first_columns,
            wrong_db.last_row_missing,
            wrong_db.first_row_missing,
            wrong_db.whole_strips,
            wrong_db.last_row_of_strip,
            made=wrong_db.sum_where,
        ),
        "sizes": wrong_db.sum_of_sizes,
        "mean": wrong_db.mean_of_rows,
    },
    limit=bias_limit,
    costs=("global_load_sectors_per_request", "atomic_lanes"),
    fills=False,
)
