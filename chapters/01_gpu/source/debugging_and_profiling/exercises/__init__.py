"""The repaired kernels of lesson debugging_and_profiling cases."""

from labkit_lessons.gpu.debugging_and_profiling.exercises import (
    case_bias_gradient,
    case_float64,
    case_log_sum_exp,
    case_row_max,
)

EXERCISES = [
    case_log_sum_exp.case_log_sum_exp,
    case_row_max.case_row_max,
    case_bias_gradient.case_bias_gradient,
    case_float64.case_float64,
]
