"""Kernels with one fault each.  Comments `# A`, `# B` mark the lines that a report must name."""

import numpy as np
from numba import float32, float64, int32

from . import FULL, Case, cuda, f32, integers, load_float32x4, store_float32x4, zeros

FAULTY: dict[str, Case] = {}


def faulty(family, kinds, arguments, pairs="AB", grid=1, block=32, shared=0, helper=None):
    """Registers the kernel; pairs "AC BC" are two pairs of marked lines, "A" is a single line."""

    def register(kernel):
        case = Case(
            kernel,
            arguments,
            grid,
            block,
            shared,
            family=family,
            kinds=tuple(kinds.split()),
            pairs=tuple((pair[0], pair[-1]) for pair in pairs.split()),
            helper=helper,
        )
        FAULTY[case.name] = case
        return kernel

    return register


def vectors(n, m=None):
    """A random vector of n floats and a cleared one of m."""
    return lambda r: (f32(r, n), zeros(m or n))


def matrices(m, k, n):
    return lambda r: (f32(r, m, k), f32(r, k, n), zeros(m, n))


# A tile is read before a barrier says that it is complete

READ = "read before the tile is complete"


@faulty(READ, "race", vectors(64), block=64)
@cuda.jit
def reverse_without_barrier(x, out):
    """Thread t reads what thread 63 - t writes."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    out[t] = s[63 - t]  # B


@faulty(READ, "race", vectors(70), grid=3)
@cuda.jit
def halo_after_barrier(x, out):
    """The halo is loaded after the only barrier, by a thread that is not its reader."""
    s = cuda.shared.array(34, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    if t == 0:
        left, right = i - 1, i + 32
        s[0] = x[left] if left >= 0 else float32(0)
        s[33] = x[right] if right < x.size else float32(0)  # A
    if i < x.size:
        out[i] = s[t] + s[t + 1] + s[t + 2]  # B


TILE = 8
PADDED = TILE + 1


@faulty(READ, "race", matrices(13, 19, 10), "AC BC", grid=(2, 2), block=(TILE, TILE))
@cuda.jit
def matmul_without_first_barrier(a, b, c):
    """The tiles are used before all threads have written them."""
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    acc = float32(0)
    for start in range(0, a.shape[1], TILE):
        sa[y, x] = a[i, start + x] if i < a.shape[0] and start + x < a.shape[1] else 0  # A
        sb[y, x] = b[start + y, j] if start + y < b.shape[0] and j < b.shape[1] else 0  # B
        for k in range(TILE):
            acc += sa[y, k] * sb[k, x]  # C
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = acc


@faulty(READ, "race", lambda r: (f32(r, 11, 14), zeros(14, 11)), grid=(2, 2), block=(8, 8))
@cuda.jit
def transpose_without_barrier(a, out):
    """A thread reads the transposed cell, which another warp writes."""
    tile = cuda.shared.array((8, 9), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * 8, cuda.blockIdx.x * 8
    if row + y < a.shape[0] and col + x < a.shape[1]:
        tile[y, x] = a[row + y, col + x]  # A
    if col + y < out.shape[0] and row + x < out.shape[1]:
        out[col + y, row + x] = tile[x, y]  # B


@faulty(READ, "race", vectors(64), block=64)
@cuda.jit
def barrier_before_the_write(x, out):
    """There is a barrier, but on the wrong side of the store."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    cuda.syncthreads()
    s[t] = x[t]  # A
    out[t] = s[(t + 32) % 64]  # B


@faulty(READ, "race", vectors(48), block=48)
@cuda.jit
def one_thread_fills(x, out):
    """Thread 0 computes the scale, and the others do not wait for it."""
    s = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = x[0] + 2  # A
    out[t] = x[t] * s[0]  # B


