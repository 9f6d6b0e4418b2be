"""Kernels that are right: no error may be reported, and the results must be the oracle's."""

import math

import numpy as np
from numba import complex128, float32, float64, int8, int32, int64, uint8, uint32

from . import FULL, Case, cuda, f32, integers, load_float32x4, store_float32x4, zeros

CORRECT: dict[str, Case] = {}


def correct(arguments, oracle, grid=1, block=32, shared=0, notes=False):
    """Registers the kernel under its name."""

    def register(kernel):
        case = Case(kernel, arguments, grid, block, shared, oracle, notes)
        CORRECT[case.name] = case
        return kernel

    return register


# Indexing and shapes


@correct(lambda r: (f32(r, 100), f32(r, 100), zeros(100)), lambda x, y, out: x + y, grid=4)
@cuda.jit
def vector_add(x, y, out):
    """The guard keeps the ragged end inside the arrays."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@correct(lambda r: (f32(r, 77), zeros(77)), lambda x, out: np.maximum(x, 0), grid=3)
@cuda.jit
def early_return(x, out):
    """Threads past the end return at once; no barrier follows."""
    i = cuda.grid(1)
    if i >= x.shape[0]:
        return
    if x[i] < 0:
        out[i] = 0
        return
    out[i] = x[i]


@correct(
    lambda r: (np.float32(r.standard_normal()), f32(r, 301), f32(r, 301)),
    lambda a, x, y: a * x + y,
    grid=2,
    block=48,
)
@cuda.jit
def saxpy_grid_stride(a, x, y):
    """Every thread walks over its own elements, a whole grid apart; the last warp is half full."""
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]


@correct(
    lambda r: (f32(r, 13, 21), f32(r, 13, 21), zeros(13, 21)),
    lambda a, b, out: a - b,
    grid=(3, 2),
    block=(8, 8),
)
@cuda.jit
def matrix_subtract(a, b, out):
    """A 2-D grid over a ragged matrix, x along the columns."""
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = a[i, j] - b[i, j]


@correct(
    lambda r: (f32(r, 5, 6, 7), zeros(5, 6, 7)),
    lambda x, out: x * np.arange(1, 6, dtype=np.float32)[:, None, None],
    grid=(2, 2, 3),
    block=(4, 4, 2),
)
@cuda.jit
def volume_scale(x, out):
    """A 3-D grid: each thread one voxel."""
    k, j, i = cuda.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        out[i, j, k] = x[i, j, k] * (i + 1)


@correct(lambda r: (f32(r, 40), zeros(40)), lambda x, out: x[::-1], grid=2, notes=True)
@cuda.jit
def reverse_with_negative_indices(x, out):
    """An index of -1 to -n counts from the end, as Numba says: worth a note, as it is computed."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[-1 - i]


@correct(
    lambda r: (f32(r, 50), r.permutation(50).astype(np.int64), zeros(50)),
    lambda x, where, out: x[np.argsort(where)],
    grid=2,
)
@cuda.jit
def scatter_permutation(x, where, out):
    """No two threads write one cell, because `where` is a permutation."""
    i = cuda.grid(1)
    if i < x.size:
        out[where[i]] = x[i]


