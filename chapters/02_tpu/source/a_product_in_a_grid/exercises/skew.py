"""Exercise tpu.skew: a[M,K] -> feeds[M+K-1,K]."""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of, exercise
from labkit_lessons.tpu.a_product_in_a_grid.exercises.shared import (
    CLOSE,
    FORBIDDEN,
    MATRICES,
    numbers,
)
from labkit_lessons.tpu.a_product_in_a_grid.wrong import skew as wrong_feeds


def matrix(rng: np.random.Generator, M: int, K: int, whole: bool) -> tuple[np.ndarray]:
    """a[M,K]."""
    return (numbers(rng, (M, K), whole),)


def staggered(a):
    """Column k of a, k cycles late; zeros before and after."""
    K = a.shape[1]
    latest = K - 1
    columns = [np.pad(a[:, k], (k, latest - k)) for k in range(K)]
    return np.stack(columns, axis=1)


skew = exercise(
    "tpu.skew",
    oracle=staggered,
    cases=cases_of(MATRICES, matrix),
    wrong={
        "together": wrong_feeds.together,
        "last_first": wrong_feeds.last_first,
        "turned": lambda a: staggered(a.T),
        **by_own_name(
            wrong_feeds.row_for_column,
            wrong_feeds.whole_rows,
            wrong_feeds.cut_off,
            wrong_feeds.too_few_columns,
            made=wrong_feeds.filled,
        ),
        "early": lambda a: wrong_feeds.rolled(a, -1),
        "come_round": lambda a: wrong_feeds.rolled(a, 2),
        "one_cycle_late": wrong_feeds.one_cycle_late,
        "twice_as_late": wrong_feeds.twice_as_late,
        "open_end": wrong_feeds.filled(wrong_feeds.open_end),
    },
    outputs=("feeds",),
    forbidden=FORBIDDEN,
    **CLOSE,
)
