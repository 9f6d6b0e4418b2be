"""Wrong kernels of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit.gpu import cuda
from labkit_lessons.gpu.threads_blocks_and_memory import solutions as threads_blocks_and_memory
from tests.exercises.edits import edit

ZERO = np.float32(0)

# --- gpu.relu_kernel: blocks of 128


relu = partial(edit, "gpu.relu_kernel")
relu_without_guard = relu("relu_without_guard", "i < x.size", "i >= 0")
relu_by_thread_number = relu("relu_by_thread_number", "cuda.grid(1)", "cuda.threadIdx.x")
relu_by_block_number = relu("relu_by_block_number", "cuda.grid(1)", "cuda.blockIdx.x")
relu_by_sum_of_numbers = relu(
    "relu_by_sum_of_numbers", "cuda.grid(1)", "cuda.blockIdx.x + cuda.threadIdx.x"
)
relu_misses_the_last = relu("relu_misses_the_last", "i < x.size", "i < x.size - 1")
relu_as_absolute_value = relu("relu_as_absolute_value", "max(x[i], zero)", "abs(x[i])")
relu_in_place_too = relu(
    "relu_in_place_too", "y[i] = max(x[i], zero)", "x[i] = max(x[i], zero)\n        y[i] = x[i]"
)
relu_where_positive = relu(
    "relu_where_positive", "i < x.size", "i < x.size and x[i] > 0", ("max(x[i], zero)", "x[i]")
)
relu_that_copies = relu("relu_that_copies", "max(x[i], zero)", "x[i]")
relu_as_answer = relu("relu_as_answer", "max(x[i], zero)", "np.float32(x[i] > zero)")
relu_by_half_sum = relu(
    "relu_by_half_sum", "max(x[i], zero)", "(x[i] + abs(x[i])) * np.float32(0.5)"
)
relu_of_small_numbers_0 = relu(
    "relu_of_small_numbers_0", "max(x[i], zero)", "x[i] if x[i] > np.float32(1e-6) else zero"
)
relu_in_float64 = relu("relu_in_float64", "max(x[i], zero)", "max(x[i], 0)")


@cuda.jit
def two_branches(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.size:
        if x[i] > 0:
            y[i] = x[i]
        else:
            y[i] = 0


@cuda.jit
def relu_serial(x, y):
    for i in range(x.size):
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_by_one_thread(x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = max(x[i], ZERO)


relu_grid_for_block = relu(
    "relu_grid_for_block",
    "cuda.grid(1)",
    "cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x",
)
relu_of_the_course = cuda.jit(threads_blocks_and_memory.relu_kernel.py_func)
relu_of_the_course.__name__ = "relu_of_the_course"


@cuda.jit
def as_many_as_there_are(x, y):
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        y[i] = x[i] * np.float32(x[i] > ZERO)


def relu_on_the_host(x, y):
    np.maximum(x, 0, out=y)


# --- gpu.scale_rows: blocks of 32 x 8


scale = partial(edit, "gpu.scale_rows")
scale_by_row_in_the_block = scale(
    "scale_by_row_in_the_block",
    "scale[row] + shift[row]",
    "scale[cuda.threadIdx.y] + shift[cuda.threadIdx.y]",
)
scale_swapped = scale("scale_swapped", "col, row =", "row, col =")
scale_down_the_columns = scale(
    "scale_down_the_columns",
    "col, row = cuda.grid(2)",
    "thread = cuda.threadIdx.y * 32 + cuda.threadIdx.x\n"
    "    col = cuda.blockIdx.x * 32 + thread // 8\n"
    "    row = cuda.blockIdx.y * 8 + thread % 8",
)
SCALED = "a[row, col] * scale[row] + shift[row]"
scale_shift_first = scale("scale_shift_first", SCALED, "(a[row, col] + shift[row]) * scale[row]")
scale_no_shift = scale("scale_no_shift", " + shift[row]", "")
scale_by_column = scale("scale_by_column", SCALED, "a[row, col] * scale[col] + shift[col]")
scale_adds = scale("scale_adds", "b[row, col] =", "b[row, col] +=")
scale_one_guard = scale("scale_one_guard", " and col < a.shape[1]", "")
scale_in_place = scale("scale_in_place", "b[row, col] = a", "b[row, col] = a[row, col] = a")
scale_by_the_first = scale("scale_by_the_first", SCALED, "a[row, col] * scale[0] + shift[0]")
scale_only_shifts = scale("scale_only_shifts", " * scale[row]", "")
scale_divides = scale("scale_divides", " * scale[row]", " / scale[row]")
scale_back = scale("scale_back", SCALED, "(a[row, col] - shift[row]) / scale[row]")
scale_in_the_first_block = scale(
    "scale_in_the_first_block", "cuda.grid(2)", "cuda.threadIdx.x, cuda.threadIdx.y"
)


@cuda.jit
def returns_early(x, scale, shift, y):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= x.shape[0] or col >= x.shape[1]:
        return
    y[row, col] = scale[row] * x[row, col] + shift[row]


scale_in_the_first_rows = scale(
    "scale_in_the_first_rows", "cuda.grid(2)", "cuda.grid(1), cuda.threadIdx.y"
)
scale_in_the_first_columns = scale(
    "scale_in_the_first_columns",
    "cuda.grid(2)",
    "cuda.threadIdx.x, cuda.blockIdx.y * 8 + cuda.threadIdx.y",
)


@cuda.jit
def over_the_whole_grid(x, scale, shift, y):
    first_col, first_row = cuda.grid(2)
    for row in range(first_row, x.shape[0], cuda.blockDim.y * cuda.gridDim.y):
        factor, distance = scale[row], shift[row]
        for col in range(first_col, x.shape[1], cuda.blockDim.x * cuda.gridDim.x):
            y[row, col] = distance + factor * x[row, col]


def scale_on_the_host(x, scale, shift, y):
    np.multiply(x, scale[:, None], out=y)
    np.add(y, shift[:, None], out=y)


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
def never_ends_either(x, scale, shift, y):
    while cuda.threadIdx.x == 3:
        y[0, 0] = x[0, 0] * scale[0] + shift[0]


@cuda.jit
def empty(x, y):
    pass


@cuda.jit
def empty_either(x, scale, shift, y):
    pass


PLANTED = {
    "gpu.relu_kernel": [
        (relu_without_guard, "Out of bounds"),
        (relu_by_thread_number, "counts within a block and starts again"),
        (relu_by_block_number, "is the block's number"),
        (relu_misses_the_last, "last element is never written"),
        (relu_as_absolute_value, "must become 0, not positive"),
        (relu_in_place_too, "changes its input"),
        (relu_where_positive, "was never written"),
        (relu_serial, "the loop over the elements is the launch itself"),
        (relu_by_one_thread, "do the work of all"),
        (relu_by_sum_of_numbers, "is added to the thread's as it is"),
        (relu_that_copies, "This is a copy of x"),
        (relu_as_answer, "the answer to the question"),
        (relu_by_half_sum, "leaves the range of float32"),
        (relu_in_float64, "float64"),
        (relu_of_small_numbers_0, "every wrong value is 0: what makes"),
        (relu_grid_for_block, "is multiplied by cuda.gridDim.x"),
        (relu_of_the_course, "This is the course's own kernel"),
        (relu_on_the_host, "This is no kernel"),
    ],
    "gpu.scale_rows": [
        (scale_swapped, "Row and column are swapped"),
        (scale_down_the_columns, "sectors where 4 would do"),
        (scale_shift_first, "it comes after"),
        (scale_no_shift, "shift is missing"),
        (scale_by_column, "looked up by the column"),
        (scale_by_the_first, "Scale and shift of row 0"),
        (scale_only_shifts, "The scale is missing"),
        (scale_divides, "a is divided by the scale"),
        (scale_back, "leads from b back to a"),
        (scale_in_the_first_block, "Only the first block's elements"),
        (scale_in_the_first_rows, "Only the first 8 rows"),
        (scale_in_the_first_columns, "Only the first 32 columns"),
        (scale_adds, "use = instead of +="),
        (scale_one_guard, "Out of bounds"),
        (scale_in_place, "changes its input"),
        (scale_on_the_host, "This is no kernel"),
        (scale_by_row_in_the_block, "the first 8 places along axis 0 are right"),
    ],
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
        (tree_without_barrier, "Race on partial"),
        (tree_barrier_in_the_if, "Barrier in divergent code"),
        (tree_ends_early, "one round too early"),
        (tree_of_one_round, "ends after its first round"),
        (tree_that_replaces, "takes the place of partial[tid]"),
        (tree_that_skips_rounds, "Every other round is missing"),
        (tree_with_one_neighbour, "add the same number, partial[step]"),
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
    relu_as_absolute_value: (np.ones(5, np.float32),),
    relu_that_copies: (np.ones(5, np.float32),),
    relu_as_answer: (np.ones(5, np.float32),),
    scale_shift_first: tuple(np.ones(n, np.float32) for n in ((5, 7), 5, 5)),
    scale_only_shifts: tuple(np.ones(n, np.float32) for n in ((5, 7), 5, 5)),
    scale_back: (np.ones((5, 7), np.float32), np.ones(5, np.float32), np.zeros(5, np.float32)),
    scale_divides: tuple(np.ones(n, np.float32) for n in ((5, 7), 5, 5)),
    transpose_that_copies: (np.ones((32, 32), np.float32),),
    tree_that_replaces: (np.float32([0] * 127 + [1]),),
    tree_with_one_neighbour: (np.zeros(300, np.float32),),
    tree_that_subtracts: (np.ones(1, np.float32),),
    tree_of_maxima: (np.ones(1, np.float32),),
    scale_no_shift: (np.ones((5, 7), np.float32), np.ones(5, np.float32), np.zeros(5, np.float32)),
}
ALSO_RIGHT = {
    "gpu.relu_kernel": [two_branches, as_many_as_there_are],
    "gpu.scale_rows": [returns_early, over_the_whole_grid],
    "gpu.transpose_tiled": [turned_on_the_way_in, turned_without_padding],
    "gpu.block_sum": [powers_of_two, from_neighbours_on, warp_by_warp],
}
ENDLESS = {
    "gpu.relu_kernel": never_ends,
    "gpu.scale_rows": never_ends_either,
    "gpu.transpose_tiled": never_ends,
    "gpu.block_sum": never_ends,
}
EMPTY = {id: empty_either if id == "gpu.scale_rows" else empty for id in PLANTED}
