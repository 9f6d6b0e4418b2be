"""Wrong kernels of lesson 01_gpu/2, written as a learner would, and what each must be told."""

import numpy as np

from labkit.gpu import cuda

ZERO = np.float32(0)

# --- gpu.relu_kernel: blocks of 128


@cuda.jit
def relu(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.size:
        if x[i] > 0:
            y[i] = x[i]
        else:
            y[i] = 0


@cuda.jit
def relu_without_guard(x, y):
    i = cuda.grid(1)
    y[i] = max(x[i], ZERO)


@cuda.jit
def relu_by_thread_number(x, y):
    i = cuda.threadIdx.x
    if i < x.size:
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_by_block_number(x, y):
    i = cuda.blockIdx.x
    if i < x.size:
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_misses_the_last(x, y):
    i = cuda.grid(1)
    if i < x.size - 1:
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_as_absolute_value(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = abs(x[i])


@cuda.jit
def relu_in_place_too(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = max(x[i], ZERO)
        y[i] = x[i]


@cuda.jit
def relu_where_positive(x, y):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        y[i] = x[i]


@cuda.jit
def relu_serial(x, y):
    for i in range(x.size):
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_by_one_thread(x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = max(x[i], ZERO)


@cuda.jit
def relu_by_sum_of_numbers(x, y):
    i = cuda.blockIdx.x + cuda.threadIdx.x
    if i < x.size:
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_that_copies(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@cuda.jit
def relu_as_answer(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = np.float32(x[i] > ZERO)


@cuda.jit
def relu_by_half_sum(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (x[i] + abs(x[i])) * np.float32(0.5)


@cuda.jit
def relu_in_float64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], 0)


def relu_on_the_host(x, y):
    np.maximum(x, 0, out=y)


# --- gpu.scale_rows: blocks of 32 x 8


@cuda.jit
def scale(x, scale, shift, y):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= x.shape[0] or col >= x.shape[1]:
        return
    y[row, col] = scale[row] * x[row, col] + shift[row]


@cuda.jit
def scale_swapped(x, scale, shift, y):
    row, col = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row] + shift[row]


@cuda.jit
def scale_down_the_columns(x, scale, shift, y):
    thread = cuda.threadIdx.y * 32 + cuda.threadIdx.x
    col = cuda.blockIdx.x * 32 + thread // 8
    row = cuda.blockIdx.y * 8 + thread % 8
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row] + shift[row]


@cuda.jit
def scale_shift_first(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = (x[row, col] + shift[row]) * scale[row]


@cuda.jit
def scale_no_shift(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row]


@cuda.jit
def scale_by_column(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[col] + shift[col]


@cuda.jit
def scale_adds(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] += x[row, col] * scale[row] + shift[row]


@cuda.jit
def scale_one_guard(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0]:
        y[row, col] = x[row, col] * scale[row] + shift[row]


@cuda.jit
def scale_in_place(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        x[row, col] = x[row, col] * scale[row] + shift[row]
        y[row, col] = x[row, col]


@cuda.jit
def scale_by_the_first(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[0] + shift[0]


@cuda.jit
def scale_only_shifts(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] + shift[row]


@cuda.jit
def scale_divides(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] / scale[row] + shift[row]


@cuda.jit
def scale_back(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = (x[row, col] - shift[row]) / scale[row]


@cuda.jit
def scale_in_the_first_block(x, scale, shift, y):
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row] + shift[row]


def scale_on_the_host(x, scale, shift, y):
    np.multiply(x, scale[:, None], out=y)
    np.add(y, shift[:, None], out=y)


# --- gpu.transpose_tiled: blocks of 32 x 32


@cuda.jit
def transpose(x, y):
    tile = cuda.shared.array((32, 33), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    if i + ty < x.shape[0] and j + tx < x.shape[1]:
        tile[tx, ty] = x[i + ty, j + tx]
    cuda.syncthreads()
    if j + ty < y.shape[0] and i + tx < y.shape[1]:
        y[j + ty, i + tx] = tile[ty, tx]


@cuda.jit
def transpose_without_barrier(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    if i + ty < x.shape[0] and j + tx < x.shape[1]:
        tile[ty, tx] = x[i + ty, j + tx]
    if j + ty < y.shape[0] and i + tx < y.shape[1]:
        y[j + ty, i + tx] = tile[tx, ty]


@cuda.jit
def transpose_barrier_in_the_if(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    if i + ty < x.shape[0] and j + tx < x.shape[1]:
        tile[ty, tx] = x[i + ty, j + tx]
        cuda.syncthreads()
    if j + ty < y.shape[0] and i + tx < y.shape[1]:
        y[j + ty, i + tx] = tile[tx, ty]


@cuda.jit
def transpose_without_a_tile(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[col, row] = x[row, col]


@cuda.jit
def transpose_tiles_stay(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    if row < y.shape[0] and col < y.shape[1]:
        y[row, col] = tile[tx, ty]


@cuda.jit
def transpose_tiles_not_turned(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + ty
    col = cuda.blockIdx.y * 32 + tx
    if row < y.shape[0] and col < y.shape[1]:
        y[row, col] = tile[ty, tx]


@cuda.jit
def transpose_clears_its_input(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    if i + ty < x.shape[0] and j + tx < x.shape[1]:
        tile[ty, tx] = x[i + ty, j + tx]
        x[i + ty, j + tx] = 0
    cuda.syncthreads()
    if j + ty < y.shape[0] and i + tx < y.shape[1]:
        y[j + ty, i + tx] = tile[tx, ty]


@cuda.jit
def transpose_by_one_thread(x, y):
    col, row = cuda.grid(2)
    if col == 0 and row == 0:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[j, i] = x[i, j]


@cuda.jit
def transpose_by_place_in_the_matrix(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + ty
    col = cuda.blockIdx.y * 32 + tx
    if row < y.shape[0] and col < y.shape[1]:
        y[row, col] = tile[col, row]


@cuda.jit
def transpose_of_diagonals(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + ty
    col = cuda.blockIdx.y * 32 + tx
    if row < y.shape[0] and col < y.shape[1]:
        y[row, col] = tile[tx, tx]


@cuda.jit
def transpose_that_copies(x, y):
    col, row = cuda.grid(2)
    rows, cols = min(x.shape[0], y.shape[0]), min(x.shape[1], y.shape[1])
    if row < rows and col < cols:
        y[row, col] = x[row, col]


def transpose_on_the_host(x, y):
    y[...] = x.T


# --- gpu.block_sum: blocks of 128


@cuda.jit
def tree(x, total):
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
def tree_without_barrier(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_barrier_in_the_if(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
            cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_ends_early(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 1:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_of_one_round(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    if tid < step:
        partial[tid] += partial[tid + step]
    cuda.syncthreads()
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_that_replaces(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] = partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_that_skips_rounds(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 4
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_with_one_neighbour(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_that_subtracts(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] -= partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_of_maxima(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] = max(partial[tid], partial[tid + step])
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def sum_by_atomics(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def tree_ragged_end_unwritten(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        partial[tid] = x[i]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def tree_plain_write(x, total):
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    partial[tid] = x[i] if i < x.size else ZERO
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        total[0] += partial[0]


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
        (scale_adds, "use = instead of +="),
        (scale_one_guard, "Out of bounds"),
        (scale_in_place, "changes its input"),
        (scale_on_the_host, "This is no kernel"),
    ],
    "gpu.transpose_tiled": [
        (transpose_without_barrier, "Race on tile"),
        (transpose_barrier_in_the_if, "Barrier in divergent code"),
        (transpose_without_a_tile, "sectors of global memory where 4 would do"),
        (transpose_tiles_stay, "lands where it came from"),
        (transpose_tiles_not_turned, "not turned inside"),
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
SOLVED = {
    "gpu.relu_kernel": relu,
    "gpu.scale_rows": scale,
    "gpu.transpose_tiled": transpose,
    "gpu.block_sum": tree,
}
ENDLESS = {
    "gpu.relu_kernel": never_ends,
    "gpu.scale_rows": never_ends_either,
    "gpu.transpose_tiled": never_ends,
    "gpu.block_sum": never_ends,
}
EMPTY = {id: empty_either if id == "gpu.scale_rows" else empty for id in PLANTED}
