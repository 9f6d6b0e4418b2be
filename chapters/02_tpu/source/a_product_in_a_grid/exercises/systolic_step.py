"""Exercise tpu.systolic_step: one cycle of all cells.

a, psum, w [rows,cols], feed [rows] -> a_next, psum_next [rows,cols]
"""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of, exercise
from labkit_lessons.tpu.a_product_in_a_grid.exercises.shared import (
    CLOSE,
    FORBIDDEN,
    MATRICES,
    numbers,
)
from labkit_lessons.tpu.a_product_in_a_grid.wrong import systolic_step as wrong_step


def registers(rng: np.random.Generator, rows: int, cols: int, whole: bool) -> tuple:
    """a, psum, w and feed, before a step."""
    a, psum, w = numbers(rng, (3, rows, cols), whole)
    feed = numbers(rng, (rows,), whole)
    return a, psum, w, feed


def one_step(a, psum, w, feed):
    """Activations move right, sums move down, and each cell adds its product."""
    from_left = a[:, :-1]
    a_next = np.column_stack([feed, from_left])
    zeros = np.zeros_like(psum[:1])
    from_above = np.vstack([zeros, psum[:-1]])
    product = a_next * w
    return a_next, from_above + product


systolic_step = exercise(
    "tpu.systolic_step",
    oracle=one_step,
    cases=cases_of(MATRICES, registers),
    wrong={
        "old_activations": wrong_step.old_activations,
        **by_own_name(
            wrong_step.sums_stay,
            wrong_step.sums_come_round,
            wrong_step.first_sums_stay,
            wrong_step.no_sum,
            wrong_step.no_product,
            wrong_step.both_sums,
            made=wrong_step.with_sums,
        ),
        "factors_added": wrong_step.factors_added,
        "sums_run_through": wrong_step.with_sums(wrong_step.sums_run_through),
        "matrix_product": wrong_step.matrix_product,
        "broadcast": wrong_step.with_activations(wrong_step.broadcast),
        "adds_first": wrong_step.with_sums(wrong_step.adds_first),
        "sums_up": wrong_step.with_sums(wrong_step.sums_up),
        "sums_right": wrong_step.with_sums(wrong_step.sums_right),
        **by_own_name(
            wrong_step.numbers_left,
            wrong_step.numbers_come_round,
            wrong_step.numbers_down,
            wrong_step.activations_stay,
            wrong_step.nothing_enters,
            made=wrong_step.with_activations,
        ),
    },
    outputs=("a_next", "psum_next"),
    forbidden=FORBIDDEN,
    **CLOSE,
)
