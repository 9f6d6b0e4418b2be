"""The exercises of lesson what_a_grid_costs: a count, addresses, what stays in place."""

from labkit_lessons.tpu.what_a_grid_costs.exercises import (
    cycles,
    dataflows,
    implicit_rows,
)

EXERCISES = [
    cycles.cycles,
    implicit_rows.implicit_rows,
    dataflows.dataflows,
]
