"""The kernels of lesson threads_blocks_and_memory, in the order of the lesson.

Each fills one output, its last parameter. The names of the parameters are those of the lesson.
The first case of an exercise comes again at the end, and shows what the learner's kernel costs.
"""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu.judging.cost_limits import worst_line
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.threads_blocks_and_memory import solutions
from labkit_lessons.gpu.threads_blocks_and_memory.wrong import block_sum as wrong_sum
from labkit_lessons.gpu.threads_blocks_and_memory.wrong import relu_kernel as wrong_relu
from labkit_lessons.gpu.threads_blocks_and_memory.wrong import scale_rows as wrong_scale
from labkit_lessons.gpu.threads_blocks_and_memory.wrong import transpose_tiled as wrong_transpose
from labkit_lessons.gpu.threads_blocks_and_memory.wrong.block_sum import ROUNDS
from labkit_lessons.gpu.threads_blocks_and_memory.wrong.shared import BLOCK, THREADS, TILE

MOST_REQUESTS = 80  # of a block for its sum: a tree of another order makes 47
SECTORS = ("global_load_sectors_per_request", "global_store_sectors_per_request")


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 of both signs, no two alike; a single one differs from call to call, too."""
    size = int(np.prod(shape))
    return distinct(rng, size + 5)[:size].reshape(shape)


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

# b = a transposed, through a tile in shared memory


def transpose_limit(profile: Any, kernel: Any, a: np.ndarray) -> str | None:
    """Loads and stores both along rows, and each element through the tile."""
    for way in ("load", "store"):
        line, sectors = worst_line(profile, way)
        if sectors > 6 and min(a.shape) >= TILE:
            return (
                f"in line {line} a warp's {way} touches {sectors:.0f} sectors of global memory "
                "where 4 would do. Let neighbouring threads touch neighbouring columns on both "
                "sides; the turning happens in the tile."
            )
    return None


transpose_tiled = kernel_exercise(
    "gpu.transpose_tiled",
    launch=lambda a: (
        (blocks(a.shape[1], TILE), blocks(a.shape[0], TILE)),
        (TILE, TILE),
        (np.zeros(a.shape[::-1], np.float32),),
    ),
    kernel=solutions.transpose_tiled,
    cases=cases_of(
        {
            "four tiles": (64, 64),
            "one tile": (32, 32),
            "one element": (1, 1),
            "prime sizes": (13, 29),
            "wide": (20, 70),
            "tall": (96, 32),
            "one row": (1, 40),
            "ragged in both directions": (45, 70),
            "one more than two tiles": (65, 33),
        },
        lambda rng, *shape: (numbers(rng, *shape),),
    ),
    oracle=lambda a: a.T.copy(),
    wrong={
        "tiles_in_place": lambda a: wrong_transpose.transpose_half(a, 0, 3, 2, 1),
        "tiles_not_turned": lambda a: wrong_transpose.transpose_half(a, 2, 1, 0, 3),
        "copied": lambda a: wrong_transpose.transpose_half(a, 0, 1, 2, 3),
        "one_index_twice": wrong_transpose.transpose_diagonals,
    },
    limit=transpose_limit,
    costs=(*SECTORS, "bank_conflicts"),
)

# total[0] = the sum of all x, by a tree in shared memory and one atomic per block


def sum_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """One atomic addition per block, or one per warp; and many threads add up a block's numbers."""
    n = blocks(x.size, THREADS)
    requests = profile.counters["shared_load_requests"] / n
    if requests > MOST_REQUESTS:
        return (
            f"each block makes {requests:.0f} requests to load from shared memory, one after the "
            "other, where the tree makes 17. In a round, all threads below `step` add at the same "
            "time."
        )
    lanes = profile.counters["atomic_lanes"]
    most = n * THREADS // 32
    if lanes <= most:
        return None
    return (
        f"{lanes} atomic additions of single threads were counted, in global and shared memory "
        f"together. One for each block would do, here {n}; one for each warp, here {most}, passes. "
        "Atomics on one address wait for each other: add within the block by the tree first."
    )


def signed(rng: np.random.Generator, n: int) -> np.ndarray:
    """n numbers between 1 and 5, no two alike; one in four gets a minus.

    So the sum, about 1.5 n, does not vanish among the rounding errors of its parts."""
    return np.where(rng.random(n) < 0.25, -1, 1).astype(np.float32) * (3 + numbers(rng, n))


def sum_of(x):
    """total[1], by way of float64."""
    total = x.sum(dtype=np.float64)
    return np.array([total], np.float32)


block_sum = kernel_exercise(
    "gpu.block_sum",
    launch=lambda x: (blocks(x.size, THREADS), THREADS, (np.zeros(1, np.float32),)),
    kernel=solutions.block_sum,
    cases=cases_of(
        {
            "many blocks": (1000,),
            "one block": (128,),
            "two blocks and a bit": (300,),
            "two elements": (2,),
            "one element": (1,),
            "a prime number": (67,),
            "one more than a block": (129,),
            "two full blocks": (256,),
        },
        lambda rng, n: (signed(rng, n),),
    ),
    oracle=sum_of,
    wrong={
        "last_round_missing": lambda x: wrong_sum.sum_rounds(x, 64, 32, 16, 8, 4, 2),
        "first_round_missing": lambda x: wrong_sum.sum_rounds(x, 32, 16, 8, 4, 2, 1),
        "one_round": lambda x: wrong_sum.sum_rounds(x, 64),
        "every_other_round": lambda x: wrong_sum.sum_rounds(x, 64, 16, 4, 1),
        "one_neighbour": lambda x: wrong_sum.sum_rounds(x, *ROUNDS, one_neighbour=True),
        "neighbour_subtracted": lambda x: wrong_sum.sum_rounds(x, *ROUNDS, add=np.subtract),
        "larger_kept": lambda x: wrong_sum.sum_rounds(x, *ROUNDS, add=np.maximum),
        "no_tree": wrong_sum.sum_rounds,
        "neighbour_replaces": lambda x: sum_of(wrong_sum.in_blocks(x)[:, -1]),
        "last_block_wins": lambda x: sum_of(x[(x.size - 1) // THREADS * THREADS :]),
    },
    limit=sum_limit,
    costs=("atomic_lanes", "barriers", "traffic_bytes"),
    fills=False,
)

EXERCISES = [relu_kernel, scale_rows, transpose_tiled, block_sum]
