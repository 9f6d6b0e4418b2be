"""The exercises of the lesson: a matrix product from global memory, shared memory, registers.

Each kernel gets a[M,K], b[K,N] and fills c[M,N], float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu.judging.cost_limits import worst_line
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.tiles import solutions
from labkit_lessons.gpu.tiles.wrong import matmul_coalesced as wrong
from labkit_lessons.gpu.tiles.wrong.matmul_registers import REGISTER_SLIPS
from labkit_lessons.gpu.tiles.wrong.matmul_tiled import TILE_SLIPS
from labkit_lessons.gpu.tiles.wrong.shared import STEP, over

SIZES = {  # M, K, N
    "one tile": (32, 32, 32),
    "all sizes 1": (1, 1, 1),
    "prime sizes": (7, 13, 5),
    "ragged": (33, 40, 65),
    "wide": (3, 96, 96),
    "tall": (97, 33, 5),
    "one product per result": (40, 1, 35),
    "several tiles": (64, 96, 70),
}
LARGE_SIZES = SIZES | {  # with tiles of 64 x 64: two and three of them, and three steps
    "two tiles": (65, 32, 129),
    "many tiles": (130, 70, 131),
}


def two_matrices(rng: np.random.Generator, M: int, K: int, N: int) -> tuple:
    """a [M, K] and b [K, N]."""
    size_of_a = M * K
    size_of_b = K * N
    both = distinct(rng, size_of_a + size_of_b)
    a = both[:size_of_a].reshape(M, K)
    b = both[size_of_a:].reshape(K, N)
    return a, b


def a_block_for(rows: int, columns: int, threads: tuple[int, int]) -> Callable:
    """A launch that has a block of so many threads for each tile of c, rows x columns."""

    def launch(a, b):
        M = a.shape[0]
        N = b.shape[1]
        c = np.zeros((M, N), np.float32)
        across = blocks(N, columns)
        down = blocks(M, rows)
        return (across, down), threads, (c,)

    return launch


def product(a, b):
    """a[M,K] @ b[K,N] -> c[M,N], in float64."""
    return a.astype(np.float64) @ b


# Costs


def float64(profile: Any) -> str | None:
    """No arithmetic in float64, in the lesson's own words."""
    if not profile.counters["flops_fp64"]:
        return None
    return (
        "some of the arithmetic is in float64, which many GPUs do far slower: begin the sum with "
        "`zero`, a float32. A Python 0.0 is a float64, and a 0 makes one of a float32."
    )


def written_once(profile: Any, results: int) -> str | None:
    """Each element of c is stored once, and no atomic operation changes it."""
    counters = profile.counters
    times = (counters["global_store_bytes"] / 4 + counters["atomic_lanes"]) / results
    if times <= 1:
        return None
    return (
        f"each element of c is written {times:.3g} times: keep the sum in a variable, and write it "
        "once."
    )


def coalesced(profile: Any, kernel: Any, a, b) -> str | None:
    """One float32 sum per result, each of its numbers asked for once, and neighbours by a warp."""
    M, K = a.shape
    N = b.shape[1]
    if sentence := float64(profile) or written_once(profile, M * N):
        return sentence
    line, sectors = max(worst_line(profile, way) for way in ("load", "store"))
    if N >= 32 and sectors > 6:
        return (
            f"in line {line} a warp's request touches {sectors:.0f} sectors of global memory. "
            "Let x, the first number of cuda.grid(2), be the column."
        )
    asked = profile.counters["global_load_bytes"]
    enough = 4 * 2 * M * N * K
    if asked > enough:
        return (
            f"global memory is asked for {asked:,} B where {enough:,} B would do: each product "
            "needs one element of a and one of b."
        )
    return None


def tiles_used(rows: int, columns: int, warps: int, passes: float, enough: str) -> Callable:
    """Global memory is asked once per tile, and the banks at most `passes` times per multiply-add.

    A block has `warps` warps and makes rows x columns of c. `enough` is what our kernel needs.
    """

    def limit(profile: Any, kernel: Any, a, b) -> str | None:
        M, K = a.shape
        N = b.shape[1]
        down = blocks(M, rows)
        across = blocks(N, columns)
        steps = down * across * blocks(K, STEP)  # of all blocks
        return (
            float64(profile)
            or written_once(profile, M * N)
            or fetched_once(profile, 4 * (M * K * across + K * N * down))
            or fetched_in_rows(profile)
            or two_barriers(profile, steps * warps)
            or few_passes(profile, steps * rows * columns, passes, enough)
        )

    return limit


