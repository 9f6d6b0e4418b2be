"""The kernels of lesson a_first_kernel, in the order of the lesson.

Each fills one output, its last parameter. The names of the parameters are those of the lesson.
The first case of an exercise comes again at the end, and shows what the learner's kernel costs.
"""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu.judging.cost_limits import worst_line
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.a_first_kernel import solutions
from labkit_lessons.gpu.a_first_kernel.wrong import relu_kernel as wrong_relu
from labkit_lessons.gpu.a_first_kernel.wrong import scale_rows as wrong_scale
from labkit_lessons.gpu.a_first_kernel.wrong.shared import BLOCK, THREADS

SECTORS = ("global_load_sectors_per_request", "global_store_sectors_per_request")


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 of both signs, no two alike; a single one differs from call to call, too."""
    size = int(np.prod(shape))
    return distinct(rng, size + 5)[:size].reshape(shape)


# c[i] = a[i] + b[i], in one block with a thread for each element

add_kernel = kernel_exercise(
    "gpu.add_kernel",
    launch=lambda a, b: (1, a.size, (np.zeros_like(a),)),
    kernel=solutions.add_kernel,
    cases=cases_of(
        {
            "three hundred": (300,),
            "one element": (1,),
            "a prime number": (13,),
            "one warp": (32,),
            "one more than a warp": (33,),
            "the largest block": (1024,),
        },
        lambda rng, n: (numbers(rng, n), numbers(rng, n)),
    ),
    oracle=lambda a, b: a + b,
    wrong={
        "subtracted": lambda a, b: a - b,
        "multiplied": lambda a, b: a * b,
        "a_alone": lambda a, b: a,
        "b_alone": lambda a, b: b,
        "first_elements": lambda a, b: np.full_like(a, a[0] + b[0]),
    },
)

# y[i] = max(x[i], 0)


def relu_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """One thread per element: each is written once."""
    written = profile.counters["global_store_bytes"]
    size = 4 * x.size
    if written <= 2 * size:
        return None
    return (
        f"each element is written {written // size} times. A thread has one element, `i`, and a "
        "thread without one does nothing; the loop over the elements is the launch itself."
    )


def relu_inputs(rng: np.random.Generator, n: int, zero: float | None = None) -> tuple:
    """n numbers; with a `zero`, 0.0 or -0.0, also the largest and smallest there are.

    The ends are positive: whoever leaves one out has a 0 there, which is wrong_relu.
    """
    x = numbers(rng, n)
    if n > 1:
        x[[0, -1]] = abs(x[[0, -1]])
    if zero is not None:
        special = np.float32([3e38, 1e30, 1e9, 1e3, 1e-30, 1e-40])
        special = np.concatenate([special, -special, np.float32([zero])])
        inside = 1 + rng.permutation(n - 2)
        x[inside[: special.size]] = special
    return (x,)


relu_kernel = kernel_exercise(
    "gpu.relu_kernel",
    launch=lambda x: (blocks(x.size, THREADS), THREADS, (np.zeros_like(x),)),
    kernel=solutions.relu_kernel,
    cases=cases_of(
        {
            "two blocks and a bit": (300,),
            "one full block": (128,),
            "one element": (1,),
            "a prime number": (13,),
            "one more than a block": (129,),
            "two full blocks": (256,),
            "zero and the largest numbers": (40, 0.0),
            "minus zero": (150, -0.0),
            "many blocks": (1000,),
        },
        relu_inputs,
    ),
    oracle=lambda x: np.maximum(x, 0),
    wrong={
        "first_block_only": lambda x: wrong_relu.relu_of_first(x, THREADS),
        "first_threads_only": lambda x: wrong_relu.relu_of_first(x, blocks(x.size, THREADS)),
        "number_not_times_size": wrong_relu.relu_of_summed_numbers,
        "grid_for_block": wrong_relu.relu_of_grid_for_block,
        "negative_part": lambda x: np.minimum(x, 0),
        "absolute_value": np.abs,
        "copied": lambda x: x,
        "one_or_zero": lambda x: np.float32(x > 0),
        "half_of_a_sum": lambda x: (x + abs(x)) / 2,  # 2 * 3e38 is infinite
        "last_missing": lambda x: wrong_relu.relu_of_first(x, x.size - 1),
    },
    limit=relu_limit,
    rtol=1e-6,
    atol=0,
)

# b[row, col] = a[row, col] * scale[row] + shift[row]


def scale_limit(profile: Any, kernel: Any, a: np.ndarray, *rows: np.ndarray) -> str | None:
    """Neighbouring lanes must touch neighbouring columns: at most 5 sectors for 32 floats."""
    line, sectors = worst_line(profile, "store")
    if a.shape[1] < 64 or sectors <= 6:
        return None
    return (
        f"in line {line} a warp's store touches {sectors:.0f} sectors where 4 would do. The 32 "
        "threads of a warp differ in x: let x choose the column, so that neighbours touch "
        "neighbours."
    )


def scaled(a, scale, shift):
    """b[R,C]."""
    return a * scale[:, None] + shift[:, None]


scale_rows = kernel_exercise(
    "gpu.scale_rows",
    launch=lambda a, scale, shift: (
        (blocks(a.shape[1], BLOCK[0]), blocks(a.shape[0], BLOCK[1])),
        BLOCK,
        (np.zeros_like(a),),
    ),
    kernel=solutions.scale_rows,
    cases=cases_of(
        {
            "several blocks": (96, 64),
            "one square tile": (32, 32),
            "one full block": (8, 32),
            "wide": (3, 200),
            "tall": (100, 5),
            "one element": (1, 1),
            "one row": (1, 33),
            "one column": (9, 1),
            "prime sizes": (7, 13),
            "ragged blocks": (45, 70),
        },
        lambda rng, R, C: (numbers(rng, R, C), numbers(rng, R), numbers(rng, R)),
    ),
    oracle=scaled,
    wrong={
        "swapped": wrong_scale.scale_swapped,
        "per_column": wrong_scale.scaled_by_column,
        "first_row": lambda a, scale, shift: a * scale[0] + shift[0],
        "no_shift": lambda a, scale, shift: a * scale[:, None],
        "no_scale": lambda a, scale, shift: a + shift[:, None],
        "shift_first": lambda a, scale, shift: (a + shift[:, None]) * scale[:, None],
        "divided": lambda a, scale, shift: a / scale[:, None] + shift[:, None],
        "way_back": lambda a, scale, shift: (a - shift[:, None]) / scale[:, None],
        "first_block": lambda *inputs: wrong_scale.scale_corner(*inputs, *BLOCK[::-1]),
        "first_rows": lambda a, *rows: wrong_scale.scale_corner(a, *rows, BLOCK[1], a.shape[1]),
        "first_columns": lambda a, *rows: wrong_scale.scale_corner(a, *rows, len(a), BLOCK[0]),
    },
    limit=scale_limit,
    costs=SECTORS,
)

EXERCISES = [add_kernel, relu_kernel, scale_rows]
