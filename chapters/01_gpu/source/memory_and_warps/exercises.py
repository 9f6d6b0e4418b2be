"""The kernels of lesson memory_and_warps, in the order of the lesson.

Each fills one output, its last parameter. The names of the parameters are those of the lesson.
The first case of an exercise comes again at the end, and shows what the learner's kernel costs.
"""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu.judging.cost_limits import worst_line
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.memory_and_warps import solutions
from labkit_lessons.gpu.memory_and_warps.wrong import block_sum as wrong_sum
from labkit_lessons.gpu.memory_and_warps.wrong import transpose_tiled as wrong_transpose
from labkit_lessons.gpu.memory_and_warps.wrong.block_sum import ROUNDS, THREADS
from labkit_lessons.gpu.memory_and_warps.wrong.transpose_tiled import TILE

MOST_REQUESTS = 80  # of a block for its sum: a tree of another order makes 47
SECTORS = ("global_load_sectors_per_request", "global_store_sectors_per_request")


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 of both signs, no two alike; a single one differs from call to call, too."""
    size = int(np.prod(shape))
    return distinct(rng, size + 5)[:size].reshape(shape)


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


def within_a_round(profile: Any, hazard: Any, x: np.ndarray, total: np.ndarray) -> str | None:
    """The cause of a race although every warp passes a barrier in each round."""
    of_tree = hazard.kind == "race" and hazard.address.startswith("partial")
    warps = blocks(x.size, THREADS) * THREADS // 32
    if not of_tree or profile.counters["barriers"] < len(ROUNDS) * warps:
        return None
    return (
        "In one round, a thread reads what another one writes: only threads below `step` may add, "
        "and each adds its neighbour at distance `step`."
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
        "first_block_only": wrong_sum.first_block_only,
        "one_neighbour": lambda x: wrong_sum.sum_rounds(x, *ROUNDS, one_neighbour=True),
        "neighbour_subtracted": lambda x: wrong_sum.sum_rounds(x, *ROUNDS, add=np.subtract),
        "larger_kept": lambda x: wrong_sum.sum_rounds(x, *ROUNDS, add=np.maximum),
        "no_tree": wrong_sum.sum_rounds,
        "neighbour_replaces": lambda x: sum_of(wrong_sum.in_blocks(x)[:, -1]),
        "last_block_wins": lambda x: sum_of(x[(x.size - 1) // THREADS * THREADS :]),
    },
    limit=sum_limit,
    cause=within_a_round,
    costs=("atomic_lanes", "barriers", "traffic_bytes"),
    fills=False,
)

EXERCISES = [transpose_tiled, block_sum]