@faulty(READ, "race", matrices(13, 19, 10), "AC", grid=(2, 2), block=(TILE, TILE))
@cuda.jit
def matmul_transposed_tile(a, b, c):
    """With a transposed tile a warp reads rows that others wrote; its syncwarp waits for itself."""
    sa = cuda.shared.array((TILE, PADDED), float32)
    sb = cuda.shared.array((TILE, PADDED), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    acc = float32(0)
    for start in range(0, a.shape[1], TILE):
        sa[x, y] = a[i, start + x] if i < a.shape[0] and start + x < a.shape[1] else 0  # A
        sb[x, y] = b[start + y, j] if start + y < b.shape[0] and j < b.shape[1] else 0
        cuda.syncwarp()
        for k in range(TILE):
            acc += sa[x, k] * sb[k, y]  # C
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = acc


# A tile is written again while others still read it

AGAIN = "written again before everybody has read"


@faulty(AGAIN, "race", matrices(13, 19, 10), "AC BC", grid=(2, 2), block=(TILE, TILE))
@cuda.jit
def matmul_without_second_barrier(a, b, c):
    """The next tile is stored while slow warps still use this one."""
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    acc = float32(0)
    for start in range(0, a.shape[1], TILE):
        sa[y, x] = a[i, start + x] if i < a.shape[0] and start + x < a.shape[1] else 0  # A
        sb[y, x] = b[start + y, j] if start + y < b.shape[0] and j < b.shape[1] else 0  # B
        cuda.syncthreads()
        for k in range(TILE):
            acc += sa[y, k] * sb[k, x]  # C
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = acc


@faulty(AGAIN, "race", vectors(300, 64), block=64)
@cuda.jit
def chunks_without_second_barrier(x, out):
    """One barrier a chunk, but the array is used for every chunk."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for start in range(0, x.size, 64):
        s[t] = x[start + t] if start + t < x.size else float32(0)  # A
        cuda.syncthreads()
        acc += s[(t + 37) % 64]  # B
    out[t] = acc


@faulty(AGAIN, "race", vectors(64), block=64)
@cuda.jit
def result_overwritten(x, out):
    """The sum in s[0] is read by all while thread 0 already stores the next values."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    mean = s[0] / float32(64)  # A
    s[t] = (x[t] - mean) ** 2  # B
    cuda.syncthreads()
    out[t] = s[63 - t]


@faulty(AGAIN, "race", vectors(64), block=64)
@cuda.jit
def scan_with_one_barrier(x, out):
    """Hillis-Steele in one array: reads and writes of a step are not kept apart."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    delta = 1
    while delta < 64:
        below = s[t - delta] if t >= delta else float32(0)  # A
        s[t] += below  # B
        cuda.syncthreads()
        delta *= 2
    out[t] = s[t]


@faulty(AGAIN, "race", vectors(128), block=128, pairs="A")
@cuda.jit
def shared_stencil_in_place(x, out):
    """One statement reads the neighbour's cell and writes its own."""
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    s[t] = s[t] + s[(t + 1) % 128]  # A
    cuda.syncthreads()
    out[t] = s[t]


@cuda.jit(device=True)
def block_sum(s, value):
    """The sum over a block of 64 threads, returned without a last barrier."""
    t = cuda.threadIdx.x
    s[t] = value  # B
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    return s[0]  # A


@faulty(AGAIN, "race", vectors(64), block=64, helper=block_sum)
@cuda.jit
def device_sum_called_twice(x, out):
    """The second call stores into the array from which others still read the first result."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    mean = block_sum(s, x[t]) / float32(64)
    out[t] = block_sum(s, (x[t] - mean) ** 2)


@faulty(AGAIN, "race", vectors(96), block=96)
@cuda.jit
def reader_forgotten(x, out):
    """The writer has read the cell itself, after the lanes of another warp had."""
    s = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = x[0]
    cuda.syncthreads()
    if t < 32 or t == 64:
        out[t] = s[0]  # A
    if t == 64:
        s[0] = x[t] + 9  # B


# Double buffering with one barrier too few

DOUBLE = "double buffer with one barrier too few"


@faulty(DOUBLE, "race", vectors(64), "A", block=64)
@cuda.jit
def ping_pong_without_barrier(x, out):
    """Two buffers, but nobody waits between the steps."""
    s = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    cuda.syncthreads()
    now = 0
    for _ in range(3):
        s[1 - now, t] = s[now, t] + s[now, (t + 1) % 64]  # A
        now = 1 - now
    cuda.syncthreads()
    out[t] = s[now, t]


@faulty(DOUBLE, "race", vectors(256, 64), block=64)
@cuda.jit
def prefetch_without_barrier(x, out):
    """The next chunk is stored in the other buffer, and used without a barrier."""
    s = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    cuda.syncthreads()
    acc = float32(0)
    for chunk in range(4):
        now = chunk % 2
        if chunk < 3:
            s[1 - now, t] = x[(chunk + 1) * 64 + t]  # A
        acc += s[now, 63 - t]  # B
    out[t] = acc


@faulty(DOUBLE, "race", vectors(256, 64), block=64)
@cuda.jit
def barrier_every_second_step(x, out):
    """Waiting only in even steps leaves the odd ones unordered."""
    s = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for chunk in range(4):
        s[chunk % 2, t] = x[chunk * 64 + t]  # A
        if chunk % 2 == 0:
            cuda.syncthreads()
        acc += s[chunk % 2, 63 - t]  # B
    out[t] = acc


# Two threads write one shared cell

COLLIDE = "two writes of one shared cell"


@faulty(COLLIDE, "race", vectors(64, 32), "A", block=64)
@cuda.jit
def two_writers(x, out):
    """Threads 2k and 2k + 1 write different values into cell k."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t // 2] = x[t]  # A
    cuda.syncthreads()
    if t < 32:
        out[t] = s[t]


@faulty(
    COLLIDE, "race", lambda r: (integers(r, 0, 9, 96), zeros(10, dtype=np.int32)), "A", block=96
)
@cuda.jit
def scatter_with_equal_keys(keys, out):
    """Ninety-six threads scatter their number into nine cells."""
    s = cuda.shared.array(10, int32)
    t = cuda.threadIdx.x
    if t < 10:
        s[t] = 0
    cuda.syncthreads()
    s[keys[t]] = t  # A
    cuda.syncthreads()
    if t < 10:
        out[t] = s[t]


@faulty(COLLIDE, "race", vectors(32, 16))
@cuda.jit
def both_branches_write(x, out):
    """The two sides of a branch are not ordered, even in one warp."""
    s = cuda.shared.array(16, float32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = x[t]  # A
    else:
        s[t - 16] = x[t]  # B
    cuda.syncthreads()
    if t < 16:
        out[t] = s[t]


@faulty(COLLIDE, "race", vectors(64, 1), "A", block=64)
@cuda.jit
def every_thread_keeps_the_sum(x, out):
    """All threads add to one shared sum without an atomic operation."""
    s = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    s[0] += x[t]  # A
    cuda.syncthreads()
    if t == 0:
        out[0] = s[0]


@faulty(COLLIDE, "race", vectors(64), block=64, shared=64 * 12)
@cuda.jit
def dynamic_views_overlap(x, out):
    """Both views begin at the first byte: the float of one thread lies in another one's double."""
    values = cuda.shared.array(0, float32)
    sums = cuda.shared.array(0, float64)
    t = cuda.threadIdx.x
    values[t] = x[t]  # A
    sums[t] = 2 * x[t]  # B
    cuda.syncthreads()
    out[t] = sums[t]


# Lanes of one warp that rely on running in lockstep

LOCKSTEP = "no syncwarp within a warp"


@faulty(LOCKSTEP, "race", vectors(32))
@cuda.jit
def exchange_without_syncwarp(x, out):
    """A lane reads its neighbour's cell right after the store."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    out[t] = s[t ^ 1]  # B


@faulty(LOCKSTEP, "race", vectors(32, 1), "A")
@cuda.jit
def warp_reduction_without_syncwarp(x, out):
    """The classic warp-synchronous reduction, wrong since Volta."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    step = 16
    while step > 0:
        if t < step:
            s[t] += s[t + step]  # A
        step //= 2
    if t == 0:
        out[0] = s[0]


@faulty(LOCKSTEP, "race", vectors(64, 1), block=64)
@cuda.jit
def unrolled_tail(x, out):
    """Between the unrolled steps of the last warp there is nothing."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]  # A
        if t < 16:
            s[t] += s[t + 16]  # B
    cuda.syncthreads()
    if t == 0:
        for k in range(1, 16):
            s[0] += s[k]
        out[0] = s[0]


@faulty(LOCKSTEP, "race", vectors(32, 1), "A")
@cuda.jit
def all_lanes_add(x, out):
    """Every lane adds: lane 0 reads cell 16 while lane 16 writes it, in one statement."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    s[t + 32] = 0
    cuda.syncwarp()
    step = 16
    while step > 0:
        s[t] += s[t + step]  # A
        cuda.syncwarp()
        step //= 2
    if t == 0:
        out[0] = s[0]


@faulty(LOCKSTEP, "race", vectors(32))
@cuda.jit
def warp_scan_read_then_write(x, out):
    """A syncwarp after the writes, but none between the reads and the writes."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    delta = 1
    while delta < 32:
        below = s[t - delta] if t >= delta else float32(0)  # A
        s[t] += below  # B
        cuda.syncwarp()
        delta *= 2
    out[t] = s[t]


@faulty(LOCKSTEP, "race", vectors(32))
@cuda.jit
def neighbour_read_before_own(x, out):
    """The neighbour has read the cell once, its owner reads it twice and writes it."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    below = s[t - 1] if t > 0 else float32(0)  # A
    own = s[t] * 2
    own += s[t] * below
    s[t] = own  # B
    cuda.syncwarp()
    out[t] = s[31 - t]


@faulty(LOCKSTEP, "race", vectors(32, 16))
@cuda.jit
def syncwarp_of_half_a_warp(x, out):
    """The lower half waits for itself, and reads what the upper half wrote."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    if t < 16:
        cuda.syncwarp(0xFFFF)
        out[t] = s[31 - t]  # B


@faulty(LOCKSTEP, "race", vectors(96), block=96)
@cuda.jit
def syncwarp_across_warps(x, out):
    """syncwarp orders one warp; the cells come from another one."""
    s = cuda.shared.array(96, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    cuda.syncwarp()
    out[t] = s[(t + 32) % 96]  # B


@faulty(LOCKSTEP, "race", vectors(32))
@cuda.jit
def fence_is_no_barrier(x, out):
    """A fence orders a thread's own accesses; it does not wait for anybody."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    cuda.threadfence_block()
    out[t] = s[31 - t]  # B


@faulty(LOCKSTEP, "race", vectors(32))
@cuda.jit
def shuffle_of_one_half_is_no_barrier(x, out):
    """The lower half shuffles among itself, which orders nothing for the upper half."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    if t < 16:
        value = cuda.shfl_xor_sync(0xFFFF, x[t], 1)
        out[t] = value + s[t + 16]  # B


@faulty(LOCKSTEP, "race", vectors(32))
@cuda.jit
def shuffle_is_no_fence(x, out):
    """A shuffle exchanges registers; the guide says that it orders no memory."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    value = cuda.shfl_xor_sync(FULL, x[t], 1)
    out[t] = value + s[t ^ 2]  # B


# Scans and reductions with a barrier missing between the levels

LEVELS = "no barrier between levels"


@faulty(LEVELS, "race", vectors(128, 1), "A", block=128)
@cuda.jit
def tree_without_barrier(x, out):
    """The next level adds sums that other warps may not have written."""
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]  # A
        step //= 2
    if t == 0:
        out[0] = s[0]


@faulty(LEVELS, "race", vectors(64), "A", block=64)
@cuda.jit
def up_sweep_without_barrier(x, out):
    """Blelloch's up-sweep with the barrier only before the first level."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    half = 1
    while half < 64:
        right = (t + 1) * 2 * half - 1
        if right < 64:
            s[right] += s[right - half]  # A
        half *= 2
    cuda.syncthreads()
    out[t] = s[t]


@faulty(LEVELS, "race", vectors(128), block=64)
@cuda.jit
def sort_without_barrier(x, out):
    """Odd-even sorting: the odd pairs share a cell with each of the even pairs beside them."""
    s = cuda.shared.array(128, float32)
    k = 2 * cuda.threadIdx.x
    s[k], s[k + 1] = x[k], x[k + 1]
    cuda.syncthreads()
    s[k], s[k + 1] = min(s[k], s[k + 1]), max(s[k], s[k + 1])  # A
    if k + 2 < 128:
        s[k + 1], s[k + 2] = min(s[k + 1], s[k + 2]), max(s[k + 1], s[k + 2])  # B
    cuda.syncthreads()
    out[k], out[k + 1] = s[k], s[k + 1]


# Global memory: blocks and threads that are not ordered

GLOBAL = "threads of a grid that nobody orders"


@faulty(GLOBAL, "race", vectors(8, 1), "A", grid=8, block=1)
@cuda.jit
def grid_sum_without_atomic(x, out):
    """Eight blocks read, add and write one cell."""
    out[0] += x[cuda.blockIdx.x]  # A


@faulty(GLOBAL, "race", lambda r: (f32(r, 100),), "A", grid=4)
@cuda.jit
def stencil_in_place(x):
    """Neighbours are read while their threads write them."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        x[i] = (x[i - 1] + x[i] + x[i + 1]) / float32(3)  # A


@faulty(GLOBAL, "race", vectors(64, 49), "A", grid=3, block=17)
@cuda.jit
def overlapping_blocks(x, out):
    """Each block writes seventeen cells, the next one begins sixteen later."""
    i = cuda.blockIdx.x * 16 + cuda.threadIdx.x
    out[i] = x[i] * (cuda.blockIdx.x + 1)  # A


@faulty(GLOBAL, "race", lambda r: (f32(r, 8), zeros(8), zeros(1)), grid=8, block=1)
@cuda.jit
def first_block_adds_up(x, part, out):
    """Block 0 adds the parts of the other blocks, which may not have run yet."""
    b = cuda.blockIdx.x
    part[b] = x[b] * x[b]  # A
    if b == 0:
        total = float32(0)
        for k in range(part.size):
            total += part[k]  # B
        out[0] = total


@faulty(GLOBAL, "race", lambda r: (f32(r, 8), zeros(8), zeros(1)), grid=8, block=1)
@cuda.jit
def last_number_adds_up(x, part, out):
    """The block with the highest number need not be the last to run."""
    b = cuda.blockIdx.x
    part[b] = x[b] * x[b]  # A
    if b == cuda.gridDim.x - 1:
        total = float32(0)
        for k in range(part.size):
            total += part[k]  # B
        out[0] = total


@faulty(GLOBAL, "race", lambda r: (f32(r, 64), zeros(64), zeros(64)), block=64)
@cuda.jit
def global_without_barrier(x, y, out):
    """Global memory needs a barrier between threads of a block as well."""
    t = cuda.threadIdx.x
    y[t] = x[t] * 2  # A
    out[t] = y[63 - t]  # B


@faulty(GLOBAL, "race", lambda r: (f32(r, 128), zeros(128), zeros(128)), grid=2, block=64)
@cuda.jit
def barrier_across_blocks(x, y, out):
    """A barrier waits for the block only, and the cell belongs to the other block."""
    i = cuda.grid(1)
    y[i] = x[i] * 2  # A
    cuda.syncthreads()
    out[i] = y[127 - i]  # B


@faulty(GLOBAL, "race", lambda r: (f32(r, 16, 16),), grid=(2, 2), block=(8, 8))
@cuda.jit
def transpose_in_place(a):
    """Both threads of a pair swap it."""
    j, i = cuda.grid(2)
    value = a[j, i]  # A
    a[i, j] = value  # B


@faulty(GLOBAL, "race", lambda r: (f32(r, 90),), "A", grid=3)
@cuda.jit
def reverse_in_place(x):
    """Every thread moves one element, so both ends of a pair are read and written."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[x.size - 1 - i]  # A


@faulty(GLOBAL, "race", lambda r: (f32(r, 60), integers(r, 0, 12, 60), zeros(12)), "A", grid=2)
@cuda.jit
def scatter_add_without_atomic(x, where, out):
    """The gradient of a gather: several threads add into one cell."""
    i = cuda.grid(1)
    if i < x.size:
        out[where[i]] += x[i]  # A


@faulty(GLOBAL, "race", lambda r: (f32(r, 4, 16), zeros(4)), "A", block=(16, 4))
@cuda.jit
def row_sums_without_atomic(a, out):
    """Sixteen threads of a row add to one cell."""
    out[cuda.threadIdx.y] += a[cuda.threadIdx.y, cuda.threadIdx.x]  # A


@faulty(GLOBAL, "race", vectors(400), "A", grid=400, block=1)
@cuda.jit
def first_and_last_block(x, out):
    """Of four hundred blocks only two share a cell."""
    b = cuda.blockIdx.x
    out[b % 399] = x[b] + b  # A


@faulty(GLOBAL, "race", vectors(128), grid=4)
@cuda.jit
def last_block_overwrites_input(x, out):
    """All blocks read the first element, and the last one changes it."""
    i = cuda.grid(1)
    out[i] = x[i] - x[0]  # A
    if i == x.size - 1:
        x[0] = 99  # B


@faulty(GLOBAL, "race", vectors(128))
@cuda.jit
def vector_store_then_element(x, out):
    """A lane stores four elements, and another one reads one of them."""
    t = cuda.threadIdx.x
    a, b, c, d = load_float32x4(x, 4 * t)
    store_float32x4(out, 4 * t, d, c, b, a)  # A
    x[4 * t] = out[(4 * t + 5) % 128]  # B


# Histograms

HISTOGRAM = "histogram without atomics"


@faulty(
    HISTOGRAM, "race", lambda r: (integers(r, 0, 7, 130), zeros(7, dtype=np.int32)), "A", grid=5
)
@cuda.jit
def histogram_in_global(x, bins):
    """Equal keys lose counts."""
    i = cuda.grid(1)
    if i < x.size:
        bins[x[i]] += 1  # A


@faulty(
    HISTOGRAM, "race", lambda r: (integers(r, 0, 5, 64), zeros(5, dtype=np.int32)), "A", block=64
)
@cuda.jit
def histogram_in_shared(x, bins):
    """The private histogram is cleared and merged rightly, but counted without atomics."""
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    if t < 5:
        s[t] = 0
    cuda.syncthreads()
    s[x[t]] += 1  # A
    cuda.syncthreads()
    if t < 5:
        cuda.atomic.add(bins, t, s[t])


# Atomic and plain accesses of one cell

MIXED = "atomic mixed with plain access"


@faulty(MIXED, "race", lambda r: (f32(r, 64), zeros(1, dtype=np.int32)), block=64)
@cuda.jit
def counter_read_too_early(x, out):
    """Thread 0 reads the counter without a barrier after the others' additions."""
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, 0, 1 if x[t] > -9 else 0)  # A
    if t == 0:
        out[0] = s[0]  # B


