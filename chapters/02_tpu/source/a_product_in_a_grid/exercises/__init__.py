"""The exercises of lesson a_product_in_a_grid: a cell, feeds, one cycle."""

from labkit_lessons.tpu.a_product_in_a_grid.exercises import (
    one_cell,
    skew,
    systolic_step,
)

EXERCISES = [
    one_cell.one_cell,
    skew.skew,
    systolic_step.systolic_step,
]
