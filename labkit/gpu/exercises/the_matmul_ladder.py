"""The exercises of lesson 01_gpu/3: a matrix product from global memory, shared memory, registers.

Each kernel gets a[M,K], b[K,N] and fills c[M,N], float32.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from labkit.checks.exercise import Exercise
from labkit.checks.items import cases_of
from labkit.gpu import cuda
from labkit.gpu.cost_limits import worst_line
from labkit.gpu.exercise_data import distinct
from labkit.gpu.exercises import lowest_limit
from labkit.gpu.kernel_exercise import blocks, kernel_exercise

ZERO = np.float32(0)
STEP = 32  # a tile's share of K
SIZES = {  # M, K, N
    "one tile": (32, 32, 32),
    "all sizes 1": (1, 1, 1),
    "prime sizes": (7, 13, 5),
    "ragged": (33, 40, 65),
    "wide": (3, 70, 96),
    "tall": (97, 33, 5),
    "one product per result": (40, 1, 35),
    "several tiles": (64, 96, 70),
}
LARGE_SIZES = SIZES | {  # with tiles of 64 x 64: two and three of them, and three steps
    "two tiles": (65, 32, 129),
    "many tiles": (130, 70, 131),
}


def inputs(rng: np.random.Generator, M: int, K: int, N: int) -> tuple[np.ndarray, np.ndarray]:
    both = distinct(rng, M * K + K * N)
    return both[: M * K].reshape(M, K), both[M * K :].reshape(K, N)


def product(a, b):
    return a.astype(np.float64) @ b


# Wrong ideas of any product.


def in_c(value: np.ndarray, a, b) -> np.ndarray:
    """`value`, cut or filled up with zeros to the shape of c."""
    c = np.zeros((a.shape[0], b.shape[1]))
    rows, columns = (min(sizes) for sizes in zip(c.shape, value.shape, strict=True))
    c[:rows, :columns] = value[:rows, :columns]
    return c


def over(terms: Callable[[int], slice]) -> Callable:
    """The product summed over part of K only."""
    return lambda a, b: product(a[:, terms(len(b))], b[terms(len(b))])


def over_columns_of_c(a, b):
    """The loop over k has N rounds. Where N is larger than K, it leaves the matrices."""
    N = b.shape[1]
    if len(b) < N:
        raise IndexError(f"k runs to {N - 1}")
    return product(a[:, :N], b[:N])


def one_block(rows: int, columns: int) -> Callable:
    """Only the first block of threads has a place of its own."""
    return lambda a, b: in_c(product(a, b)[:rows, :columns], a, b)


def x_for_the_row(a, b):
    """The launch has a thread in x for each column, and one in y for each row."""
    rows, columns = 32 * blocks(b.shape[1], 32), 8 * blocks(len(a), 8)
    return in_c(product(a, b)[:rows, :columns], a, b)


def sums_for_products(a, b):
    return a.sum(axis=1, dtype=np.float64)[:, None] + b.sum(axis=0, dtype=np.float64)


def without_last(rows: int, columns: int) -> Callable:
    """The product without its last rows and columns, as a guard leaves it that is too strict."""
    return lambda a, b: in_c(product(a, b)[: len(a) - rows, : b.shape[1] - columns], a, b)


def last_of_last_step(a, b):
    """What a sum with `=` for `+=` leaves: 0 where K is no multiple of 32."""
    return product(a[:, -1:], b[-1:]) * (a.shape[1] % STEP == 0)


# Wrong ideas of a tile: which element of a, and which of b, goes into each product.


def element(m: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """m[row, column] as `fetch` gives it: 0 outside of the matrix."""
    inside = (row < m.shape[0]) & (column < m.shape[1])
    found = m[np.where(inside, row, 0), np.where(inside, column, 0)]
    return np.where(inside, found, 0).astype(np.float64)


def right_a(m, n, start, k):
    """Row and column of a in the product k of a step, for the result (m, n)."""
    return m, start + k


def right_b(m, n, start, k):
    return start + k, n


def products(of_a: Callable = right_a, of_b: Callable = right_b) -> Callable:
    """The sum of the products of `of_a(m, n, start, k)` and `of_b(...)`, places in a and in b."""

    def wrong(a, b):
        (M, K), N = a.shape, b.shape[1]
        steps = blocks(K, STEP)
        m, n, step, k = np.ogrid[:M, :N, :steps, :STEP]
        terms = element(a, *of_a(m, n, STEP * step, k)) * element(b, *of_b(m, n, STEP * step, k))
        return np.broadcast_to(terms, (M, N, steps, STEP)).sum(axis=(2, 3))

    return wrong


def thread_of(place: np.ndarray) -> np.ndarray:
    """tx of a column or ty of a row, where a thread makes one result of a tile of 32 x 32."""
    return place % 32


def begin_of(place: np.ndarray) -> np.ndarray:
    """Where the tile of 32 begins that has this row or column."""
    return place - place % 32


TILE_SLIPS = {
    "a_without_start": products(of_a=lambda m, n, start, k: (m, k)),
    "b_without_start": products(of_b=lambda m, n, start, k: (k, n)),
    "a_at_ty": products(of_a=lambda m, n, start, k: (m, start + thread_of(m))),
    "b_at_tx": products(of_b=lambda m, n, start, k: (start + thread_of(n), n)),
    "a_at_col": products(of_a=lambda m, n, start, k: (m, begin_of(n) + k)),
    "b_at_row": products(of_b=lambda m, n, start, k: (begin_of(m) + k, n)),
    "a_tile_turned": products(of_a=lambda m, n, start, k: (begin_of(m) + k, start + thread_of(m))),
    "b_tile_turned": products(of_b=lambda m, n, start, k: (start + thread_of(n), begin_of(n) + k)),
    "own_elements": products(
        of_a=lambda m, n, start, k: (m, start + thread_of(n)),
        of_b=lambda m, n, start, k: (start + thread_of(m), n),
    ),
}


# Wrong ideas of a tile in registers: 64 x 64 results, rows ty + 8 i and columns tx + 32 j.


def rows_read(change: Callable) -> Callable:
    """Where row ty + 8 * i of the tile belongs, the kernel reads row change(ty, i)."""

    def of_a(m, n, start, k):
        row = m % 64
        return m - row + change(row % 8, row // 8), start + k

    return products(of_a=of_a)


def columns_read(change: Callable) -> Callable:
    """Where column tx + 32 * j of the tile belongs, the kernel reads column change(tx, j)."""

    def of_b(m, n, start, k):
        column = n % 64
        return start + k, n - column + change(column % 32, column // 32)

    return products(of_b=of_b)


def tiles_of_c(change: Callable) -> Callable:
    """The product with every tile of c, [..., 64, 64], changed."""

    def wrong(a, b):
        M, N = len(a), b.shape[1]
        c = np.pad(product(a, b), ((0, -M % 64), (0, -N % 64)))
        tiles = change(c.reshape(len(c) // 64, 64, -1, 64).swapaxes(1, 2))
        return tiles.swapaxes(1, 2).reshape(c.shape)[:M, :N]

    return wrong


# Costs.


def float64(profile: Any) -> str | None:
    if not profile.counters["flops_fp64"]:
        return None
    return (
        "some of the arithmetic is in float64, which many GPUs do far slower: begin the sum with "
        "`zero`, a float32. A Python 0.0 is a float64, and a 0 makes one of a float32."
    )


def written_once(profile: Any, results: int) -> str | None:
    times = profile.counters["global_store_bytes"] / 4 / results
    if times <= 1:
        return None
    return (
        f"each element of c is written {times:.3g} times: keep the sum in a variable, and write it "
        "once."
    )


def coalesced(profile: Any, kernel: Any, a, b) -> str | None:
    """One float32 sum per result, each of its numbers asked for once, and neighbours by a warp."""
    (M, K), N = a.shape, b.shape[1]
    if sentence := float64(profile) or written_once(profile, M * N):
        return sentence
    line, sectors = max(worst_line(profile, way) for way in ("load", "store"))
    if N >= 32 and sectors > 6:
        return (
            f"in line {line} a warp's request touches {sectors:.0f} sectors of global memory. "
            "Let x, the first number of cuda.grid(2), be the column."
        )
    asked, enough = profile.counters["global_load_bytes"], 4 * 2 * M * N * K
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
        (M, K), N = a.shape, b.shape[1]
        down, across = blocks(M, rows), blocks(N, columns)
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
    asked = profile.counters["global_load_bytes"]
    if asked <= enough:
        return None
    return (
        f"global memory is asked for {asked:,} B where {enough:,} B would do: read each element of "
        "a tile from there once, and the products from shared memory."
    )


def fetched_in_rows(profile: Any) -> str | None:
    sectors = profile.counters["global_load_sectors_per_request"]
    if sectors <= 6:
        return None
    return (
        f"a warp's request for a tile touches {sectors:.2g} sectors of global memory on average: "
        "let tx, which differs from lane to lane, count the columns."
    )


def two_barriers(profile: Any, steps: int) -> str | None:
    """`steps` are those of all warps."""
    waits = profile.counters["barriers"] / steps
    if waits <= 4:
        return None
    return (
        f"each warp waits {waits:.3g} times in a step, where 2 would do: the barriers stand before "
        "and behind the loop over k, not in it."
    )


def few_passes(profile: Any, multiply_adds: int, most: float, enough: str) -> str | None:
    """`multiply_adds` are those of warps."""
    n = profile.counters
    passes, conflicts = n["shared_load_transactions"], n["bank_conflicts"]
    passes += n["shared_store_transactions"]
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


@cuda.jit(device=True)
def fetch(m, row, col):
    return m[row, col] if row < m.shape[0] and col < m.shape[1] else ZERO


@cuda.jit
def naive(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = ZERO
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total


@cuda.jit
def tiled(a, b, c):
    a_tile = cuda.shared.array((32, 32), "float32")
    b_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = ZERO
    for start in range(0, a.shape[1], 32):
        a_tile[ty, tx] = fetch(a, row, start + tx)
        b_tile[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


@cuda.jit
def registers(a, b, c):
    """Blocks of 32 x 8 threads, tiles of 64 x 64: each thread has 8 x 2 results."""
    a_tile = cuda.shared.array((64, 32), "float32")
    b_tile = cuda.shared.array((32, 64), "float32")
    total = cuda.local.array((8, 2), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = 64 * cuda.blockIdx.y, 64 * cuda.blockIdx.x
    for i in range(8):
        total[i, 0] = total[i, 1] = ZERO
    for start in range(0, a.shape[1], 32):
        for i in range(0, 64, 8):
            a_tile[i + ty, tx] = fetch(a, row + i + ty, start + tx)
        for i in range(0, 32, 8):
            b_tile[i + ty, tx] = fetch(b, start + i + ty, col + tx)
            b_tile[i + ty, tx + 32] = fetch(b, start + i + ty, col + tx + 32)
        cuda.syncthreads()
        for k in range(32):
            b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
            for i in range(8):
                a_i = a_tile[ty + 8 * i, k]
                total[i, 0] += a_i * b0
                total[i, 1] += a_i * b1
        cuda.syncthreads()
    for i in range(8):
        for j in range(2):
            y, x = row + 8 * i + ty, col + 32 * j + tx
            if y < c.shape[0] and x < c.shape[1]:
                c[y, x] = total[i, j]


def exercise(
    id: str, tile: tuple, block: tuple, kernel: Any, sizes: Mapping, wrong: Mapping, **fields: Any
) -> Exercise:
    """An exercise whose launch has a block for each tile (rows, columns) of c."""

    def launch(a, b):
        c = np.zeros((a.shape[0], b.shape[1]), np.float32)
        return (blocks(c.shape[1], tile[1]), blocks(c.shape[0], tile[0])), block, (c,)

    cases = cases_of(sizes, inputs)
    return kernel_exercise(id, launch, kernel, cases, product, wrong, atol=1e-4, **fields)


EXERCISES = [
    exercise(
        "gpu.matmul_coalesced",
        (8, 32),
        (32, 8),
        naive,
        SIZES,
        wrong={
            "last_product_only": over(lambda K: slice(K - 1, K)),
            "last_product_missing": over(lambda K: slice(K - 1)),
            "first_product_missing": over(lambda K: slice(1, K)),
            "result_transposed": lambda a, b: in_c(product(a, b).T, a, b),
            "x_for_the_row": x_for_the_row,
            "columns_for_k": over_columns_of_c,
            "first_block_only": one_block(8, 32),
            "first_columns_only": one_block(2**31, 32),
            "first_rows_only": one_block(8, 2**31),
            "first_product_only": over(lambda K: slice(1)),
            "sums_for_products": sums_for_products,
            "last_row_missing": without_last(1, 0),
            "last_column_missing": without_last(0, 1),
            "last_row_and_column_missing": without_last(1, 1),
        },
        limit=coalesced,
        costs=("global_load_sectors_per_request", "arithmetic_intensity"),
    ),
    exercise(
        "gpu.matmul_tiled",
        (32, 32),
        (32, 32),
        tiled,
        SIZES,
        wrong={
            "first_step_only": over(lambda K: slice(STEP)),
            "last_step_only": over(lambda K: slice((K - 1) // STEP * STEP, K)),
            "last_step_missing": over(lambda K: slice(K // STEP * STEP)),
            "last_product_missing": over(lambda K: np.arange(K) % STEP != STEP - 1),
            "first_product_missing": over(lambda K: np.arange(K) % STEP != 0),
            "first_step_repeated": lambda a, b: (
                blocks(len(b), STEP) * product(a[:, :STEP], b[:STEP])
            ),
            "last_product_only": last_of_last_step,
            **TILE_SLIPS,
        },
        limit=tiles_used(32, 32, warps=32, passes=2.25, enough="2.1"),
        costs=("arithmetic_intensity", "shared_load_transactions", "bank_conflicts"),
    ),
    exercise(
        "gpu.matmul_registers",
        (64, 64),
        (32, 8),
        registers,
        LARGE_SIZES,
        wrong={
            "first_rows_only": tiles_of_c(lambda tile: tile * (np.arange(64) < 8)[:, None]),
            "last_rows_missing": tiles_of_c(lambda tile: tile * (np.arange(64) < 56)[:, None]),
            "left_half_only": tiles_of_c(lambda tile: tile * (np.arange(64) < 32)),
            "right_half_only": tiles_of_c(lambda tile: tile * (np.arange(64) >= 32)),
            "left_half_twice": columns_read(lambda tx, j: tx),
            "right_half_twice": columns_read(lambda tx, j: tx + 32),
            "halves_swapped": columns_read(lambda tx, j: tx + 32 * (1 - j)),
            "neighbouring_columns": columns_read(lambda tx, j: tx + j),
            "pairs_of_columns": columns_read(lambda tx, j: 2 * tx + j),
            "last_product_only": last_of_last_step,
            "first_rows_everywhere": rows_read(lambda ty, i: ty),
            "neighbouring_rows": rows_read(lambda ty, i: ty + i),
            "blocks_of_rows": rows_read(lambda ty, i: 8 * ty + i),
        },
        limit=tiles_used(64, 64, warps=8, passes=0.75, enough="0.66"),
        costs=("arithmetic_intensity", "shared_load_transactions", "bank_conflicts"),
    ),
    *lowest_limit.EXERCISES,
]
