"""Wrong kernels of lesson 01_gpu/3, written as a learner would, and what each must be told."""

import numpy as np

from labkit.gpu import cuda

zero = np.float32(0)


@cuda.jit(device=True)
def fetch(m, row, col):
    if row < m.shape[0] and col < m.shape[1]:
        return m[row, col]
    return zero


# --- gpu.matmul_coalesced: blocks of 32 x 8


@cuda.jit
def naive(a, b, c):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= c.shape[0] or col >= c.shape[1]:
        return
    s = np.float32(0)
    for k in range(b.shape[0]):
        s += a[row, k] * b[k, col]
    c[row, col] = s


@cuda.jit
def naive_swapped(a, b, c):
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(a.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s


@cuda.jit
def naive_no_guard(a, b, c):
    col, row = cuda.grid(2)
    s = zero
    for k in range(a.shape[1]):
        s += a[row, k] * b[k, col]
    c[row, col] = s


@cuda.jit
def naive_overwrites(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        for k in range(a.shape[1]):
            c[row, col] = a[row, k] * b[k, col]


@cuda.jit
def naive_adds_to_c(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        for k in range(a.shape[1]):
            c[row, col] += a[row, k] * b[k, col]


@cuda.jit
def naive_one_short(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(1, a.shape[1]):
            s += a[row, k - 1] * b[k - 1, col]
        c[row, col] = s


@cuda.jit
def naive_from_one(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(1, a.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s


@cuda.jit
def naive_transposed(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[1] and col < c.shape[0]:
        s = zero
        for k in range(a.shape[1]):
            s += a[col, k] * b[k, row]
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = s
    if row < c.shape[0] and col < c.shape[1] and not (row < c.shape[1] and col < c.shape[0]):
        c[row, col] = zero


@cuda.jit
def naive_in_place(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(a.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s
        if row == 0 and col == 0 and a.shape[1] < 2:
            a[0, 0] = s


def by_numpy(a, b, c):
    np.matmul(a, b, out=c)


# --- gpu.matmul_tiled: blocks of 32 x 32


@cuda.jit
def tiled(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for step in range((a.shape[1] + 31) // 32):
        left[ty, tx] = fetch(a, row, 32 * step + tx)
        right[ty, tx] = fetch(b, 32 * step + ty, col)
        cuda.syncthreads()
        for k in range(32):
            s += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


@cuda.jit
def tiled_from_global(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(a.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s


@cuda.jit
def tiled_no_second_barrier(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for start in range(0, a.shape[1], 32):
        left[ty, tx] = fetch(a, row, start + tx)
        right[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            s += left[ty, k] * right[k, tx]
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


@cuda.jit
def tiled_barrier_in_the_guard(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for start in range(0, a.shape[1], 32):
            left[ty, tx] = fetch(a, row, start + tx)
            right[ty, tx] = fetch(b, start + ty, col)
            cuda.syncthreads()
            for k in range(32):
                s += left[ty, k] * right[k, tx]
            cuda.syncthreads()
        c[row, col] = s


@cuda.jit
def tiled_first_step(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    left[ty, tx] = fetch(a, row, tx)
    right[ty, tx] = fetch(b, ty, col)
    cuda.syncthreads()
    for k in range(32):
        s += left[ty, k] * right[k, tx]
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


@cuda.jit
def tiled_begins_anew(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for start in range(0, a.shape[1], 32):
        left[ty, tx] = fetch(a, row, start + tx)
        right[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        s = zero
        for k in range(32):
            s += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


@cuda.jit
def tiled_whole_steps(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for step in range(a.shape[1] // 32):
        left[ty, tx] = fetch(a, row, 32 * step + tx)
        right[ty, tx] = fetch(b, 32 * step + ty, col)
        cuda.syncthreads()
        for k in range(32):
            s += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


@cuda.jit
def tiled_spoils_a(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for start in range(0, a.shape[1], 32):
        left[ty, tx] = fetch(a, row, start + tx)
        right[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            s += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s
        if a.shape[1] == 1:
            a[row, 0] = s


# --- gpu.matmul_registers: blocks of 32 x 8, tiles of 64 x 64


@cuda.jit(device=True)
def fill(a, b, start, a_tile, b_tile):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(0, 64, 8):
        a_tile[i + ty, tx] = fetch(a, 64 * cuda.blockIdx.y + i + ty, start + tx)
    for i in range(0, 32, 8):
        for j in range(0, 64, 32):
            b_tile[i + ty, j + tx] = fetch(b, start + i + ty, 64 * cuda.blockIdx.x + j + tx)


@cuda.jit(device=True)
def write(c, total):
    for i in range(8):
        for j in range(2):
            y = 64 * cuda.blockIdx.y + 8 * i + cuda.threadIdx.y
            x = 64 * cuda.blockIdx.x + 32 * j + cuda.threadIdx.x
            if y < c.shape[0] and x < c.shape[1]:
                c[y, x] = total[i, j]


def with_step(name, step):
    """The lesson's kernel, with the learner's step of k in its place."""

    @cuda.jit
    def kernel(a, b, c):
        a_tile = cuda.shared.array((64, 32), "float32")
        b_tile = cuda.shared.array((32, 64), "float32")
        total = cuda.local.array((8, 2), "float32")
        for i in range(8):
            for j in range(2):
                total[i, j] = zero
        for start in range(0, a.shape[1], 32):
            fill(a, b, start, a_tile, b_tile)
            cuda.syncthreads()
            for k in range(32):
                step(a_tile, b_tile, k, total, cuda.threadIdx.x, cuda.threadIdx.y)
            cuda.syncthreads()
        write(c, total)

    kernel.__name__ = name
    return kernel


@cuda.jit(device=True)
def right_step(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    for i in range(8):
        x = a_tile[8 * i + ty, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit(device=True)
def no_registers(a_tile, b_tile, k, total, tx, ty):
    for i in range(8):
        for j in range(2):
            total[i, j] += a_tile[ty + 8 * i, k] * b_tile[k, tx + 32 * j]


@cuda.jit(device=True)
def one_row(a_tile, b_tile, k, total, tx, ty):
    total[0, 0] += a_tile[ty, k] * b_tile[k, tx]
    total[0, 1] += a_tile[ty, k] * b_tile[k, tx + 32]


@cuda.jit(device=True)
def one_column(a_tile, b_tile, k, total, tx, ty):
    b0 = b_tile[k, tx]
    for i in range(8):
        total[i, 0] += a_tile[ty + 8 * i, k] * b0


@cuda.jit(device=True)
def same_column(a_tile, b_tile, k, total, tx, ty):
    b0 = b_tile[k, tx]
    for i in range(8):
        x = a_tile[ty + 8 * i, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b0


@cuda.jit(device=True)
def same_rows(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    x = a_tile[ty, k]
    for i in range(8):
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit
def registers_spoils_b(a, b, c):
    right(a, b, c)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and a.shape[1] == 1:
        b[0, 0] = zero


@cuda.jit(device=True)
def right(a, b, c):
    a_tile = cuda.shared.array((64, 32), "float32")
    b_tile = cuda.shared.array((32, 64), "float32")
    total = cuda.local.array((8, 2), "float32")
    for i in range(8):
        for j in range(2):
            total[i, j] = zero
    for start in range(0, a.shape[1], 32):
        fill(a, b, start, a_tile, b_tile)
        cuda.syncthreads()
        for k in range(32):
            right_step(a_tile, b_tile, k, total, cuda.threadIdx.x, cuda.threadIdx.y)
        cuda.syncthreads()
    write(c, total)


REGISTERS = with_step("registers", right_step)
EMPTY_REGISTERS = with_step("nothing", cuda.jit(device=True)(lambda a, b, k, total, tx, ty: None))


@cuda.jit
def naive_in_float64(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s


@cuda.jit
def naive_writes_often(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = zero
        for k in range(a.shape[1]):
            c[row, col] += a[row, k] * b[k, col]


@cuda.jit
def tiled_repeats(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for _ in range(0, a.shape[1], 32):
        left[ty, tx] = fetch(a, row, tx)
        right[ty, tx] = fetch(b, ty, col)
        cuda.syncthreads()
        for k in range(32):
            s += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


@cuda.jit
def tiled_assigns(a, b, c):
    left = cuda.shared.array((32, 32), "float32")
    right = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = zero
    for start in range(0, a.shape[1], 32):
        left[ty, tx] = fetch(a, row, start + tx)
        right[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            s = left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = s


# --- gpu.lowest_limit


def share(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity / ridge, 0.25 / passes), 1 / (1 + accesses))


def share_of_traffic(intensity, passes, accesses, ridge):
    return intensity / ridge


def share_without_instructions(intensity, passes, accesses, ridge):
    return np.minimum(intensity / ridge, 1 / (4 * passes))


def share_without_traffic(intensity, passes, accesses, ridge):
    return np.minimum(1 / (4 * passes), 1 / (1 + accesses))


def share_without_passes(intensity, passes, accesses, ridge):
    return np.minimum(intensity / ridge, 1 / (1 + accesses))


def share_of_one_pass(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity / ridge, 1 / passes), 1 / (1 + accesses))


def share_multiplied(intensity, passes, accesses, ridge):
    return intensity / ridge / (4 * passes) / (1 + accesses)


def share_in_place(intensity, passes, accesses, ridge):
    intensity /= ridge
    return np.minimum(np.minimum(intensity, 0.25 / passes), 1 / (1 + accesses))


def share_by_torch(intensity, passes, accesses, ridge):
    import torch

    limits = np.stack([intensity / ridge, 0.25 / passes, 1 / (1 + accesses)])
    return torch.amin(torch.from_numpy(limits), 0).numpy()


PLANTED = {
    "gpu.lowest_limit": [
        (share_of_traffic, "Only traffic limits here"),
        (share_without_instructions, "The instructions are missing"),
        (share_without_traffic, "The traffic is missing"),
        (share_without_passes, "The passes are missing"),
        (share_of_one_pass, "In the clock of one pass"),
        (share_multiplied, "The limits are multiplied"),
        (share_in_place, "changes its input"),
        (share_by_torch, "torch"),
    ],
    "gpu.matmul_coalesced": [
        (naive_swapped, "sectors of global memory. Let x"),
        (naive_no_guard, "Out of bounds"),
        (naive_overwrites, "holds the last product only"),
        (naive_adds_to_c, "adds to what the output held"),
        (naive_one_short, "The last product is missing: k runs over"),
        (naive_from_one, "The first product is missing"),
        (naive_transposed, "The result is transposed"),
        (naive_in_place, "changes its input"),
        (naive_in_float64, "the sum is in float64"),
        (naive_writes_often, "written in every round"),
        (by_numpy, "no kernel"),
    ],
    "gpu.matmul_tiled": [
        (tiled_from_global, "global memory is asked for"),
        (tiled_no_second_barrier, "Race"),
        (tiled_barrier_in_the_guard, "barrier"),
        (tiled_first_step, "Only the first 32 products"),
        (tiled_begins_anew, "Only the last step's products"),
        (tiled_whole_steps, "the rest is missing"),
        (tiled_spoils_a, "changes its input"),
        (tiled_repeats, "brings the first 32 products again"),
        (tiled_assigns, "holds the last product only"),
        (by_numpy, "no kernel"),
    ],
    "gpu.matmul_registers": [
        (with_step("no_registers", no_registers), "passes the banks"),
        (with_step("one_row", one_row), "Only the first 8 rows"),
        (with_step("one_column", one_column), "The right half of each tile is missing"),
        (with_step("same_column", same_column), "The right half of each tile repeats"),
        (with_step("same_rows", same_rows), "The first 8 rows of each tile repeat"),
        (registers_spoils_b, "changes its input"),
        (by_numpy, "no kernel"),
    ],
}

SOLVED = {
    "gpu.lowest_limit": share,
    "gpu.matmul_coalesced": naive,
    "gpu.matmul_tiled": tiled,
    "gpu.matmul_registers": REGISTERS,
}

ROWS = np.arange(40 * 33, dtype=np.float32).reshape(40, 33) % 97 / 97
FIRST_ZERO, LAST_ZERO = ROWS.copy(), ROWS.copy()
FIRST_ZERO[:, 0] = LAST_ZERO[:, -1] = 0
LAST_ONLY = np.zeros((40, 32), np.float32)
LAST_ONLY[:, -1] = ROWS[:, 5]
FULL = np.full(3, 50.4)  # with nothing but traffic that limits, or next to nothing
RIGHT_ON = {  # where what they leave out is 0
    share_multiplied: (FULL, np.full(3, 0.25), np.zeros(3), 50.4),
    tiled_assigns: (LAST_ONLY, ROWS[:, :32].T.copy()),
    naive_one_short: (LAST_ZERO, ROWS.T.copy()),
    naive_from_one: (FIRST_ZERO, ROWS.T.copy()),
}
