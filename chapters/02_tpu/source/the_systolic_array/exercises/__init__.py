"""The exercises of lesson the_systolic_array: a cell, feeds, one cycle, a count, an address."""

from labkit_lessons.tpu.the_systolic_array.exercises import (
    cycles,
    implicit_rows,
    one_cell,
    skew,
    systolic_step,
)

EXERCISES = [
    one_cell.one_cell,
    skew.skew,
    systolic_step.systolic_step,
    cycles.cycles,
    implicit_rows.implicit_rows,
]
