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
def naive_down(a, b, c):
    """Each element has a thread, but 8 lanes of a warp lie below each other."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col = 32 * cuda.blockIdx.x + 4 * ty + tx // 8
    row = 8 * cuda.blockIdx.y + tx % 8
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


@cuda.jit
def naive_rounds_of_columns(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(b.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s


@cuda.jit
def naive_first_columns(a, b, c):
    col = cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if cuda.blockIdx.x == 0 and row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(a.shape[1]):
            s += a[row, k] * b[k, col]
        c[row, col] = s


@cuda.jit
def naive_reads_twice(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        s = zero
        for k in range(a.shape[1]):
            if a[row, k] != zero:
                s += a[row, k] * b[k, col]
        c[row, col] = s


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


def with_tiles(name, fill_tiles, multiply):
    """A tiled kernel; `fill_tiles` and `multiply` are the learner's part of a step."""

    @cuda.jit
    def kernel(a, b, c):
        left = cuda.shared.array((32, 32), "float32")
        right = cuda.shared.array((32, 32), "float32")
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        col, row = cuda.grid(2)
        s = zero
        for start in range(0, a.shape[1], 32):
            fill_tiles(a, b, left, right, row, col, start, tx, ty)
            cuda.syncthreads()
            for k in range(32):
                s += multiply(left, right, k, tx, ty)
            cuda.syncthreads()
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = s

    kernel.__name__ = name
    return kernel


@cuda.jit(device=True)
def right_tiles(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, start + tx)
    right[ty, tx] = fetch(b, start + ty, col)


@cuda.jit(device=True)
def right_product(left, right, k, tx, ty):
    return left[ty, k] * right[k, tx]


@cuda.jit(device=True)
def a_stays(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, tx)
    right[ty, tx] = fetch(b, start + ty, col)


@cuda.jit(device=True)
def b_stays(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, start + tx)
    right[ty, tx] = fetch(b, ty, col)


@cuda.jit(device=True)
def a_moves_with_ty(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, start + ty)
    right[ty, tx] = fetch(b, start + ty, col)


@cuda.jit(device=True)
def b_moves_with_tx(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, start + tx)
    right[ty, tx] = fetch(b, start + tx, col)


@cuda.jit(device=True)
def a_from_its_place_in_c(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, col)
    right[ty, tx] = fetch(b, start + ty, col)


@cuda.jit(device=True)
def b_from_its_place_in_c(a, b, left, right, row, col, start, tx, ty):
    left[ty, tx] = fetch(a, row, start + tx)
    right[ty, tx] = fetch(b, row, col)


@cuda.jit(device=True)
def a_read_down(left, right, k, tx, ty):
    return left[k, ty] * right[k, tx]


@cuda.jit(device=True)
def b_read_across(left, right, k, tx, ty):
    return left[ty, k] * right[tx, k]


@cuda.jit(device=True)
def own_pair(left, right, k, tx, ty):
    return left[ty, tx] * right[ty, tx]


@cuda.jit(device=True)
def product_and_barrier(left, right, k, tx, ty):
    cuda.syncthreads()
    return left[ty, k] * right[k, tx]


@cuda.jit(device=True)
def both_turned(a, b, left, right, row, col, start, tx, ty):
    left[tx, ty] = fetch(a, row, start + tx)
    right[tx, ty] = fetch(b, start + ty, col)


@cuda.jit(device=True)
def product_of_turned(left, right, k, tx, ty):
    return left[k, ty] * right[tx, k]


@cuda.jit(device=True)
def fetched_down(a, b, left, right, row, col, start, tx, ty):
    """Lanes that are neighbours fetch elements that lie below each other."""
    row0, col0 = row - ty, col - tx
    left[tx, ty] = fetch(a, row0 + tx, start + ty)
    right[tx, ty] = fetch(b, start + tx, col0 + ty)


OWN_PAIR = with_tiles("own_pair", right_tiles, own_pair)


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