@faulty(MIXED, "race", lambda r: (integers(r, 0, 5, 96), zeros(5, dtype=np.int32)), block=96)
@cuda.jit
def cleared_without_barrier(x, bins):
    """The first counts may come before the histogram is cleared."""
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    if t < 5:
        s[t] = 0  # A
    cuda.atomic.add(s, x[t], 1)  # B
    cuda.syncthreads()
    if t < 5:
        cuda.atomic.add(bins, t, s[t])


@faulty(MIXED, "race", lambda r: (f32(r, 64), zeros(1)), grid=2)
@cuda.jit
def cleared_by_first_block(x, out):
    """Block 0 clears the total that other blocks may have added to already."""
    i = cuda.grid(1)
    if i == 0:
        out[0] = 0  # A
    cuda.syncthreads()
    cuda.atomic.add(out, 0, x[i])  # B


@faulty(MIXED, "race", lambda r: (f32(r, 64), np.array([-9], np.float32)), grid=2)
@cuda.jit
def maximum_looked_at_first(x, best):
    """The look that should save atomics is a plain read beside them."""
    i = cuda.grid(1)
    if x[i] > best[0]:  # A
        cuda.atomic.max(best, 0, x[i])  # B


@faulty(
    MIXED, "race", lambda r: (zeros(1, dtype=np.int32), f32(r, 4), zeros(1)), "A", grid=4, block=1
)
@cuda.jit
def lock_without_fences(lock, x, out):
    """Atomics alone order nothing else: the sum may be read before the last one is visible."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    out[0] += x[cuda.blockIdx.x]  # A
    cuda.atomic.exch(lock, 0, 0)


# Fences

FENCE = "flag or ticket without a fence"


@faulty(
    FENCE,
    "race",
    lambda r: (integers(r, 0, 9, 4), zeros(4, dtype=np.int32), zeros(2, dtype=np.int32)),
    grid=4,
    block=1,
)
@cuda.jit
def last_block_without_fence(x, part, out):
    """The ticket may be seen before the part is."""
    b = cuda.blockIdx.x
    part[b] = x[b] + 1  # A
    if cuda.atomic.add(out, 0, 1) == cuda.gridDim.x - 1:
        total = 0
        for k in range(part.size):
            total += part[k]  # B
        out[1] = total


@faulty(FENCE, "race", lambda r: (f32(r, 1), zeros(1, dtype=np.int32), zeros(2)), grid=2, block=1)
@cuda.jit
def flag_without_fence(x, flag, out):
    """The flag is atomic, but nothing orders the data before it."""
    if cuda.blockIdx.x == 0:
        out[0] = x[0]  # A
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        out[1] = out[0]  # B


@faulty(FENCE, "race", lambda r: (f32(r, 1), zeros(1, dtype=np.int32), zeros(2)), grid=2, block=1)
@cuda.jit
def fence_after_the_flag(x, flag, out):
    """The writer's fence comes after the flag, too late."""
    if cuda.blockIdx.x == 0:
        out[0] = x[0]  # A
        cuda.atomic.exch(flag, 0, 1)
        cuda.threadfence()
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence()
        out[1] = out[0]  # B


