"""The repaired kernels of lesson profiling."""

from labkit_lessons.gpu.profiling.exercises import case_bias_gradient, case_float64

EXERCISES = [
    case_bias_gradient.case_bias_gradient,
    case_float64.case_float64,
]