@correct(
    lambda r: (integers(r, 0, 255, 70, dtype=np.uint8), zeros(70, dtype=np.uint8)),
    lambda x, out: 255 - x,
    grid=7,
    block=10,
)
@cuda.jit
def invert_bytes(x, out):
    """Blocks write neighbouring bytes of one word, which is no race: memory is byte-addressed."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 255 - x[i]


@correct(lambda r: (f32(r, 9, 12), zeros(9)), lambda a, out: a[:, ::2].sum(1), block=16)
@cuda.jit
def row_slices(a, out):
    """Each thread sums every second element of its row through a slice."""
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i]
        total = float32(0)
        for k in range(len(row[::2])):
            total += row[::2][k]
        out[i] = total


# Matrices


def matmul_arguments(m, k, n):
    return lambda r: (f32(r, m, k), f32(r, k, n), zeros(m, n))


@correct(matmul_arguments(9, 11, 10), lambda a, b, c: a @ b, grid=(2, 2), block=(8, 8))
@cuda.jit
def matmul_naive(a, b, c):
    """One thread for each output, straight from global memory."""
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[i, k] * b[k, j]
        c[i, j] = acc


TILE = 8


@correct(matmul_arguments(13, 19, 10), lambda a, b, c: a @ b, grid=(2, 2), block=(TILE, TILE))
@cuda.jit
def matmul_tiled(a, b, c):
    """Two barriers in each step: after the tiles are written, and after they are read."""
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    acc = float32(0)
    for start in range(0, a.shape[1], TILE):
        sa[y, x] = a[i, start + x] if i < a.shape[0] and start + x < a.shape[1] else float32(0)
        sb[y, x] = b[start + y, j] if start + y < b.shape[0] and j < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(TILE):
            acc += sa[y, k] * sb[k, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = acc


@correct(matmul_arguments(11, 17, 9), lambda a, b, c: a @ b, grid=(2, 2), block=(TILE, TILE))
@cuda.jit
def matmul_double_buffer(a, b, c):
    """Two tiles in turn need one barrier a step: a store waits for the readers of two steps ago."""
    sa = cuda.shared.array((2, TILE, TILE), float32)
    sb = cuda.shared.array((2, TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    acc = float32(0)
    now = 0
    for start in range(0, a.shape[1], TILE):
        sa[now, y, x] = float32(0)
        sb[now, y, x] = float32(0)
        if i < a.shape[0] and start + x < a.shape[1]:
            sa[now, y, x] = a[i, start + x]
        if start + y < b.shape[0] and j < b.shape[1]:
            sb[now, y, x] = b[start + y, j]
        cuda.syncthreads()
        for k in range(TILE):
            acc += sa[now, y, k] * sb[now, k, x]
        now = 1 - now
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = acc


SIDE, EACH = 4, 2  # threads along a block's side, outputs of a thread along a side
SPAN = SIDE * EACH


@correct(matmul_arguments(13, 11, 18), lambda a, b, c: a @ b, grid=(3, 2), block=(SIDE, SIDE))
@cuda.jit
def matmul_register_tile(a, b, c):
    """Each thread keeps a 2 x 2 tile of results in a local array."""
    sa = cuda.shared.array((SPAN, SIDE), float32)
    sb = cuda.shared.array((SIDE, SPAN), float32)
    acc = cuda.local.array((EACH, EACH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * SPAN, cuda.blockIdx.x * SPAN
    for p in range(EACH):
        for q in range(EACH):
            acc[p, q] = 0
    for start in range(0, a.shape[1], SIDE):
        for p in range(EACH):
            i, j = row + y + p * SIDE, col + x + p * SIDE
            inside = i < a.shape[0] and start + x < a.shape[1]
            sa[y + p * SIDE, x] = a[i, start + x] if inside else float32(0)
            inside = j < b.shape[1] and start + y < b.shape[0]
            sb[y, x + p * SIDE] = b[start + y, j] if inside else float32(0)
        cuda.syncthreads()
        for k in range(SIDE):
            for p in range(EACH):
                for q in range(EACH):
                    acc[p, q] += sa[y + p * SIDE, k] * sb[k, x + q * SIDE]
        cuda.syncthreads()
    for p in range(EACH):
        for q in range(EACH):
            i, j = row + y + p * SIDE, col + x + q * SIDE
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = acc[p, q]


@correct(lambda r: (f32(r, 11, 14), zeros(14, 11)), lambda a, out: a.T, grid=(2, 2), block=(8, 8))
@cuda.jit
def transpose_padded(a, out):
    """Every read of the tile comes after the barrier, and only of cells that were written."""
    tile = cuda.shared.array((8, 9), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * 8, cuda.blockIdx.x * 8
    if row + y < a.shape[0] and col + x < a.shape[1]:
        tile[y, x] = a[row + y, col + x]
    cuda.syncthreads()
    if col + y < out.shape[0] and row + x < out.shape[1]:
        out[col + y, row + x] = tile[x, y]


# Stencils and convolutions


def padded_mean(x, out):
    p = np.pad(x, 1)
    return (p[:-2] + p[1:-1] + p[2:]) / np.float32(3)


@correct(lambda r: (f32(r, 85), zeros(85)), padded_mean, grid=3)
@cuda.jit
def stencil_with_halo(x, out):
    """The halo is loaded by the two end threads, zeros outside, and a barrier follows."""
    s = cuda.shared.array(34, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i] if i < x.size else float32(0)
    if t == 0:
        s[0] = x[i - 1] if i > 0 else float32(0)
    if t == 31:
        s[33] = x[i + 1] if i + 1 < x.size else float32(0)
    cuda.syncthreads()
    if i < x.size:
        out[i] = (s[t] + s[t + 1] + s[t + 2]) / float32(3)


TAPS = np.array([0.5, -1.0, 0.25, 2.0, -0.125], np.float32)


@correct(
    lambda r: (f32(r, 90), zeros(90)),
    lambda x, out: np.correlate(np.pad(x, 2), TAPS, "valid"),
    grid=3,
)
@cuda.jit
def convolve_constant(x, out):
    """The taps are a constant array; what lies outside counts as zero."""
    taps = cuda.const.array_like(TAPS)
    i = cuda.grid(1)
    if i >= x.size:
        return
    acc = float32(0)
    for k in range(taps.size):
        if i + k - 2 < 0 or i + k - 2 >= x.size:
            continue
        acc += taps[k] * x[i + k - 2]
    out[i] = acc


def conv3x3(image, kernel, out):
    p = np.pad(image, 1)
    windows = np.lib.stride_tricks.sliding_window_view(p, (3, 3))
    return np.einsum("ijrs,rs->ij", windows, kernel)


@correct(
    lambda r: (f32(r, 10, 13), f32(r, 3, 3), zeros(10, 13)), conv3x3, grid=(2, 2), block=(8, 8)
)
@cuda.jit
def convolve_tile(image, kernel, out):
    """The 10 x 10 tile is filled by 64 threads in strides before anybody reads it."""
    tile = cuda.shared.array((10, 10), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 8 - 1, cuda.blockIdx.x * 8 - 1
    for cell in range(y * 8 + x, 100, 64):
        r, c = cell // 10, cell % 10
        inside = 0 <= top + r < image.shape[0] and 0 <= left + c < image.shape[1]
        tile[r, c] = image[top + r, left + c] if inside else float32(0)
    cuda.syncthreads()
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        acc = float32(0)
        for r in range(3):
            for c in range(3):
                acc += tile[y + r, x + c] * kernel[r, c]
        out[i, j] = acc


@correct(
    lambda r: (f32(r, 3, 6, 10), zeros(3, 3, 5)),
    lambda x, out: x.reshape(3, 3, 2, 5, 2).max((2, 4)),
    grid=(2, 1, 3),
    block=(4, 4),
)
@cuda.jit
def max_pool(x, out):
    """One thread for each 2 x 2 window, one layer of the grid for each channel."""
    j, i, n = cuda.grid(3)
    if i < out.shape[1] and j < out.shape[2]:
        best = float32(-math.inf)
        for r in range(2):
            for c in range(2):
                best = max(best, x[n, 2 * i + r, 2 * j + c])
        out[n, i, j] = best


@correct(lambda r: (f32(r, 45), zeros(45)), lambda x, out: median5(x), grid=2)
@cuda.jit
def median_filter(x, out):
    """A local array of five is filled, then sorted by insertion."""
    w = cuda.local.array(5, float32)
    i = cuda.grid(1)
    if i < x.size:
        for k in range(5):
            w[k] = x[min(max(i + k - 2, 0), x.size - 1)]
        for k in range(1, 5):
            value = w[k]
            p = k
            while p > 0 and w[p - 1] > value:
                w[p] = w[p - 1]
                p -= 1
            w[p] = value
        out[i] = w[2]


def median5(x):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 2, "edge"), 5)
    return np.median(windows, axis=1)


# Reductions


@correct(
    lambda r: (f32(r, 200), zeros(1, dtype=np.float64)),
    lambda x, out: x.sum(dtype=np.float64)[None],
    grid=4,
    block=64,
)
@cuda.jit
def reduce_tree(x, out):
    """A barrier after every halving, and one atomic addition for each block."""
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


@correct(
    lambda r: (integers(r, -99, 99, 300), zeros(3, dtype=np.int32)),
    lambda x, out: np.pad(x, (0, 84)).reshape(3, 128).sum(1),
    grid=3,
    block=128,
)
@cuda.jit
def reduce_syncwarp_tail(x, out):
    """Barriers down to one warp, then syncwarp between the steps of that warp."""
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step >= 32:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t < 32:
        step = 16
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncwarp()
            step //= 2
        if t == 0:
            out[cuda.blockIdx.x] = s[0]


@correct(
    lambda r: (integers(r, -99, 99, 100), zeros(1, dtype=np.int32)),
    lambda x, out: x.sum(keepdims=True),
    grid=2,
    block=64,
)
@cuda.jit
def reduce_shuffle_down(x, out):
    """Lanes hand their sums down in registers; lane 0 of each warp adds to the total."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else 0
    delta = 16
    while delta > 0:
        value += cuda.shfl_down_sync(FULL, value, delta)
        delta //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


