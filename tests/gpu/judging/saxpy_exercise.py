"""A whole exercise whose answer is a kernel, as CONTRIBUTING.md explains it."""

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu import cuda
from labkit.gpu.judging.cost_limits import worst_line
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise


@cuda.jit
def saxpy_kernel(a, x, y, z):
    i = cuda.grid(1)
    if i < x.size:
        z[i] = a * x[i] + y[i]


def saxpy_limit(profile, kernel, a, x, y):
    line, sectors = worst_line(profile, "load")
    return f"in line {line} a warp's load touches {sectors:.0f} sectors." if sectors > 6 else None


saxpy = kernel_exercise(
    "gpu.saxpy",
    launch=lambda a, x, y: (blocks(x.size, 64), 64, (np.zeros_like(x),)),  # grid, block, outputs
    kernel=saxpy_kernel,  # gets the inputs, then its outputs; here `z`
    cases=cases_of(
        {"one element": (1,), "one block": (64,), "prime": (67,), "ragged": (100,), "many": (999,)},
        lambda rng, n: (np.float32(3), distinct(rng, n), distinct(rng, n)),
    ),
    oracle=lambda a, x, y: a * x + y,
    wrong={
        "no_factor": lambda a, x, y: x + y,
        "no_sum": lambda a, x, y: a * x,
        "sum_first": lambda a, x, y: a * (x + y),
        "one_block": lambda a, x, y: np.where(np.arange(x.size) < 64, a * x + y, 0),
    },
    limit=saxpy_limit,
    costs=("global_load_sectors_per_request",),
)

EXERCISES = [saxpy]