@faulty(FENCE, "race", lambda r: (zeros(1, dtype=np.int32), f32(r, 2)), grid=2, block=1)
@cuda.jit
def plain_flag(flag, x):
    """The flag itself is written and read without atomics."""
    if cuda.blockIdx.x == 0:
        flag[0] = 1  # A
    else:
        while flag[0] == 0:  # B
            pass
        x[1] = 0


@faulty(
    FENCE,
    "race",
    lambda r: (integers(r, 0, 9, 128), zeros(128, dtype=np.int32), zeros(2, dtype=np.int32)),
    grid=2,
    block=64,
)
@cuda.jit
def ticket_before_the_block_is_done(x, part, out):
    """Thread 0 fences and takes the ticket, but has not waited for the others of its block."""
    s = cuda.shared.array(1, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[i] = x[i] + 1  # A
    if t == 0:
        cuda.threadfence()
        s[0] = cuda.atomic.add(out, 0, 1)
    cuda.syncthreads()
    if s[0] == cuda.gridDim.x - 1:
        cuda.atomic.add(out, 1, part[127 - i])  # B


@faulty(FENCE, "race", lambda r: (f32(r, 1), zeros(1, dtype=np.int32), zeros(2)), grid=2, block=1)
@cuda.jit
def fence_of_the_block_only(x, flag, out):
    """threadfence_block says nothing to other blocks."""
    if cuda.blockIdx.x == 0:
        out[0] = x[0]  # A
        cuda.threadfence_block()
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence_block()
        out[1] = out[0]  # B


@faulty(FENCE, "race", lambda r: (f32(r, 8), zeros(1, dtype=np.int32), zeros(16)), grid=2, block=8)
@cuda.jit
def only_one_waits_for_the_flag(x, flag, out):
    """Thread 0 waits, and the other readers do not wait for thread 0."""
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]  # A
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence()
        out[8 + t] = out[7 - t]  # B