@correct(lambda r: (f32(r, 32), zeros(32)), lambda x, out: np.full(32, x.max()))
@cuda.jit
def reduce_butterfly(x, out):
    """After five exchanges with lane ^ mask every lane holds the maximum."""
    best = x[cuda.threadIdx.x]
    mask = 16
    while mask:
        best = max(best, cuda.shfl_xor_sync(FULL, best, mask))
        mask >>= 1
    out[cuda.threadIdx.x] = best


def half_sums(x, out):
    return np.where(np.arange(32) < 16, x[:16].sum(dtype=np.int32), -x)


@correct(lambda r: (integers(r, -9, 9, 32), zeros(32, dtype=np.int32)), half_sums)
@cuda.jit
def half_warp_shuffle(x, out):
    """Sixteen lanes exchange values under a mask that names only these sixteen."""
    t = cuda.threadIdx.x
    value = x[t]
    if t < 16:
        for k in range(4):
            value += cuda.shfl_xor_sync(0xFFFF, value, 1 << k)
        out[t] = value
    else:
        out[t] = -value


def halves_swapped(x, out):
    warps = x.reshape(-1, 32)
    return np.hstack([warps[:, 16:], warps[:, 15::-1]]).ravel()


@correct(lambda r: (f32(r, 64), zeros(64)), halves_swapped, grid=2)
@cuda.jit
def half_warp_syncwarp(x, out):
    """A full syncwarp before and after the swap; later only the upper half meets, and says so."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncwarp()
    value = s[t ^ 16]
    cuda.syncwarp()
    if t >= 16:
        s[t] = value
        cuda.syncwarp(0xFFFF0000)
        out[i] = s[47 - t]
    else:
        out[i] = value


def sums_of_blocks(x, part, count, out):
    return np.pad(x, (0, 42)).reshape(3, 64).sum(1), np.array([3]), x.sum(keepdims=True)


@correct(
    lambda r: (
        integers(r, 0, 99, 150),
        zeros(3, dtype=np.int32),
        zeros(1, dtype=np.uint32),
        zeros(1, dtype=np.int32),
    ),
    sums_of_blocks,
    grid=3,
    block=64,
)
@cuda.jit
def reduce_last_block(x, part, count, out):
    """As in the programming guide: write the sum, fence, take a ticket; the last block adds."""
    s = cuda.shared.array(64, int32)
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 32
    while step:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        part[cuda.blockIdx.x] = s[0]
        cuda.threadfence()
        ticket = cuda.atomic.inc(count, 0, cuda.gridDim.x)
        last[0] = ticket == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and t < cuda.gridDim.x:
        cuda.atomic.add(out, 0, part[t])


@correct(lambda r: (f32(r, 50), np.array([-9], np.float32)), lambda x, out: x.max(keepdims=True), 2)
@cuda.jit
def atomic_maximum(x, out):
    """Atomic max on floats, and nobody reads the result in the kernel."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])


