"""The exercises of lesson 01_gpu/3: a matrix product from global memory, shared memory, registers.

Each kernel gets a[M,K], b[K,N] and fills c[M,N], float32.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from labkit.checks.exercise import Exercise
from labkit.checks.lessons import cases_of
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import blocks, distinct, kernel_exercise, worst_line

ZERO = np.float32(0)
SIZES = {  # M, K, N
    "one tile": (32, 32, 32),
    "all sizes 1": (1, 1, 1),
    "prime sizes": (7, 13, 5),
    "ragged": (33, 40, 65),
    "wide": (3, 70, 96),
    "several tiles": (64, 96, 70),
}


def inputs(rng: np.random.Generator, M: int, K: int, N: int) -> tuple[np.ndarray, np.ndarray]:
    both = distinct(rng, M * K + K * N)
    return both[: M * K].reshape(M, K), both[M * K :].reshape(K, N)


def product(a, b):
    return a.astype(np.float64) @ b


def in_c(value: np.ndarray, a, b) -> np.ndarray:
    """`value`, cut or filled up with zeros to the shape of c."""
    c = np.zeros((a.shape[0], b.shape[1]))
    rows, columns = (min(sizes) for sizes in zip(c.shape, value.shape, strict=True))
    c[:rows, :columns] = value[:rows, :columns]
    return c


def over(terms: Callable[[int], slice]) -> Callable:
    """The product summed over part of K only."""
    return lambda a, b: product(a[:, terms(len(b))], b[terms(len(b))])


def last_of_last_step(a, b):
    """What a sum with `=` for `+=` leaves: 0 where K is no multiple of 32."""
    return product(a[:, -1:], b[-1:]) * (a.shape[1] % 32 == 0)


def float64(profile: Any) -> str | None:
    if not profile.counters["flops_fp64"]:
        return None
    return (
        "the sum is in float64, which many GPUs add far slower: begin with `zero`, a float32. "
        "A Python 0.0 is a float64, and a 0 makes one of a float32."
    )


def coalesced(profile: Any, kernel: Any, a, b) -> str | None:
    if sentence := float64(profile):
        return sentence
    if profile.counters["global_store_bytes"] > 4 * len(a) * b.shape[1]:
        return "c is written in every round: keep the sum in a variable, and write it once."
    line, sectors = max(worst_line(profile, way) for way in ("load", "store"))
    if b.shape[1] < 32 or sectors <= 6:
        return None
    return (
        f"in line {line} a warp's request touches {sectors:.0f} sectors of global memory. Let x, "
        "the first number of cuda.grid(2), be the column."
    )


def tiles_used(rows: int, columns: int, passes: float | None = None) -> Callable:
    """Global memory is asked once per tile, the banks at most `passes` times a product."""

    def limit(profile: Any, kernel: Any, a, b) -> str | None:
        if sentence := float64(profile):
            return sentence
        (M, K), N = a.shape, b.shape[1]
        down, across = blocks(M, rows), blocks(N, columns)
        most = 4 * (M * K * across + K * N * down)
        asked = profile.counters["global_load_bytes"]
        if asked > most:
            return (
                f"global memory is asked for {asked:,} B where {most:,} B would do: read each "
                "element of a tile from there once, and the products from shared memory."
            )
        products = down * across * rows * columns * blocks(K, 32)  # of warps
        per_product = profile.counters["shared_load_transactions"] / products
        if passes and per_product > passes:
            return (
                f"each multiply-add of a warp passes the banks {per_product:.2g} times, where 0.63 "
                "would do: read each number into a variable once, then use it for all results."
            )
        return None

    return limit


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


def tiles_of_c(change: Callable) -> Callable:
    """The product with every tile of c, [..., 64, 64], changed."""

    def wrong(a, b):
        M, N = len(a), b.shape[1]
        c = np.pad(product(a, b), ((0, -M % 64), (0, -N % 64)))
        tiles = change(c.reshape(len(c) // 64, 64, -1, 64).swapaxes(1, 2))
        return tiles.swapaxes(1, 2).reshape(c.shape)[:M, :N]

    return wrong


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
            "first_step_only": over(lambda K: slice(32)),
            "last_step_only": over(lambda K: slice((K - 1) // 32 * 32, K)),
            "last_step_missing": over(lambda K: slice(K // 32 * 32)),
            "last_product_missing": over(lambda K: slice(K - K // 32 - (K % 32 > 31))),
            "first_step_repeated": lambda a, b: blocks(len(b), 32) * product(a[:, :32], b[:32]),
            "last_product_only": last_of_last_step,
        },
        limit=tiles_used(32, 32),
        costs=("arithmetic_intensity", "shared_load_transactions", "bank_conflicts"),
    ),
    exercise(
        "gpu.matmul_registers",
        (64, 64),
        (32, 8),
        registers,
        SIZES | {"two tiles": (65, 32, 129)},
        wrong={
            "first_rows_only": tiles_of_c(lambda tile: tile * (np.arange(64) < 8)[:, None]),
            "left_half_only": tiles_of_c(lambda tile: tile * (np.arange(64) < 32)),
            "left_half_twice": tiles_of_c(lambda tile: tile[..., np.arange(64) % 32]),
            "last_product_only": last_of_last_step,
            "first_rows_everywhere": tiles_of_c(lambda tile: tile[..., np.arange(64) % 8, :]),
        },
        limit=tiles_used(64, 64, passes=0.7),
        costs=("arithmetic_intensity", "shared_load_transactions", "bank_conflicts"),
    ),
]