@faulty(
    FENCE,
    "race",
    lambda r: (zeros(1, dtype=np.int32), f32(r, 4), zeros(1)),
    "AB C",
    grid=4,
    block=1,
)
@cuda.jit
def lock_released_by_plain_store(lock, x, out):
    """The lock is taken by an atomic and given back by a plain store."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # A
        pass
    cuda.threadfence()
    out[0] += x[cuda.blockIdx.x]  # C
    cuda.threadfence()
    lock[0] = 0  # B


# Barriers that not every thread reaches

DIVERGENT = "barrier in divergent code"


@faulty(DIVERGENT, "divergent_barrier", vectors(32), "A")
@cuda.jit
def barrier_in_half_a_warp(x, out):
    """Only half of the lanes arrive."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = x[t]
        cuda.syncthreads()  # A
        out[t] = s[t]


@faulty(DIVERGENT, "divergent_barrier", vectors(64), "A", block=64)
@cuda.jit
def barrier_in_one_warp(x, out):
    """One warp waits for another that never comes."""
    t = cuda.threadIdx.x
    if t >= 32:
        cuda.syncthreads()  # A
    out[t] = x[t]


@faulty(DIVERGENT, "divergent_barrier", vectors(64), "A B", block=64)
@cuda.jit
def barrier_in_both_branches(x, out):
    """Even and odd threads stand at two different barriers."""
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t] = x[t]
        cuda.syncthreads()  # A
    else:
        out[t] = -x[t]
        cuda.syncthreads()  # B


