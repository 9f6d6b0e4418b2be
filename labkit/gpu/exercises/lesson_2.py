"""The kernels of lesson 01_gpu/2, threads, blocks and memory, in the order of the lesson.

Each fills one output, its last parameter."""

from typing import Any

import numpy as np

from labkit.checks.lessons import cases_of
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import blocks, distinct, kernel_exercise, worst_line

THREADS = 128  # of a block, along one axis
BLOCK = (32, 8)  # along x, along y
TILE = 32
SECTORS = ("global_load_sectors_per_request", "global_store_sectors_per_request")

# y[i] = max(x[i], 0)


@cuda.jit
def relu_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], 0)


def relu_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """One thread per element: each is written once."""
    written, size = profile.counters["global_store_bytes"], 4 * x.size
    if x.size <= THREADS or written <= 2 * size:
        return None
    return (
        f"each element is written {written // size} times: every thread does the work of all. A "
        "thread has one element, `i`; the loop over the elements is the launch itself."
    )


def relu_of_first(x, n):
    """ReLU of the first n elements; the others are not written."""
    return np.where(np.arange(x.size) < n, np.maximum(x, 0), 0)


relu = kernel_exercise(
    "gpu.relu_kernel",
    launch=lambda x: (blocks(x.size, THREADS), THREADS, (np.zeros_like(x),)),
    kernel=relu_kernel,
    cases=cases_of(
        {"one full block": (128,), "two blocks and a bit": (300,), "one element": (1,)}
        | {"a prime number": (13,), "one more than a block": (129,), "many blocks": (1000,)},
        lambda rng, n: (distinct(rng, n),),
    ),
    oracle=lambda x: np.maximum(x, 0),
    wrong={
        "first_block_only": lambda x: relu_of_first(x, THREADS),
        "first_threads_only": lambda x: relu_of_first(x, blocks(x.size, THREADS)),
        "negative_part": lambda x: np.minimum(x, 0),
        "absolute_value": np.abs,
        "last_missing": lambda x: relu_of_first(x, x.size - 1),
    },
    limit=relu_limit,
)

# y[row, col] = x[row, col] * scale[row] + shift[row]


@cuda.jit
def scale_rows(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row] + shift[row]


def scaled(x, scale, shift):
    return x * scale[:, None] + shift[:, None]


def scale_limit(profile: Any, kernel: Any, x: np.ndarray, *rows: np.ndarray) -> str | None:
    """Neighbouring lanes must touch neighbouring columns: at most 5 sectors for 32 floats."""
    line, sectors = worst_line(profile, "store")
    if x.shape[1] < 64 or sectors <= 6:
        return None
    return (
        f"in line {line} a warp's store touches {sectors:.0f} sectors where 4 would do. The 32 "
        "threads of a warp differ in x: let x choose the column, so that neighbours touch "
        "neighbours."
    )


def scale_corner(x, scale, shift, rows, cols):
    """Only the elements above and left of (rows, cols) are written."""
    y = np.zeros_like(x)
    y[:rows, :cols] = scaled(x, scale, shift)[:rows, :cols]
    return y


def scale_swapped(x, scale, shift):
    """Rows run along x, of which the grid has as many threads as it needs columns."""
    rows, cols = (n * blocks(size, n) for size, n in zip(x.shape[::-1], BLOCK, strict=True))
    return scale_corner(x, scale, shift, rows, cols)


scale = kernel_exercise(
    "gpu.scale_rows",
    launch=lambda x, scale, shift: (
        (blocks(x.shape[1], BLOCK[0]), blocks(x.shape[0], BLOCK[1])),
        BLOCK,
        (np.zeros_like(x),),
    ),
    kernel=scale_rows,
    cases=cases_of(
        {"one square tile": (32, 32), "wide": (3, 200), "tall": (100, 5)}
        | {"one element": (1, 1), "prime sizes": (7, 13), "several blocks": (70, 96)},
        lambda rng, *shape: (distinct(rng, *shape), *(distinct(rng, shape[0]) for _ in range(2))),
    ),
    oracle=scaled,
    wrong={
        "swapped": scale_swapped,
        "per_column": lambda x, *rows: scaled(x.T, *(row[: x.shape[1]] for row in rows)).T,
        "no_shift": lambda x, scale, shift: x * scale[:, None],
        "shift_first": lambda x, scale, shift: (x + shift[:, None]) * scale[:, None],
        "first_block": lambda *inputs: scale_corner(*inputs, *BLOCK[::-1]),
    },
    limit=scale_limit,
    costs=SECTORS,
)

