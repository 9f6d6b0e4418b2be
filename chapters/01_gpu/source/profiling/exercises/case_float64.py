"""Case gpu.case_float64: y = x / (1 + exp(-1.702 x)), without an operation in float64."""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.gpu.judging.cost_limits import float64_operations
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.profiling import solutions
from labkit_lessons.gpu.profiling.wrong import case_float64 as wrong_gelu

THREADS = 128  # of a block


def a_thread_per_element(x):
    """The launch for x[n]."""
    y = np.zeros_like(x)
    return blocks(x.size, THREADS), THREADS, (y,)


def gelu(x):
    """y[n], by way of float64."""
    decay = np.exp(-1.702 * x.astype(np.float64))
    y = x / (1 + decay)
    return y.astype(np.float32)


case_float64 = kernel_exercise(
    "gpu.case_float64",
    launch=a_thread_per_element,
    kernel=solutions.quick_gelu,
    cases=cases_of(  # n, and how large the numbers may be, halved
        {
            "one block": (128, 1),
            "two blocks and a bit": (300, 4),
            "one element": (1, 1),
            "a prime number": (13, 2),
            "one more than a block": (129, 50),
            "many blocks": (1000, 1),
        },
        lambda rng, n, size: (size * distinct(rng, n),),
    ),
    oracle=gelu,
    wrong={
        "sign": wrong_gelu.with_slope(-1.702),
        "no_slope": wrong_gelu.with_slope(1),
        "slope_is_integer": wrong_gelu.with_slope(2),
        "slope_cut": wrong_gelu.with_slope(1.7),
        "no_factor": lambda x: gelu(x) / x,
        "multiplied": lambda x: x * x / gelu(x),
        **by_own_name(
            wrong_gelu.sum_left_out,
            wrong_gelu.no_parenthesis,
            wrong_gelu.both_left_out,
            wrong_gelu.factor_outside,
            wrong_gelu.overflows,
        ),
    },
    limit=float64_operations,
    costs=("flops_fp32", "flops_fp64", "traffic_bytes"),
)