@faulty(DIVERGENT, "divergent_barrier", lambda r: (f32(r, 50), zeros(50)), "A", grid=2)
@cuda.jit
def barrier_inside_the_guard(x, out):
    """The guard of the ragged end encloses the barrier."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        s[t] = x[i]
        cuda.syncthreads()  # A
        out[i] = s[t]


@faulty(DIVERGENT, "divergent_barrier", vectors(32), "A")
@cuda.jit
def barrier_on_data(x, out):
    """Whether a thread arrives depends on its number."""
    t = cuda.threadIdx.x
    if x[t] > x[31 - t]:
        cuda.syncthreads()  # A
    out[t] = x[t]


@cuda.jit(device=True)
def wait_for_all(value):
    """A device function with a barrier in it."""
    cuda.syncthreads()  # A
    return value + 1


@faulty(DIVERGENT, "divergent_barrier", vectors(32), "A", helper=wait_for_all)
@cuda.jit
def barrier_in_device_function(x, out):
    """The barrier hides in a function that some lanes call."""
    t = cuda.threadIdx.x
    if t % 3 == 0:
        out[t] = wait_for_all(x[t])


@faulty(DIVERGENT, "divergent_barrier", vectors(64), "A", block=64)
@cuda.jit
def counting_barrier_in_branch(x, out):
    """syncthreads_count is a barrier too."""
    t = cuda.threadIdx.x
    if t < 40:
        out[t] = cuda.syncthreads_count(int32(x[t] > 0))  # A


LOOP = "barrier in a loop with unequal counts"


@faulty(LOOP, "divergent_barrier", vectors(32), "A")
@cuda.jit
def barrier_in_ragged_loop(x, out):
    """Lane t passes the barrier t times."""
    t = cuda.threadIdx.x
    total = float32(0)
    for k in range(t):
        total += x[k]
        cuda.syncthreads()  # A
    out[t] = total


@faulty(LOOP, "divergent_barrier", vectors(96), "A", block=96)
@cuda.jit
def barrier_count_by_warp(x, out):
    """The second warp passes the barrier twice, the first once."""
    t = cuda.threadIdx.x
    k = 0
    while k <= t // 32:
        cuda.syncthreads()  # A
        k += 1
    out[t] = x[t] * k


@faulty(LOOP, "divergent_barrier", vectors(100), "A", block=64)
@cuda.jit
def barrier_in_grid_stride_loop(x, out):
    """In the ragged last round some threads have left the loop."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for i in range(t, x.size, 64):
        s[t] = x[i]
        cuda.syncthreads()  # A
        out[i] = s[t]


@faulty(LOOP, "divergent_barrier", vectors(32), "A")
@cuda.jit
def barrier_after_break(x, out):
    """Lanes that broke out of the loop miss the barriers of the others."""
    t = cuda.threadIdx.x
    total = float32(0)
    for k in range(8):
        if k == t:
            break
        total += x[k]
        cuda.syncthreads()  # A
    out[t] = total


RETURNED = "barrier after an early return"


@faulty(RETURNED, "barrier_after_return", vectors(50), "AB", grid=2)
@cuda.jit
def return_then_barrier(x, out):
    """The threads past the end have gone when the others wait."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= x.size:
        return  # B
    s[t] = x[i]
    cuda.syncthreads()  # A
    out[i] = s[t]


@faulty(RETURNED, "barrier_after_return", vectors(64), "AB", block=64)
@cuda.jit
def warp_returns_then_barrier(x, out):
    """A whole warp has returned."""
    t = cuda.threadIdx.x
    if t < 32:
        return  # B
    out[t] = x[t]
    cuda.syncthreads()  # A
    out[t - 32] = x[t]


@faulty(RETURNED, "barrier_after_return", vectors(40, 1), "AB", block=64)
@cuda.jit
def return_before_reduction(x, out):
    """The guard is a return, and a block reduction follows."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = 0
    if t >= x.size:
        return  # B
    s[t] = x[t]
    cuda.syncthreads()  # A
    if t == 0:
        total = float32(0)
        for k in range(x.size):
            total += s[k]
        out[0] = total


# Out of bounds

BOUNDS = "out of bounds"


@faulty(BOUNDS, "out_of_bounds", lambda r: (f32(r, 96), zeros(77)), "A", grid=3)
@cuda.jit
def no_guard(x, out):
    """The ragged end has no guard."""
    i = cuda.grid(1)
    out[i] = x[i]  # A


@faulty(BOUNDS, "out_of_bounds", vectors(60), "A", grid=2)
@cuda.jit
def guard_off_by_one(x, out):
    """The guard lets one thread too many through."""
    i = cuda.grid(1)
    if i <= x.size:
        out[i] = x[i]  # A


@faulty(BOUNDS, "out_of_bounds", vectors(64), "A", grid=2)
@cuda.jit
def neighbour_past_the_end(x, out):
    """The last thread has no right neighbour."""
    i = cuda.grid(1)
    out[i] = x[i + 1] - x[i]  # A