# y = x transposed, through a tile in shared memory


@cuda.jit
def transpose_tiled(x, y):
    tile = cuda.shared.array((TILE, TILE), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    col = cuda.blockIdx.y * TILE + tx
    if row < y.shape[0] and col < y.shape[1]:
        y[row, col] = tile[tx, ty]


def transpose_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """Loads and stores both along rows, and each element through the tile."""
    for way in ("load", "store"):
        line, sectors = worst_line(profile, way)
        if sectors > 6 and min(x.shape) >= TILE:
            return (
                f"in line {line} a warp's {way} touches {sectors:.0f} sectors of global memory "
                "where 4 would do. Let neighbouring threads touch neighbouring columns on both "
                "sides; the turning happens in the tile."
            )
    return None


def transpose_half(x, *order):
    """x.T with one of its two halves left out; the axes are tile, row in it, tile, column in it."""
    n = blocks(max(x.shape), TILE)
    square = np.pad(x, [(0, n * TILE - size) for size in x.shape])
    tiles = square.reshape(n, TILE, n, TILE).transpose(order)
    return tiles.reshape(square.shape)[: x.shape[1], : x.shape[0]]


transpose = kernel_exercise(
    "gpu.transpose_tiled",
    launch=lambda x: (
        (blocks(x.shape[1], TILE), blocks(x.shape[0], TILE)),
        (TILE, TILE),
        (np.zeros(x.shape[::-1], np.float32),),
    ),
    kernel=transpose_tiled,
    cases=cases_of(
        {"one tile": (32, 32), "one element": (1, 1), "prime sizes": (13, 29)}
        | {"four tiles": (64, 64), "wide": (20, 70), "tall": (96, 32)},
        lambda rng, *shape: (distinct(rng, *shape),),
    ),
    oracle=lambda x: x.T.copy(),
    wrong={
        "tiles_in_place": lambda x: transpose_half(x, 0, 3, 2, 1),
        "tiles_not_turned": lambda x: transpose_half(x, 2, 1, 0, 3),
        "copied": lambda x: transpose_half(x, 0, 1, 2, 3),
    },
    limit=transpose_limit,
    costs=(*SECTORS, "bank_conflicts"),
)

# total[0] = the sum of all x, by a tree in shared memory and one atomic per block


@cuda.jit
def block_sum(x, total):
    partial = cuda.shared.array(THREADS, "float32")
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


def sum_limit(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    n, atomics = blocks(x.size, THREADS), profile.counters["atomic_lanes"]
    if atomics <= n * THREADS // 32:  # one per warp will do as well
        return None
    return (
        f"{atomics} additions to `total` were atomic, for {n} block{'s' * (n > 1)}. Atomics on one "
        "address run one after the other: add within the block in shared memory, then once per "
        "block."
    )


def sum_of(x):
    return np.array([x.sum(dtype=np.float64)], np.float32)


def sum_rounds(x, *rounds):
    """The sum when the tree adds only at the distances `rounds`."""
    partial = np.pad(x.astype(np.float64), (0, -x.size % THREADS)).reshape(-1, THREADS)
    for step in rounds:
        partial[:, :step] += partial[:, step : 2 * step]
    return sum_of(partial[:, 0])


total = kernel_exercise(
    "gpu.block_sum",
    launch=lambda x: (blocks(x.size, THREADS), THREADS, (np.zeros(1, np.float32),)),
    kernel=block_sum,
    cases=cases_of(
        {"one block": (128,), "two blocks and a bit": (300,), "two elements": (2,)}
        | {"one element": (1,), "a prime number": (67,), "many blocks": (1000,)},
        lambda rng, n: (3 + distinct(rng, n),),
    ),
    oracle=sum_of,
    wrong={
        "last_round_missing": lambda x: sum_rounds(x, 64, 32, 16, 8, 4, 2),
        "first_round_missing": lambda x: sum_rounds(x, 32, 16, 8, 4, 2, 1),
        "no_tree": sum_rounds,
        "last_block_wins": lambda x: sum_of(x[(x.size - 1) // THREADS * THREADS :]),
    },
    limit=sum_limit,
    costs=("atomic_lanes", "barriers", "traffic_bytes"),
    fills=False,
)

EXERCISES = [relu, scale, transpose, total]
