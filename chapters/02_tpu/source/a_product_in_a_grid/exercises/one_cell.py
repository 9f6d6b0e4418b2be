"""Exercise tpu.one_cell: a, psum, w [rows,cols] -> psum_next [rows,cols], all cells at once."""

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit_lessons.tpu.a_product_in_a_grid.exercises.shared import (
    CLOSE,
    FORBIDDEN,
    MATRICES,
    numbers,
)
from labkit_lessons.tpu.a_product_in_a_grid.wrong import one_cell as wrong_cell


def registers(rng: np.random.Generator, rows: int, cols: int, whole: bool) -> tuple:
    """a, psum and w."""
    return tuple(numbers(rng, (3, rows, cols), whole))


one_cell = exercise(
    "tpu.one_cell",
    oracle=lambda a, psum, w: psum + a * w,
    cases=cases_of(MATRICES, registers),
    wrong={
        "no_sum": wrong_cell.no_sum,
        "no_product": wrong_cell.no_product,
        "no_weight": wrong_cell.no_weight,
        "all_added": wrong_cell.all_added,
        "all_multiplied": wrong_cell.all_multiplied,
        "number_first": wrong_cell.number_first,
        "weight_first": wrong_cell.weight_first,
        "sum_multiplied": wrong_cell.sum_multiplied,
        "subtracted": wrong_cell.subtracted,
        "matrix_product": wrong_cell.matrix_product,
        "added_up": wrong_cell.added_up,
    },
    outputs=("psum_next",),
    forbidden=FORBIDDEN,
    **CLOSE,
)