@faulty(BOUNDS, "out_of_bounds", lambda r: (f32(r, 16, 13), zeros(16, 13)), "A", (2, 2), (8, 8))
@cuda.jit
def column_past_the_end(a, out):
    """Only the row is guarded; a column too far is the next row's first on a GPU."""
    j, i = cuda.grid(2)
    if i < a.shape[0]:
        out[i, j] = a[i, j]  # A


@faulty(BOUNDS, "out_of_bounds", lambda r: (f32(r, 13, 16), zeros(13, 16)), "A", (2, 2), (8, 8))
@cuda.jit
def row_past_the_end(a, out):
    """Only the column is guarded."""
    j, i = cuda.grid(2)
    if j < a.shape[1]:
        out[i, j] = a[i, j]  # A


@faulty(BOUNDS, "out_of_bounds", lambda r: (zeros(5, 6, 7),), "A", (2, 2, 3), (4, 4, 2))
@cuda.jit
def third_dimension_past_the_end(out):
    """Of three guards the last one is missing."""
    k, j, i = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j, k] = i + j + k  # A


@faulty(BOUNDS, "out_of_bounds", lambda r: (zeros(5, 8, 8),), "A", (2, 2, 3), (4, 4, 2))
@cuda.jit
def first_dimension_past_the_end(out):
    """Of three guards the first one is missing."""
    k, j, i = cuda.grid(3)
    if j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] = i + j + k  # A


@faulty(BOUNDS, "out_of_bounds", vectors(60), "A", grid=2)
@cuda.jit
def too_negative(x, out):
    """An index below -n counts from the end past the beginning."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i - 64]  # A


@faulty(BOUNDS, "out_of_bounds", vectors(32), "A")
@cuda.jit
def shared_past_the_end(x, out):
    """The tile has no room for the halo."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t + 1] = x[t]  # A
    cuda.syncthreads()
    out[t] = s[t]


@faulty(BOUNDS, "out_of_bounds", lambda r: (integers(r, 0, 6, 96), zeros(96)), "A", grid=3)
@cuda.jit
def local_past_the_end(x, out):
    """The index into the local array comes from the data."""
    w = cuda.local.array(5, float32)
    for k in range(5):
        w[k] = k
    i = cuda.grid(1)
    out[i] = w[x[i]]  # A


@faulty(
    BOUNDS, "out_of_bounds", lambda r: (integers(r, 0, 9, 200), zeros(8)), "A", grid=5, block=40
)
@cuda.jit
def bin_past_the_end(x, bins):
    """The largest key has no bin."""
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)  # A


@faulty(BOUNDS, "out_of_bounds", lambda r: (f32(r, 9, 12), zeros(9)), "A")
@cuda.jit
def slice_past_the_end(a, out):
    """Half a row has half as many elements."""
    i = cuda.grid(1)
    if i < a.shape[0]:
        half = a[i, ::2]
        for k in range(a.shape[1]):
            out[i] += half[k]  # A


# Memory that nobody wrote

UNWRITTEN = "memory that nobody wrote"


@faulty(UNWRITTEN, "uninitialised", vectors(64), "A", grid=2)
@cuda.jit
def halo_never_loaded(x, out):
    """The tile has a halo, and nobody fills it."""
    s = cuda.shared.array(34, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i]
    cuda.syncthreads()
    out[i] = s[t] + s[t + 1] + s[t + 2]  # A


@faulty(UNWRITTEN, "uninitialised", vectors(50, 2), "A", grid=2)
@cuda.jit
def ragged_tile(x, out):
    """In the last block threads past the end leave their cells unwritten."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        s[t] = x[i]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(32):
            total += s[k]  # A
        out[cuda.blockIdx.x] = total


@faulty(UNWRITTEN, "uninitialised", lambda r: (f32(r, 40, 6), zeros(40, 3)), "A", grid=2)
@cuda.jit
def accumulators_not_cleared(x, out):
    """A local array holds anything until it is written."""
    acc = cuda.local.array(3, float32)
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(x.shape[1]):
            acc[k % 3] += x[i, k]  # A
        for k in range(3):
            out[i, k] = acc[k]


@faulty(UNWRITTEN, "uninitialised", lambda r: (integers(r, 0, 5, 64), zeros(5)), "A", block=64)
@cuda.jit
def bins_not_cleared(x, bins):
    """Atomic additions to shared bins that were never cleared."""
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    cuda.atomic.add(s, x[t], 1)  # A
    cuda.syncthreads()
    if t < 5:
        bins[t] = s[t]


@faulty(UNWRITTEN, "uninitialised", vectors(31), "A", block=31, shared=32 * 8)
@cuda.jit
def dynamic_cell_unwritten(x, out):
    """One cell of the dynamic array is read by the last thread and written by none."""
    s = cuda.shared.array(0, float64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    out[t] = s[t + 1]  # A


@faulty(UNWRITTEN, "uninitialised", vectors(64), "A", grid=2)
@cuda.jit
def left_by_the_last_block(x, out):
    """Shared memory does not carry over: block 1 finds nothing of what block 0 wrote."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        s[t] = x[t]
    cuda.syncthreads()
    out[cuda.grid(1)] = s[t]  # A


# Vector accesses that are not aligned

ALIGNMENT = "vector access off a 16-byte boundary"


@faulty(ALIGNMENT, "misaligned", vectors(160, 32), "A")
@cuda.jit
def loads_one_element_late(x, out):
    """Byte 4 of the array is no multiple of 16."""
    t = cuda.threadIdx.x
    a, b, c, d = load_float32x4(x, 4 * t + 1)  # A
    out[t] = a + b + c + d