@correct(
    lambda r: (integers(r, 0, 10, 90), zeros(90), zeros(4, dtype=np.int32)),
    lambda x, out, seen: (
        x + 0.0,
        np.array([(x > 6).sum(), (x[:60] >= 0).all(), (x[:60] > 8).any(), 1]),
    ),
    block=96,
)
@cuda.jit
def barrier_votes(x, out, seen):
    """syncthreads_count, _and and _or are reached by every thread of the block."""
    t = cuda.threadIdx.x
    many = cuda.syncthreads_count(int32(t < x.size and x[min(t, x.size - 1)] > 6))
    every = cuda.syncthreads_and(int32(t >= 60 or x[t] >= 0))
    some = cuda.syncthreads_or(int32(t < 60 and x[t] > 8))
    if t < x.size:
        out[t] = x[t]
    if t == 0:
        seen[0] = many
        seen[1] = every != 0
        seen[2] = some != 0
        seen[3] = 1


def softmax(x, out):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@correct(lambda r: (f32(r, 3, 75), zeros(3, 75)), softmax, grid=3, block=64)
@cuda.jit
def softmax_rows(x, out):
    """A block for each row; a barrier separates reading the maximum from reusing its array."""
    s = cuda.shared.array(64, float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    best = float32(-math.inf)
    for j in range(t, x.shape[1], 64):
        best = max(best, x[row, j])
    s[t] = best
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] = max(s[t], s[t + step])
        cuda.syncthreads()
        step >>= 1
    best = s[0]
    cuda.syncthreads()
    s[t] = 0
    for j in range(t, x.shape[1], 64):
        s[t] += math.exp(x[row, j] - best)
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step >>= 1
    for j in range(t, x.shape[1], 64):
        out[row, j] = math.exp(x[row, j] - best) / s[0]


# Scans and sorts


@correct(lambda r: (integers(r, -9, 9, 32), zeros(32, dtype=np.int32)), lambda x, out: np.cumsum(x))
@cuda.jit
def scan_shuffle_up(x, out):
    """Lane i adds the sum from `delta` lanes below, if there is one."""
    t = cuda.threadIdx.x
    value = x[t]
    delta = 1
    while delta < 32:
        below = cuda.shfl_up_sync(FULL, value, delta)
        if t >= delta:
            value += below
        delta *= 2
    out[t] = value