@cuda.jit(device=True)
def halves_swapped(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    for i in range(8):
        x = a_tile[ty + 8 * i, k]
        total[i, 0] += x * b1
        total[i, 1] += x * b0


@cuda.jit(device=True)
def columns_side_by_side(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, 2 * tx], b_tile[k, 2 * tx + 1]
    for i in range(8):
        x = a_tile[ty + 8 * i, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit(device=True)
def next_column(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 1]
    for i in range(8):
        x = a_tile[ty + 8 * i, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit(device=True)
def rows_below_each_other(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    for i in range(8):
        x = a_tile[8 * ty + i, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit(device=True)
def next_rows(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    for i in range(8):
        x = a_tile[ty + i, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit(device=True)
def seven_rows(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    for i in range(7):
        x = a_tile[ty + 8 * i, k]
        total[i, 0] += x * b0
        total[i, 1] += x * b1


@cuda.jit(device=True)
def no_plus(a_tile, b_tile, k, total, tx, ty):
    b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
    for i in range(8):
        x = a_tile[ty + 8 * i, k]
        total[i, 0] = x * b0
        total[i, 1] = x * b1


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
HALVES_SWAPPED = with_step("halves_swapped", halves_swapped)
NO_PLUS = with_step("no_plus", no_plus)
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


def share_of_full_issue(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity / ridge, 0.25 / passes), 1 / accesses)


def share_halved_by_each(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity / ridge, 0.25 / passes), 1 / (2 * accesses))


def share_of_all_times(intensity, passes, accesses, ridge):
    return 1 / (ridge / intensity + 4 * passes + 1 + accesses)


def share_of_ridge(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(ridge / intensity, 0.25 / passes), 1 / (1 + accesses))


def share_of_plain_intensity(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity, 0.25 / passes), 1 / (1 + accesses))


def share_growing_with_passes(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity / ridge, passes / 4), 1 / (1 + accesses))


def share_at_best(intensity, passes, accesses, ridge):
    return np.maximum(np.maximum(intensity / ridge, 0.25 / passes), 1 / (1 + accesses))


def share_of_memory_accesses(intensity, passes, accesses, ridge):
    return np.minimum(np.minimum(intensity / ridge, 0.25 / passes), accesses / (1 + accesses))


def share_by_if(intensity, passes, accesses, ridge):
    """Where two estimates are equal, neither is smaller than the other."""
    share = np.empty(len(passes))
    for i in range(len(passes)):
        traffic, banks = intensity[i] / ridge, 0.25 / passes[i]
        instructions = 1 / (1 + accesses[i])
        if traffic < banks and traffic < instructions:
            share[i] = traffic
        elif banks < traffic and banks < instructions:
            share[i] = banks
        else:
            share[i] = instructions
    return share


def share_in_place(intensity, passes, accesses, ridge):
    intensity /= ridge
    return np.minimum(np.minimum(intensity, 0.25 / passes), 1 / (1 + accesses))


def share_by_torch(intensity, passes, accesses, ridge):
    import torch

    limits = np.stack([intensity / ridge, 0.25 / passes, 1 / (1 + accesses)])
    return torch.amin(torch.from_numpy(limits), 0).numpy()


PLANTED = {
    "gpu.lowest_limit": [
        (share_of_traffic, "Only the traffic counts here"),
        (share_without_instructions, "The instructions have no say"),
        (share_without_traffic, "The traffic has no say"),
        (share_without_passes, "The passes have no say"),
        (share_of_one_pass, "In the clock of one pass"),
        (share_multiplied, "The three estimates are multiplied"),
        (share_of_full_issue, "The multiply-add itself is an instruction too"),
        (share_halved_by_each, "One access leaves a half, but three leave a quarter"),
        (share_of_all_times, "The three times are added up"),
        (share_of_ridge, "The estimate of the traffic is upside down"),
        (share_of_plain_intensity, "The intensity itself is taken for a share"),
        (share_growing_with_passes, "The estimate of the passes is upside down"),
        (share_at_best, "This is the highest of the three estimates"),
        (share_of_memory_accesses, "This is the share of the accesses"),
        (share_by_if, "Where two estimates are equal"),
        (share_in_place, "changes its input"),
        (share_by_torch, "torch"),
    ],
    "gpu.matmul_coalesced": [
        (naive_swapped, "is taken for the row"),
        (naive_down, "sectors of global memory. Let x"),
        (naive_no_guard, "Out of bounds"),
        (naive_overwrites, "holds the last product only"),
        (naive_adds_to_c, "adds to what the output held"),
        (naive_one_short, "The last product is missing: k runs over"),
        (naive_from_one, "The first product is missing"),
        (naive_transposed, "The result is transposed"),
        (naive_rounds_of_columns, "as many rounds as b has columns"),
        (naive_first_columns, "Only the first 32 columns are there"),
        (naive_reads_twice, "each product needs one element of a and one of b"),
        (naive_in_place, "changes its input"),
        (naive_in_float64, "some of the arithmetic is in float64"),
        (naive_writes_often, "keep the sum in a variable, and write it once"),
        (by_numpy, "no kernel"),
    ],
    "gpu.matmul_tiled": [
        (tiled_from_global, "global memory is asked for"),
        (tiled_no_second_barrier, "Race"),
        (tiled_barrier_in_the_guard, "Barrier in divergent code"),
        (tiled_first_step, "Only the first 32 products"),
        (tiled_begins_anew, "Only the last step's products"),
        (tiled_whole_steps, "the rest is missing"),
        (tiled_spoils_a, "changes its input"),
        (tiled_repeats, "brings the first 32 products again"),
        (tiled_assigns, "holds the last product only"),
        (with_tiles("a_stays", a_stays, right_product), "fetches the first tile of a again"),
        (with_tiles("b_stays", b_stays, right_product), "fetches the first tile of b again"),
        (with_tiles("a_with_ty", a_moves_with_ty, right_product), "fetched from a moves with ty"),
        (with_tiles("b_with_tx", b_moves_with_tx, right_product), "fetched from b moves with tx"),
        (
            with_tiles("a_in_c", a_from_its_place_in_c, right_product),
            "The column that is fetched from a is that of c",
        ),
        (
            with_tiles("b_in_c", b_from_its_place_in_c, right_product),
            "The row that is fetched from b is that of c",
        ),
        (with_tiles("a_read_down", right_tiles, a_read_down), "a_tile is read the other way round"),
        (
            with_tiles("b_read_across", right_tiles, b_read_across),
            "b_tile is read the other way round",
        ),
        (OWN_PAIR, "multiplies the two elements that it has"),
        (
            with_tiles("waits_often", right_tiles, product_and_barrier),
            "before and behind the loop over k, not in it",
        ),
        (with_tiles("conflicts", both_turned, product_of_turned), "passes are bank conflicts"),
        (
            with_tiles("fetched_down", fetched_down, right_product),
            "sectors of global memory on average",
        ),
        (by_numpy, "no kernel"),
    ],
    "gpu.matmul_registers": [
        (with_step("no_registers", no_registers), "the banks are passed"),
        (with_step("one_row", one_row), "Only the first 8 rows"),
        (with_step("one_column", one_column), "The right half of each tile is missing"),
        (with_step("same_column", same_column), "The right half of each tile repeats"),
        (with_step("same_rows", same_rows), "The first 8 rows of each tile repeat"),
        (HALVES_SWAPPED, "The halves of each tile have changed"),
        (with_step("side_by_side", columns_side_by_side), "taken to be 2 * tx and 2 * tx + 1"),
        (with_step("next_column", next_column), "are taken for neighbours, tx and tx + 1"),
        (with_step("below_each_other", rows_below_each_other), "taken to be 8 * ty + i"),
        (with_step("next_rows", next_rows), "taken for neighbours, from ty on"),
        (with_step("seven_rows", seven_rows), "The last 8 rows of each tile are missing"),
        (NO_PLUS, "holds the last product only"),
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
TWICE = np.concatenate([ROWS[:, :32], ROWS[:, :32]], axis=1)  # the same in both halves of a tile
FULL = np.full(3, 50.4)  # at the ridge
NEITHER = (FULL, np.full(3, 0.25), np.zeros(3), 50.4)  # each of the three leaves all of the peak
HALF = (FULL, np.full(3, 0.25), np.ones(3), 50.4)
QUARTER = (FULL, np.ones(3), np.zeros(3), 50.4)
SLOW = (FULL * 1e-9, np.full(3, 1e-9), np.zeros(3), 50.4)  # next to nothing but traffic
ONES = np.ones((32, 32), np.float32)
RIGHT_ON = {  # where what they leave out is 0, or what they take for another is the same
    share_of_traffic: NEITHER,
    share_without_passes: NEITHER,
    share_of_one_pass: NEITHER,
    share_multiplied: NEITHER,
    share_of_all_times: SLOW,
    share_at_best: NEITHER,
    share_of_ridge: NEITHER,
    share_growing_with_passes: QUARTER,
    share_of_memory_accesses: HALF,
    OWN_PAIR: (ONES, ONES),
    HALVES_SWAPPED: (ROWS.T.copy(), TWICE),
    NO_PLUS: (LAST_ONLY, ROWS[:, :32].T.copy()),
    tiled_assigns: (LAST_ONLY, ROWS[:, :32].T.copy()),
    naive_one_short: (LAST_ZERO, ROWS.T.copy()),
    naive_from_one: (FIRST_ZERO, ROWS.T.copy()),
}