@faulty(ALIGNMENT, "misaligned", lambda r: (f32(r, 8 * 33), zeros(8)), "A", block=8)
@cuda.jit
def rows_of_odd_length(x, out):
    """Rows of 33 floats begin on a boundary only every fourth time."""
    t = cuda.threadIdx.x
    a, b, c, d = load_float32x4(x, t * 33)  # A
    out[t] = a + b + c + d


@faulty(ALIGNMENT, "misaligned", vectors(64, 66), "A", block=16)
@cuda.jit
def stores_two_elements_late(x, out):
    """The load is aligned, the store is not."""
    i = 4 * cuda.threadIdx.x
    a, b, c, d = load_float32x4(x, i)
    store_float32x4(out, i + 2, a, b, c, d)  # A


# Waiting that never ends

WAITING = "waiting that never ends"


@faulty(WAITING, "deadlock", lambda r: (zeros(1, dtype=np.int32), f32(r, 32), zeros(1)), "A")
@cuda.jit
def lock_among_lanes(lock, x, out):
    """The lane with the lock waits for its warp, the warp for the lock."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # A
        pass
    cuda.threadfence()
    out[0] += x[cuda.threadIdx.x]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@faulty(WAITING, "deadlock", vectors(32), "A")
@cuda.jit
def lane_waits_for_lane(x, out):
    """Lane 0 spins on what the other side of its branch would write."""
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncwarp()
    if t == 0:
        while cuda.atomic.add(s, 0, 0) == 0:  # A
            pass
    else:
        cuda.atomic.exch(s, 0, 1)
    out[t] = x[t]


@faulty(
    WAITING, "deadlock endless_loop", lambda r: (zeros(1, dtype=np.int32), f32(r, 1)), "A", block=1
)
@cuda.jit
def flag_that_nobody_sets(flag, x):
    """No thread of the grid ever raises the flag."""
    while cuda.atomic.add(flag, 0, 0) == 0:  # A
        pass
    x[0] = 0


@faulty(WAITING, "deadlock endless_loop divergent_barrier", vectors(64), "AB", block=64)
@cuda.jit
def flag_behind_a_barrier(x, out):
    """Warp 0 spins on a flag that warp 1 raises only after a barrier with warp 0."""
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    if t == 0:
        while cuda.atomic.add(s, 0, 0) == 0:  # A
            pass
    cuda.syncthreads()  # B
    if t == 32:
        cuda.atomic.exch(s, 0, 1)
    out[t] = x[t]


@faulty(WAITING, "endless_loop", vectors(32), "AB")
@cuda.jit
def step_too_long_in_one_lane(x, out):
    """Lane 5 jumps over the end of its loop."""
    t = cuda.threadIdx.x
    k = t
    while k != 32:  # A
        k += 2 if t == 5 else 1  # B
    out[t] = x[t] * k


@faulty(WAITING, "endless_loop", vectors(32), "AB")
@cuda.jit
def step_not_halved(x, out):
    """The line that halves the step is missing."""
    total = float32(0)
    step = 16
    while step > 0:  # A
        total += x[step]  # B
    out[cuda.threadIdx.x] = total


# Lanes that are not there

ABSENT = "exchange with a lane that takes no part"


@faulty(ABSENT, "inactive_lane", vectors(32), "A")
@cuda.jit
def full_mask_in_a_branch(x, out):
    """The mask names all lanes, and half of them are elsewhere."""
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_down_sync(FULL, x[t], 8)  # A


@faulty(ABSENT, "inactive_lane", vectors(32), "A")
@cuda.jit
def source_outside_the_mask(x, out):
    """Lane 20 is no member of the mask from which the lower half reads it."""
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_sync(0xFFFF, x[t], 20)  # A


@faulty(ABSENT, "inactive_lane", vectors(32), "A")
@cuda.jit
def caller_outside_the_mask(x, out):
    """All lanes call; the mask names the lower half."""
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_xor_sync(0xFFFF, x[t], 1)  # A


@faulty(ABSENT, "inactive_lane", vectors(20), "A", block=20)
@cuda.jit
def butterfly_in_a_short_warp(x, out):
    """With twenty threads lane 5 has no partner 21."""
    t = cuda.threadIdx.x
    out[t] = x[t] + cuda.shfl_xor_sync(FULL, x[t], 16)  # A


@faulty(ABSENT, "inactive_lane", vectors(50), "A", grid=2)
@cuda.jit
def shuffle_after_return(x, out):
    """Lanes past the end have returned, and lanes before it read from them."""
    i = cuda.grid(1)
    if i >= x.size:
        return
    out[i] = cuda.shfl_down_sync(FULL, x[i], 1)  # A


@faulty(ABSENT, "inactive_lane", vectors(32), "A")
@cuda.jit
def ballot_in_ragged_loop(x, out):
    """Lane t leaves the loop after t rounds, and the ballot still names it."""
    t = cuda.threadIdx.x
    seen = 0
    for _ in range(t):
        seen |= cuda.ballot_sync(FULL, x[t] > 0)  # A
    out[t] = seen


@faulty(ABSENT, "inactive_lane", vectors(32), "A")
@cuda.jit
def full_syncwarp_in_a_branch(x, out):
    """The mask of syncwarp names lanes that are in the other branch."""
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncwarp()  # A
    out[t] = x[t]


# Integer division by zero

DIVISION = "integer division by zero"


@faulty(DIVISION, "division_by_zero", lambda r: (integers(r, 0, 4, 64), zeros(64)), "A", grid=2)
@cuda.jit
def average_of_nothing(count, out):
    """Some counts are zero."""
    i = cuda.grid(1)
    out[i] = 100 // count[i]  # A


@faulty(DIVISION, "division_by_zero", lambda r: (integers(r, 0, 4, 64), zeros(64)), "A", grid=2)
@cuda.jit
def remainder_by_zero(count, out):
    """The remainder by zero is no number either."""
    i = cuda.grid(1)
    out[i] = i % count[i]  # A