@correct(
    lambda r: (integers(r, -9, 9, 96), zeros(96, dtype=np.int32)),
    lambda x, out: np.cumsum(x),
    block=96,
)
@cuda.jit
def scan_hillis_steele(x, out):
    """One array needs two barriers a step: between reads and writes, and after the writes."""
    s = cuda.shared.array(96, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    delta = 1
    while delta < 96:
        below = s[t - delta] if t >= delta else 0
        cuda.syncthreads()
        s[t] += below
        cuda.syncthreads()
        delta *= 2
    out[t] = s[t]


@correct(
    lambda r: (f32(r, 100), zeros(100)),
    lambda x, out: np.concatenate([np.cumsum(x[:64]), np.cumsum(x[64:])]),
    grid=2,
    block=64,
)
@cuda.jit
def scan_ping_pong(x, out):
    """Two arrays in turn: one barrier in each step is enough."""
    s = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[0, t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    now = 0
    delta = 1
    while delta < 64:
        s[1 - now, t] = s[now, t] + s[now, t - delta] if t >= delta else s[now, t]
        cuda.syncthreads()
        now = 1 - now
        delta *= 2
    if i < x.size:
        out[i] = s[now, t]


@correct(
    lambda r: (integers(r, 0, 9, 64), zeros(64, dtype=np.int64)),
    lambda x, out: np.cumsum(x) - x,
    block=64,
)
@cuda.jit
def scan_blelloch(x, out):
    """Up-sweep, clear the root, down-sweep, with a barrier before every level."""
    s = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    half = 1
    while half < 64:
        cuda.syncthreads()
        right = (t + 1) * 2 * half - 1
        if right < 64:
            s[right] += s[right - half]
        half *= 2
    cuda.syncthreads()
    if t == 0:
        s[63] = 0
    half = 32
    while half > 0:
        cuda.syncthreads()
        right = (t + 1) * 2 * half - 1
        if right < 64:
            s[right - half], s[right] = s[right], s[right] + s[right - half]
        half //= 2
    cuda.syncthreads()
    out[t] = s[t]


@correct(lambda r: (f32(r, 128),), lambda x: np.sort(x), block=128)
@cuda.jit
def sort_bitonic(x):
    """In each step every pair has one owner, and a barrier ends the step."""
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    size = 2
    while size <= 128:
        stride = size // 2
        while stride > 0:
            other = t ^ stride
            if other > t:
                rising = (t & size) == 0
                if (s[t] > s[other]) == rising:
                    s[t], s[other] = s[other], s[t]
            cuda.syncthreads()
            stride //= 2
        size *= 2
    x[t] = s[t]


@correct(
    lambda r: (integers(r, -9, 9, 100), zeros(100, dtype=np.int32), zeros(4, dtype=np.int32)),
    lambda x, out, sums: (
        np.cumsum(np.pad(x, (0, 28)).reshape(4, 32), axis=1).ravel()[:100],
        np.pad(x, (0, 28)).reshape(4, 32).sum(1),
    ),
    grid=4,
)
@cuda.jit
def scan_of_blocks(x, out, sums):
    """First of two launches: each block scans its part and leaves its sum."""
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    for power in range(5):
        below = s[t - (1 << power)] if t >= (1 << power) else 0
        cuda.syncthreads()
        s[t] += below
        cuda.syncthreads()
    if i < out.size:
        out[i] = s[t]
    if t == 31:
        sums[cuda.blockIdx.x] = s[t]


@correct(
    lambda r: (integers(r, -9, 9, 4), integers(r, -99, 99, 100)),
    lambda sums, out: out + np.repeat(np.cumsum(sums) - sums, 32)[:100],
    grid=4,
)
@cuda.jit
def add_sums_of_blocks(sums, out):
    """Second of two launches: each block adds the sums of the blocks before it."""
    i = cuda.grid(1)
    before = 0
    for b in range(cuda.blockIdx.x):
        before += sums[b]
    if i < out.size:
        out[i] += before


# Atomics, locks and warps


def histogram(x, bins):
    return np.bincount(x, minlength=bins.size)


@correct(lambda r: (integers(r, 0, 7, 130), zeros(7, dtype=np.int32)), histogram, grid=5)
@cuda.jit
def histogram_atomic(x, bins):
    """Equal keys collide, and the addition is atomic."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@correct(lambda r: (integers(r, 0, 5, 210), zeros(5, dtype=np.int32)), histogram, grid=2, block=64)
@cuda.jit
def histogram_private(x, bins):
    """Each block clears, counts and hands over its own histogram, with barriers in between."""
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    if t < 5:
        s[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    if t < 5:
        cuda.atomic.add(bins, t, s[t])


@correct(lambda r: (integers(r, 0, 4, 64), zeros(4, dtype=np.int32)), histogram, grid=2)
@cuda.jit
def histogram_matched(x, bins):
    """Lanes with equal keys find each other; the lowest adds for all of them."""
    key = x[cuda.grid(1)]
    peers = cuda.match_any_sync(FULL, key)
    if cuda.ffs(peers) - 1 == cuda.laneid:
        cuda.atomic.add(bins, key, cuda.popc(peers))


def compacted(x, out, count):
    kept = x[x > 0]
    return np.concatenate([kept, np.zeros(x.size - kept.size, x.dtype)]), np.array([kept.size])


@correct(
    lambda r: (integers(r, -9, 9, 32), zeros(32, dtype=np.int32), zeros(1, dtype=np.int32)),
    compacted,
)
@cuda.jit
def compact_with_ballot(x, out, count):
    """The number of voters below a lane is its place in the output."""
    t = cuda.threadIdx.x
    ballot = cuda.ballot_sync(FULL, x[t] > 0)
    if x[t] > 0:
        out[cuda.popc(ballot & ((1 << t) - 1))] = x[t]
    if t == 0:
        count[0] = cuda.popc(ballot)


@correct(
    lambda r: (zeros(1, dtype=np.int32), integers(r, 0, 99, 6), zeros(1, dtype=np.int32), zeros(1)),
    lambda lock, x, used, out: (np.array([6]), x.sum(keepdims=True)),
    grid=6,
    block=1,
)
@cuda.jit
def lock_across_blocks(lock, x, used, out):
    """One thread a block: take the lock, fence, work, fence, give it back."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    used[0] += 1
    out[0] += x[cuda.blockIdx.x]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@correct(
    lambda r: (zeros(1, dtype=np.int32), f32(r, 32), zeros(1)),
    lambda lock, x, out: x.sum(keepdims=True),
)
@cuda.jit
def lock_inside_warp(lock, x, out):
    """Whoever gets the lock works and releases it in the same pass of the loop: no lane waits."""
    waiting = True
    while waiting:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            out[0] += x[cuda.threadIdx.x]
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waiting = False


@correct(
    lambda r: (f32(r, 8), zeros(1, dtype=np.int32), zeros(8), zeros(8)),
    lambda x, flag, box, out: (np.array([1]), x * 2, x * 2 + 1),
    grid=2,
    block=8,
)
@cuda.jit
def flag_with_fence(x, flag, box, out):
    """Barrier, fence, flag raised; flag seen, fence, barrier: so the second block reads the box."""
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        box[t] = x[t] * 2
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence()
        cuda.syncthreads()
        out[t] = box[t] + 1


@correct(
    lambda r: (
        integers(r, 0, 99, 192),
        zeros(192, dtype=np.int32),
        zeros(1, dtype=np.int32),
        zeros(64, dtype=np.int32),
    ),
    lambda x, part, count, out: (2 * x, np.array([3]), 2 * x.reshape(3, 64).sum(0)[::-1]),
    grid=3,
    block=64,
)
@cuda.jit
def last_block_reads_arrays(x, part, count, out):
    """All threads write; barrier, fence and ticket by one of them; all threads of the last read."""
    last = cuda.shared.array(1, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[i] = 2 * x[i]
    cuda.syncthreads()
    if t == 0:
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
        cuda.threadfence()
    cuda.syncthreads()
    if last[0]:
        total = 0
        for b in range(cuda.gridDim.x):
            total += part[b * 64 + 63 - t]
        out[t] = total


@correct(
    lambda r: (
        integers(r, 0, 99, 5),
        zeros(5, dtype=np.int32),
        zeros(5, dtype=np.int32),
        zeros(5, dtype=np.int32),
    ),
    lambda x, flag, part, out: (np.ones(5), 3 * x, 3 * np.cumsum(x)),
    grid=5,
    block=1,
)
@cuda.jit
def chain_of_flags(x, flag, part, out):
    """Block b waits for block b - 1 only, and so for all before it: order is transitive."""
    b = cuda.blockIdx.x
    part[b] = 3 * x[b]
    if b > 0:
        while cuda.atomic.add(flag, b - 1, 0) == 0:
            pass
    cuda.threadfence()
    total = 0
    for k in range(b + 1):
        total += part[k]
    out[b] = total
    cuda.atomic.exch(flag, b, 1)


@correct(
    lambda r: (integers(r, 0, 999, 70), zeros(1, dtype=np.int32)),
    lambda x, out: x.max(keepdims=True),
    3,
)
@cuda.jit
def maximum_by_cas(x, out):
    """Compare-and-swap in a loop until the stored value is at least one's own."""
    i = cuda.grid(1)
    if i < x.size:
        seen = cuda.atomic.add(out, 0, 0)
        while seen < x[i]:
            before = cuda.atomic.cas(out, 0, seen, x[i])
            if before == seen:
                break
            seen = before


@correct(
    lambda r: (f32(r, 96), zeros(96)), lambda x, out: x.reshape(3, 32)[:, ::-1].ravel(), block=96
)
@cuda.jit
def warps_on_their_own(x, out):
    """Each warp uses its own row of the shared array, so syncwarp is enough."""
    s = cuda.shared.array((3, 32), float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    s[warp, lane] = x[cuda.threadIdx.x]
    cuda.syncwarp()
    out[cuda.threadIdx.x] = s[warp, 31 - lane]


@correct(lambda r: (f32(r, 64), zeros(64)), lambda x, out: x * 9, block=64)
@cuda.jit
def private_cells(x, out):
    """Each thread uses only its own cell of shared memory, so no barrier is needed."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    for _ in range(2):
        s[t] *= 3
    out[t] = s[t]


@correct(
    lambda r: (f32(r, 128), zeros(128), zeros(128)),
    lambda x, y, out: (x * 2, (x * 2).reshape(2, 64)[:, ::-1].ravel()),
    grid=2,
    block=64,
)
@cuda.jit
def barrier_orders_global(x, y, out):
    """The barrier also orders what a block wrote to global memory."""
    i = cuda.grid(1)
    y[i] = x[i] * 2
    cuda.syncthreads()
    out[i] = y[cuda.blockIdx.x * 64 + 63 - cuda.threadIdx.x]


@correct(lambda r: (f32(r, 32), zeros(32)), lambda x, out: x.reshape(2, 16)[:, ::-1].ravel())
@cuda.jit
def half_warps_apart(x, out):
    """Each half of the warp has its own cells and its own syncwarp."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = x[t]
        cuda.syncwarp(0x0000FFFF)
        out[t] = s[15 - t]
    else:
        s[t] = x[t]
        cuda.syncwarp(0xFFFF0000)
        out[t] = s[47 - t]


@correct(
    lambda r: (f32(r, 20), zeros(20)), lambda x, out: np.append(x[9::-1], [(x[:10] > 0).sum()] * 10)
)
@cuda.jit
def return_then_warp(x, out):
    """Lanes that have returned, or never were, need not meet the others: the guide says so."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t >= 10:
        return
    s[t] = x[t]
    cuda.syncwarp()
    out[t] = s[9 - t]
    out[t + 10] = cuda.popc(cuda.ballot_sync(FULL, x[t] > 0))


@correct(lambda r: (f32(r, 64), zeros(32)), lambda x, out: x[:32][::-1] + x[32:], block=64)
@cuda.jit
def flag_between_warps(x, out):
    """Warp 0 fills the array and raises a flag; warp 1 waits for it, with fences on both sides."""
    s = cuda.shared.array(32, float32)
    flag = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        flag[0] = 0
    cuda.syncthreads()
    if t < 32:
        s[t] = x[t]
        cuda.syncwarp()
        if t == 0:
            cuda.threadfence_block()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 32:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence_block()
        cuda.syncwarp()
        out[t - 32] = s[63 - t] + x[t]


@correct(lambda r: (f32(r, 96), zeros(96)), lambda x, out: np.roll(x, -33), block=96)
@cuda.jit
def voting_barrier_orders_memory(x, out):
    """syncthreads_or is a barrier like syncthreads."""
    s = cuda.shared.array(96, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    if cuda.syncthreads_or(1):
        out[t] = s[(t + 33) % 96]


@correct(lambda r: (f32(r, 64), zeros(64)), lambda x, out: x + 1, block=64, notes=True)
@cuda.jit
def everybody_clears(x, out):
    """All threads store the same 1 in the cell before the barrier: worth a note."""
    s = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    s[0] = 1
    cuda.syncthreads()
    out[t] = x[t] + s[0]


@correct(
    lambda r: (integers(r, -9, 9, 64), zeros(1, dtype=np.int32)),
    lambda x, out: np.array([(x == 8).any()]),
    grid=2,
    notes=True,
)
@cuda.jit
def found_flag(x, out):
    """Several threads may write the same 1 into one cell: worth a note, not an error."""
    if x[cuda.grid(1)] == 8:
        out[0] = 1


# Control flow


@cuda.jit(device=True)
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value


@cuda.jit(device=True)
def root_of(value):
    for k in range(10):
        if k * k >= value:
            return k
    return -1


def clamped_and_rooted(x, out, root):
    roots = [next((k for k in range(10) if k * k >= v), -1) for v in x * np.float32(50)]
    return np.clip(x, np.float32(-0.5), np.float32(0.75)), np.array(roots)


@correct(
    lambda r: (f32(r, 60), zeros(60), zeros(60, dtype=np.int32)),
    clamped_and_rooted,
    grid=2,
)
@cuda.jit
def device_functions(x, out, root):
    """Device functions leave by one of several returns, also from inside a loop."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = clamp(x[i], float32(-0.5), float32(0.75))
        root[i] = root_of(x[i] * float32(50))


def smallest_factor(n, out):
    return np.array([next((d for d in range(2, v) if v % d == 0), -v) for v in n.tolist()])


@correct(lambda r: (integers(r, 2, 400, 80), zeros(80, dtype=np.int32)), smallest_factor, grid=3)
@cuda.jit
def loop_else(n, out):
    """The else of a loop runs in lanes that did not break."""
    i = cuda.grid(1)
    if i < n.size:
        for d in range(2, n[i]):
            if n[i] % d == 0:
                out[i] = d
                break
        else:
            out[i] = -n[i]


def collatz(n, out):
    def steps(v):
        k = 0
        while v != 1 and k < 50:
            v, k = (v // 2 if v % 2 == 0 else 3 * v + 1), k + 1
        return k if v == 1 else -1

    return np.array([steps(v) for v in n.tolist()])


@correct(lambda r: (integers(r, 1, 99, 50), zeros(50, dtype=np.int32)), collatz, grid=2)
@cuda.jit
def while_else(n, out):
    """Lanes leave the loop at different times, some by break, some by its condition."""
    i = cuda.grid(1)
    if i >= n.size:
        return
    v = int64(n[i])
    k = 0
    while k < 50:
        if v == 1:
            out[i] = k
            break
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        k += 1
    else:
        out[i] = k if v == 1 else -1


@correct(
    lambda r: (f32(r, 96), 3, zeros(96)),
    lambda x, steps, out: np.hstack([np.roll(x[:32], -steps), np.roll(x[32:64], -steps), x[64:]]),
    grid=3,
)
@cuda.jit
def uniform_barriers(x, steps, out):
    """Barriers in a loop and a branch that every thread of a block takes alike."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if cuda.blockIdx.x == 2:
        out[i] = x[i]
        return
    value = x[i]
    for _ in range(steps):
        s[t] = value
        cuda.syncthreads()
        value = s[(t + 1) % 32]
        cuda.syncthreads()
    out[i] = value


def julia(z, out):
    return np.array([escape(complex(v)) for v in z], np.int32)


def escape(v):
    z, k = v, 0
    while k < 30 and z.real * z.real + z.imag * z.imag < 4:
        z, k = z * z + complex(-0.4, 0.6), k + 1
    return k


@correct(
    lambda r: (r.standard_normal(70) + 1j * r.standard_normal(70), zeros(70, dtype=np.int32)),
    julia,
    grid=3,
)
@cuda.jit
def julia_set(z, out):
    """Complex numbers, and lanes that leave the loop at different times."""
    i = cuda.grid(1)
    if i < z.size:
        value = complex128(z[i])
        k = 0
        while k < 30 and value.real * value.real + value.imag * value.imag < 4:
            value = value * value + complex(-0.4, 0.6)
            k += 1
        out[i] = k


@correct(
    lambda r: (integers(r, 0, 60, 12), zeros(12, dtype=np.int64)),
    lambda n, out: np.array([[0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55][v % 11] for v in n]),
)
@cuda.jit
def multiple_assignment(n, out):
    """Both right-hand sides are taken before either variable changes."""
    i = cuda.grid(1)
    if i < n.size:
        a, b = 0, 1
        for _ in range(n[i] % 11):
            a, b = b, a + b
        out[i] = a


# Types


def wrapped(x, a, b, c):
    wide = x.astype(np.int64) * 1000003
    return wide.astype(np.int32), (wide & 0xFF).astype(np.uint8), (x + 100).astype(np.int8)


@correct(
    lambda r: (
        integers(r, -4000, 4000, 40),
        zeros(40, dtype=np.int32),
        zeros(40, dtype=np.uint8),
        zeros(40, dtype=np.int8),
    ),
    wrapped,
    grid=2,
)
@cuda.jit
def integers_wrap(x, a, b, c):
    """Arithmetic is done in 64 bits; what is stored keeps its low bits."""
    i = cuda.grid(1)
    if i < x.size:
        a[i] = x[i] * 1000003
        b[i] = uint8(x[i] * 1000003)
        c[i] = int8(x[i] + 100)


def bits(x, out):
    rows = []
    for v in x.tolist():
        text = f"{v:032b}"
        rows.append(
            [text.count("1"), 32 - v.bit_length(), int(text[::-1], 2), (v & -v).bit_length()]
        )
    return np.array(rows)


@correct(lambda r: (integers(r, 0, 2**32, 30, dtype=np.uint32), zeros(30, 4, dtype=np.int64)), bits)
@cuda.jit
def bit_operations(x, out):
    """Population count, leading zeros, reversal and first set bit of 32-bit words."""
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.clz(x[i])
        out[i, 2] = uint32(cuda.brev(x[i]))
        out[i, 3] = cuda.ffs(x[i])


def floats(x, out):
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        columns = [
            x * x + 1,
            np.sqrt(np.abs(x)),
            np.sin(x) * 0.5,
            1 / wide,
            x // 1,
            np.abs(x) % 0.75,
        ]
        return np.stack([c.astype(np.float32) for c in columns], 1)


@correct(lambda r: (np.append(f32(r, 49), np.float32(0)), zeros(50, 6)), floats, grid=2)
@cuda.jit
def float_operations(x, out):
    """fma, functions of math, and a division by zero, which is an infinity and no error."""
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.fma(x[i], x[i], float32(1))
        out[i, 1] = math.sqrt(abs(x[i]))
        out[i, 2] = cuda.selp(i >= 0, math.sin(x[i]) * 0.5, 0.0)
        out[i, 3] = 1.0 / x[i]
        out[i, 4] = math.floor(x[i])
        out[i, 5] = math.fmod(abs(x[i]), float32(0.75))


@correct(
    lambda r: (f32(r, 45).astype(np.float16), zeros(45, dtype=np.float16)),
    lambda x, out: x * x + x,
    grid=2,
)
@cuda.jit
def half_precision(x, out):
    """float16 in, float16 out; every operation rounds to half."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i] + x[i]


@correct(
    lambda r: (f32(r, 60), zeros(60), zeros(60, dtype=np.int32)),
    lambda x, out, order: (x.reshape(2, 30)[:, ::-1].ravel(), np.tile(np.arange(30)[::-1], 2)),
    grid=2,
    block=30,
    shared=30 * 8,
)
@cuda.jit
def dynamic_two_views(x, out, order):
    """Dynamic shared memory in two parts that do not overlap, of two types."""
    values = cuda.shared.array(0, float32)[:30]
    numbers = cuda.shared.array(0, int32)[30:]
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    values[t] = x[i]
    numbers[t] = t
    cuda.syncthreads()
    out[i] = values[29 - t]
    order[i] = numbers[29 - t]


@correct(
    lambda r: (f32(r, 33), zeros(33), zeros(33)), lambda x, up, down: (x[::-1], -x[::-1]), block=33
)
@cuda.jit
def two_arrays(x, up, down):
    """Two shared arrays of one shape and type are two arrays."""
    a = cuda.shared.array(33, float32)
    b = cuda.shared.array(33, float32)
    t = cuda.threadIdx.x
    a[t], b[t] = x[t], -x[t]
    cuda.syncthreads()
    up[t], down[t] = a[32 - t], b[32 - t]


@correct(
    lambda r: (f32(r, 77), zeros(77)),
    lambda x, out: np.where(np.arange(77) < 76, 2 * x, x),
    block=20,
)
@cuda.jit
def vector_loads(x, out):
    """Four floats at a time where the address is a multiple of 16 bytes, the rest one by one."""
    i = 4 * cuda.grid(1)
    if i + 4 <= x.size:
        a, b, c, d = load_float32x4(x, i)
        store_float32x4(out, i, 2 * a, 2 * b, 2 * c, 2 * d)
    else:
        for k in range(i, x.size):
            out[k] = x[k]
