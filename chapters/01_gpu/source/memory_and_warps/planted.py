"""Wrong kernels of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit.gpu import cuda
from tests.exercises.edits import edit

ZERO = np.float32(0)

# --- gpu.transpose_tiled: blocks of 32 x 32


transpose = partial(edit, "gpu.transpose_tiled")
BARRIER = "    cuda.syncthreads()\n"
transpose_without_barrier = transpose("transpose_without_barrier", BARRIER, "")
transpose_barrier_in_the_if = transpose("transpose_barrier_in_the_if", BARRIER, "    " + BARRIER)
transpose_tiles_stay = transpose(
    "transpose_tiles_stay",
    "    row, col = cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx  # in b\n",
    "",
)
transpose_tiles_not_turned = transpose("transpose_tiles_not_turned", "tile[tx, ty]", "tile[ty, tx]")
transpose_clears_its_input = transpose(
    "transpose_clears_its_input",
    "tile[ty, tx] = a[row, col]",
    "tile[ty, tx] = a[row, col]\n        a[row, col] = 0",
)
transpose_by_place_in_the_matrix = transpose(
    "transpose_by_place_in_the_matrix", "tile[tx, ty]", "tile[col, row]"
)
transpose_of_diagonals = transpose("transpose_of_diagonals", "tile[tx, ty]", "tile[tx, tx]")


transpose_of_squares = transpose(
    "transpose_of_squares",
    "if row < b.shape[0] and col < b.shape[1]",
    "if row < a.shape[0] and col < a.shape[1]",
)
transpose_adds = transpose("transpose_adds", "b[row, col] =", "b[row, col] +=")
turned_without_padding = transpose(
    "turned_without_padding", "tile[tx, ty]", "tile[ty, tx]", ("tile[ty, tx] =", "tile[tx, ty] =")
)


@cuda.jit
def turned_on_the_way_in(x, y):
    tile = cuda.shared.array((32, 33), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    if i + ty < x.shape[0] and j + tx < x.shape[1]:
        tile[tx, ty] = x[i + ty, j + tx]
    cuda.syncthreads()
    if j + ty < y.shape[0] and i + tx < y.shape[1]:
        y[j + ty, i + tx] = tile[ty, tx]


@cuda.jit
def transpose_without_a_tile(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[col, row] = x[row, col]


@cuda.jit
def transpose_by_one_thread(x, y):
    col, row = cuda.grid(2)
    if col == 0 and row == 0:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[j, i] = x[i, j]


@cuda.jit
def transpose_that_copies(x, y):
    col, row = cuda.grid(2)
    rows, cols = min(x.shape[0], y.shape[0]), min(x.shape[1], y.shape[1])
    if row < rows and col < cols:
        y[row, col] = x[row, col]


def transpose_on_the_host(x, y):
    y[...] = x.T


# --- gpu.block_sum: blocks of 128


tree = partial(edit, "gpu.block_sum")
BARRIER_OF_A_ROUND = "        cuda.syncthreads()\n        step"
tree_without_barrier = tree("tree_without_barrier", BARRIER_OF_A_ROUND, "        step")
tree_barrier_in_the_if = tree(
    "tree_barrier_in_the_if", BARRIER_OF_A_ROUND, "    " + BARRIER_OF_A_ROUND
)
tree_ends_early = tree("tree_ends_early", "while step > 0", "while step > 1")
tree_of_one_round = tree("tree_of_one_round", "while step > 0", "while step > 32")
tree_that_replaces = tree("tree_that_replaces", "partial[tid] +=", "partial[tid] =")
tree_that_skips_rounds = tree("tree_that_skips_rounds", "step //= 2", "step //= 4")
tree_with_one_neighbour = tree("tree_with_one_neighbour", "partial[tid + step]", "partial[step]")
tree_of_block_0 = tree("tree_of_block_0", "tid < step", "i < step")
tree_too_wide = tree("tree_too_wide", "tid < step", "tid + step < 128")
tree_that_subtracts = tree("tree_that_subtracts", "partial[tid] +=", "partial[tid] -=")
tree_of_maxima = tree(
    "tree_of_maxima",
    "partial[tid] += partial[tid + step]",
    "partial[tid] = max(partial[tid], partial[tid + step])",
)
tree_ragged_end_unwritten = tree(
    "tree_ragged_end_unwritten",
    "    partial[tid] = x[i] if i < x.size else zero",
    "    if i < x.size:\n        partial[tid] = x[i]",
)
tree_plain_write = tree(
    "tree_plain_write", "cuda.atomic.add(total, 0, partial[0])", "total[0] += partial[0]"
)


ROUND = (
    "        if tid < step:\n            partial[tid] += partial[tid + step]\n"
    "        cuda.syncthreads()"
)
tree_of_one_thread = tree(
    "tree_of_one_thread",
    ROUND,
    "        if tid == 0 and step == 64:\n            for t in range(1, 128):\n"
    "                partial[0] += partial[t]\n        cuda.syncthreads()",
)
tree_of_even_threads = tree("tree_of_even_threads", "tid < step", "tid < step and tid % 2 == 0")


@cuda.jit
def from_neighbours_on(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    step = 1
    while step < 128:
        cuda.syncthreads()
        if tid % (2 * step) == 0:
            partial[tid] += partial[tid + step]
        step *= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def warp_by_warp(x, total):
    i = cuda.grid(1)
    part = x[i] if i < x.size else ZERO
    for k in range(5):
        part += cuda.shfl_down_sync(0xFFFFFFFF, part, 16 >> k)
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(total, 0, part)


@cuda.jit
def powers_of_two(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = 0
    if i < x.size:
        partial[tid] = x[i]
    for k in range(6, -1, -1):
        cuda.syncthreads()
        if tid < 2**k:
            partial[tid] += partial[tid + 2**k]
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def sum_by_atomics(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def sum_in_the_input(x, total):
    i = cuda.grid(1)
    if i == 0:
        for j in range(1, x.size):
            x[0] += x[j]
        cuda.atomic.add(total, 0, x[0])


@cuda.jit
def sum_by_one_thread(x, total):
    if cuda.grid(1) == 0:
        s = np.float32(0)
        for i in range(x.size):
            s += x[i]
        total[0] = s


def sum_on_the_host(x, total):
    total[0] = np.sum(x)


@cuda.jit
def never_ends(x, y):
    while cuda.threadIdx.x == 3:  # one lane
        pass


@cuda.jit
def empty(x, y):
    pass


PLANTED = {
    "gpu.transpose_tiled": [
        (transpose_without_barrier, "Race on tile"),
        (transpose_barrier_in_the_if, "Barrier in divergent code"),
        (transpose_without_a_tile, "sectors of global memory where 4 would do"),
        (transpose_tiles_stay, "lands where it came from"),
        (transpose_tiles_not_turned, "not turned inside"),
        (transpose_of_squares, "Uninitialised"),
        (transpose_adds, "use = instead of +="),
        (transpose_that_copies, "This is a copy, not a transpose"),
        (transpose_of_diagonals, "only the tile's diagonal is read"),
        (transpose_by_place_in_the_matrix, "Out of bounds"),
        (transpose_clears_its_input, "changes its input"),
        (transpose_by_one_thread, "do the work of all"),
        (transpose_on_the_host, "This is no kernel"),
    ],
    "gpu.block_sum": [
        (tree_without_barrier, "Some threads are in the next round"),
        (tree_barrier_in_the_if, "Barrier in divergent code"),
        (tree_ends_early, "one round too early"),
        (tree_of_one_round, "ends after its first round"),
        (tree_that_replaces, "takes the place of partial[tid]"),
        (tree_that_skips_rounds, "Every other round is missing"),
        (tree_with_one_neighbour, "add the same number, partial[step]"),
        (tree_of_block_0, "Only block 0 adds up"),
        (tree_too_wide, "a thread reads what another one writes"),
        (tree_that_subtracts, "The neighbour is subtracted"),
        (tree_of_maxima, "this is the maximum of each block"),
        (tree_of_one_thread, "requests to load from shared memory"),
        (tree_of_even_threads, "the length of x is at most 2,"),
        (sum_by_atomics, "atomic additions of single threads"),
        (tree_ragged_end_unwritten, "Uninitialised"),
        (tree_plain_write, "Race on total"),
        (sum_in_the_input, "changes its input"),
        (sum_by_one_thread, "do the work of all"),
        (sum_on_the_host, "This is no kernel"),
    ],
}
RIGHT_ON = {
    transpose_that_copies: (np.ones((32, 32), np.float32),),
    tree_that_replaces: (np.float32([0] * 127 + [1]),),
    tree_with_one_neighbour: (np.zeros(300, np.float32),),
    tree_that_subtracts: (np.ones(1, np.float32),),
    tree_of_maxima: (np.ones(1, np.float32),),
}
ALSO_RIGHT = {
    "gpu.transpose_tiled": [turned_on_the_way_in, turned_without_padding],
    "gpu.block_sum": [powers_of_two, from_neighbours_on, warp_by_warp],
}
ENDLESS = dict.fromkeys(PLANTED, never_ends)
EMPTY = dict.fromkeys(PLANTED, empty)