def fetched_once(profile: Any, enough: int) -> str | None:
    """No more than `enough` bytes are asked of global memory."""
    asked = profile.counters["global_load_bytes"]
    if asked <= enough:
        return None
    return (
        f"global memory is asked for {asked:,} B where {enough:,} B would do: read each element of "
        "a tile from there once, and the products from shared memory."
    )


def fetched_in_rows(profile: Any) -> str | None:
    """A warp fetches neighbours: 4 sectors, and some more where rows are ragged."""
    sectors = profile.counters["global_load_sectors_per_request"]
    if sectors <= 6:
        return None
    return (
        f"a warp's request for a tile touches {sectors:.2g} sectors of global memory on average: "
        "let tx, which differs from lane to lane, count the columns."
    )


def two_barriers(profile: Any, steps: int) -> str | None:
    """Two barriers in a step, or up to four. `steps` are those of all warps."""
    waits = profile.counters["barriers"] / steps
    if waits <= 4:
        return None
    return (
        f"each warp waits {waits:.3g} times in a step, where 2 would do: the barriers stand before "
        "and behind the loop over k, not in it."
    )


def few_passes(profile: Any, multiply_adds: int, most: float, enough: str) -> str | None:
    """The banks are passed at most `most` times for each of the warps' multiply-adds."""
    counters = profile.counters
    conflicts = counters["bank_conflicts"]
    passes = counters["shared_load_transactions"] + counters["shared_store_transactions"]
    if passes <= most * multiply_adds:
        return None
    advice = "Read each number into a variable once, then use it for all results that need it."
    if 4 * conflicts > passes:
        advice = (
            f"{conflicts:,} passes are bank conflicts: let tx, which differs from lane to lane, be "
            "the last index of a tile, as in b_tile[k, tx]."
        )
    return (
        f"the banks are passed {passes / multiply_adds:.2g} times for each multiply-add of a warp, "
        f"where {enough} would do. {advice}"
    )


matmul_coalesced = kernel_exercise(
    "gpu.matmul_coalesced",
    launch=a_block_for(8, 32, threads=(32, 8)),
    kernel=solutions.matmul_coalesced,
    cases=cases_of(SIZES, two_matrices),
    oracle=product,
    wrong={
        "last_product_only": over(wrong.last_k),
        "last_product_missing": over(wrong.all_but_last_k),
        "first_product_missing": over(wrong.all_but_first_k),
        "result_transposed": wrong.transposed,
        "x_for_the_row": wrong.x_for_the_row,
        "columns_for_k": wrong.over_columns_of_c,
        "first_block_only": wrong.one_block(8, 32),
        "first_columns_only": wrong.one_block(2**31, 32),
        "first_rows_only": wrong.one_block(8, 2**31),
        "first_product_only": over(wrong.first_k),
        "sums_for_products": wrong.sums_for_products,
        "last_row_missing": wrong.without_last(1, 0),
        "last_column_missing": wrong.without_last(0, 1),
        "last_row_and_column_missing": wrong.without_last(1, 1),
    },
    limit=coalesced,
    costs=("global_load_sectors_per_request", "global_load_bytes"),
    atol=1e-4,
)

matmul_tiled = kernel_exercise(
    "gpu.matmul_tiled",
    launch=a_block_for(32, 32, threads=(32, 32)),
    kernel=solutions.matmul_tiled,
    cases=cases_of(SIZES, two_matrices),
    oracle=product,
    wrong=TILE_SLIPS,
    limit=tiles_used(32, 32, warps=32, passes=2.25, enough="2.1"),
    costs=("global_load_bytes", "shared_load_transactions", "bank_conflicts"),
    atol=1e-4,
)

matmul_registers = kernel_exercise(
    "gpu.matmul_registers",
    launch=a_block_for(64, 64, threads=(32, 8)),
    kernel=solutions.matmul_registers,
    cases=cases_of(LARGE_SIZES, two_matrices),
    oracle=product,
    wrong=REGISTER_SLIPS,
    limit=tiles_used(64, 64, warps=8, passes=0.75, enough="0.66"),
    costs=("global_load_bytes", "shared_load_transactions", "bank_conflicts"),
    atol=1e-4,
)

EXERCISES = [matmul_coalesced, matmul_tiled, matmul_registers]
