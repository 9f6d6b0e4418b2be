"""Patterns with a barrier that public kernels have in common, written anew; none has a race.

`@pattern(arguments, oracle, ...)` registers one: the oracle says what the last argument holds
afterwards. `warnings`: a thread returns before a barrier, which older GPUs do not allow.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float32, int32

from . import FULL, cuda, f32, integers, zeros


class Pattern(NamedTuple):
    """A kernel with its launch; `arguments` are drawn from a generator."""

    kernel: object
    arguments: object
    oracle: object
    grid: object
    block: object
    shared: int
    warnings: bool


PATTERNS: dict[str, Pattern] = {}


def pattern(arguments, oracle, grid=1, block=64, shared=0, warnings=False):
    """Registers a kernel under its name."""

    def register(kernel):
        made = Pattern(kernel, arguments, oracle, grid, block, shared, warnings)
        PATTERNS[kernel.py_func.__name__] = made
        return kernel

    return register


def vector(n, m=None):
    return lambda r: (f32(r, n), zeros(m or n))


@pattern(vector(100, 2), lambda x, out: [x[:64].sum(), x[64:].sum()], grid=2, warnings=True)
@cuda.jit
def early_return_then_reduce(x, out):
    """Threads past the end return; thread 0 adds up what the others wrote."""
    s = cuda.shared.array(64, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i >= x.size:
        return
    s[t] = x[i]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(min(64, x.size - i)):
            total += s[k]
        out[cuda.blockIdx.x] = total


@pattern(vector(1000, 1), lambda x, out: [x.sum()], grid=3, block=128)
@cuda.jit
def strides_then_tree_then_atomic(x, out):
    """A grid-stride loop, a tree in shared memory, one atomic for each block."""
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        own += x[i]
    s[t] = own
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


@cuda.jit(device=True)
def sum_of_warp(value):
    """The sum over the lanes of a warp, in lane 0."""
    for k in range(5):
        value += cuda.shfl_down_sync(FULL, value, 16 >> k)
    return value


@pattern(vector(256, 2), lambda x, out: x.reshape(2, 128).sum(1), grid=2, block=128)
@cuda.jit
def shuffles_then_first_warp(x, out):
    """Each warp adds by shuffles, the first one adds the sums of the warps."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    value = sum_of_warp(x[cuda.grid(1)])
    if t % 32 == 0:
        s[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = sum_of_warp(s[t] if t < cuda.blockDim.x // 32 else float32(0))
        if t == 0:
            out[cuda.blockIdx.x] = value


T = 8
WIDE = T + 2


@pattern(
    lambda r: (f32(r, 13, 21), f32(r, 21, 9), zeros(13, 9)),
    lambda a, b, c: a @ b,
    grid=(2, 2),
    block=(T, T),
)
@cuda.jit
def matmul_with_guards(a, b, c):
    """The tile's threads outside of the matrices load zeros and pass every barrier."""
    sa, sb = cuda.shared.array((T, T), float32), cuda.shared.array((T, T), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for k in range((a.shape[1] + T - 1) // T):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and tx + k * T < a.shape[1]:
            sa[ty, tx] = a[y, tx + k * T]
        if x < b.shape[1] and ty + k * T < b.shape[0]:
            sb[ty, tx] = b[ty + k * T, x]
        cuda.syncthreads()
        for j in range(T):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = acc


def box(a, out):
    padded = np.pad(a, 1)
    return sum(padded[i : i + a.shape[0], j : j + a.shape[1]] for i in range(3) for j in range(3))


@pattern(lambda r: (f32(r, 13, 11), zeros(13, 11)), box, grid=(2, 2), block=(T, T))
@cuda.jit
def stencil_with_halo(a, out):
    """The tile and its halo are loaded by strides over it."""
    s = cuda.shared.array((WIDE, WIDE), float32)
    x, y = cuda.grid(2)
    row, column = cuda.blockIdx.y * T - 1, cuda.blockIdx.x * T - 1
    for k in range(cuda.threadIdx.y * T + cuda.threadIdx.x, WIDE * WIDE, T * T):
        i, j = row + k // WIDE, column + k % WIDE
        inside = i >= 0 and i < a.shape[0] and j >= 0 and j < a.shape[1]
        s[k // WIDE, k % WIDE] = a[i, j] if inside else float32(0)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = float32(0)
        for i in range(3):
            for j in range(3):
                total += s[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@pattern(vector(150), lambda x, out: np.convolve(x, np.ones(5), "same"), grid=3)
@cuda.jit
def radius_two_in_one_dimension(x, out):
    """The outer threads of the block load the halo."""
    s = cuda.shared.array(68, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    s[t + 2] = x[i] if i < x.size else float32(0)
    if t < 2:
        s[t] = x[i - 2] if i >= 2 else float32(0)
        s[t + 66] = x[i + 64] if i + 64 < x.size else float32(0)
    cuda.syncthreads()
    if i < x.size:
        out[i] = s[t] + s[t + 1] + s[t + 2] + s[t + 3] + s[t + 4]


@pattern(vector(64), lambda x, out: np.cumsum(x))
@cuda.jit
def scan_with_two_buffers(x, out):
    """Hillis and Steele's scan, each level from one buffer into the other."""
    s = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    now = 0
    s[0, t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < 64:
        s[1 - now, t] = s[now, t] + (s[now, t - d] if t >= d else float32(0))
        now = 1 - now
        cuda.syncthreads()
        d *= 2
    out[t] = s[now, t]


@pattern(vector(128), lambda x, out: np.concatenate([[0], np.cumsum(x)[:-1]]))
@cuda.jit
def scan_up_and_down(x, out):
    """Blelloch's exclusive scan: up the tree, and down again."""
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[2 * t], s[2 * t + 1] = x[2 * t], x[2 * t + 1]
    step = 1
    d = 64
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1]
        step *= 2
        d //= 2
    if t == 0:
        s[127] = 0
    d = 1
    while d < 128:
        step //= 2
        cuda.syncthreads()
        if t < d:
            low, high = step * (2 * t + 1) - 1, step * (2 * t + 2) - 1
            below = s[low]
            s[low] = s[high]
            s[high] += below
        d *= 2
    cuda.syncthreads()
    out[2 * t], out[2 * t + 1] = s[2 * t], s[2 * t + 1]


@pattern(lambda r: (f32(r, 19, 13), zeros(13, 19)), lambda a, out: a.T, (2, 3), (T, T))
@cuda.jit
def transposed_by_tiles(a, out):
    """Read by rows, written by rows, with a column of padding."""
    s = cuda.shared.array((T, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * T + tx, cuda.blockIdx.y * T + ty
    if y < a.shape[0] and x < a.shape[1]:
        s[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * T + tx, cuda.blockIdx.x * T + ty
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = s[tx, ty]


@pattern(
    lambda r: (integers(r, 0, 40, 500), zeros(40, dtype=np.int32)),
    lambda x, h: np.bincount(x, minlength=40),
    grid=4,
    block=48,
)
@cuda.jit
def histogram_of_its_own(x, h):
    """Each block counts in shared memory, and adds its counts to the others'."""
    s = cuda.shared.array(40, int32)
    t = cuda.threadIdx.x
    for k in range(t, 40, cuda.blockDim.x):
        s[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    for k in range(t, 40, cuda.blockDim.x):
        cuda.atomic.add(h, k, s[k])


@pattern(
    lambda r: (f32(r, 256), zeros(4), zeros(1, dtype=np.int32), zeros(1)),
    lambda x, part, ticket, out: [x.sum()],
    grid=4,
)
@cuda.jit
def last_block_adds_up(x, part, ticket, out):
    """Fence, ticket, and the block that comes last adds the parts of all."""
    s = cuda.shared.array(64, float32)
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half >>= 1
    if t == 0:
        part[cuda.blockIdx.x] = s[0]
        cuda.threadfence()
        last[0] = cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and t == 0:
        cuda.threadfence()
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += part[k]
        out[0] = total


@pattern(vector(64), lambda x, out: np.sort(x))
@cuda.jit
def sorted_by_a_bitonic_network(x, out):
    """Compare and swap, with a barrier behind each step."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    size = 2
    while size <= 64:
        far = size // 2
        while far > 0:
            other = t ^ far
            if other > t:
                up = (t & size) == 0
                if (s[t] > s[other]) == up:
                    s[t], s[other] = s[other], s[t]
            cuda.syncthreads()
            far //= 2
        size *= 2
    out[t] = s[t]


@pattern(vector(64), lambda x, out: np.sort(x), block=32)
@cuda.jit
def sorted_by_odd_and_even_pairs(x, out):
    """Odd-even transposition sort, two elements for each thread."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[2 * t], s[2 * t + 1] = x[2 * t], x[2 * t + 1]
    cuda.syncthreads()
    for step in range(64):
        k = 2 * t + step % 2
        if k + 1 < 64 and s[k] > s[k + 1]:
            s[k], s[k + 1] = s[k + 1], s[k]
        cuda.syncthreads()
    out[2 * t], out[2 * t + 1] = s[2 * t], s[2 * t + 1]


def softmax(a, out):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pattern(lambda r: (f32(r, 5, 150), zeros(5, 150)), softmax, grid=5)
@cuda.jit
def softmax_of_rows(a, out):
    """A block for each row: the largest, the sum, the quotients, in one shared array."""
    s = cuda.shared.array(64, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    top = float32(-1e30)
    for j in range(t, a.shape[1], 64):
        top = max(top, a[row, j])
    s[t] = top
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] = max(s[t], s[t + half])
        cuda.syncthreads()
        half //= 2
    top = s[0]
    cuda.syncthreads()
    total = float32(0)
    for j in range(t, a.shape[1], 64):
        total += math.exp(a[row, j] - top)
    s[t] = total
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    for j in range(t, a.shape[1], 64):
        out[row, j] = math.exp(a[row, j] - top) / s[0]


@pattern(
    lambda r: (f32(r, 90, 3), zeros(90)),
    lambda p, out: [np.abs(p - one).sum() for one in p],
    grid=3,
    block=32,
)
@cuda.jit
def all_pairs_by_tiles(p, out):
    """Each tile of bodies is loaded once by the block, and used by all of its threads."""
    s = cuda.shared.array((32, 3), float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    total = float32(0)
    for start in range(0, p.shape[0], 32):
        j = start + t
        if j < p.shape[0]:
            for k in range(3):
                s[t, k] = p[j, k]
        cuda.syncthreads()
        if i < p.shape[0]:
            for j in range(min(32, p.shape[0] - start)):
                for k in range(3):
                    total += abs(s[j, k] - p[i, k])
        cuda.syncthreads()
    if i < p.shape[0]:
        out[i] = total


@pattern(
    lambda r: (f32(r, 12, 100), f32(r, 100), zeros(12)), lambda a, x, y: a @ x, grid=12, block=32
)
@cuda.jit
def row_times_vector(a, x, y):
    """A warp for each row, whose lanes are added in shared memory with syncwarp."""
    s = cuda.shared.array(32, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    own = float32(0)
    for j in range(t, a.shape[1], 32):
        own += a[row, j] * x[j]
    s[t] = own
    cuda.syncwarp()
    step = 16
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncwarp()
        step //= 2
    if t == 0:
        y[row] = s[0]


def kept(x, out):
    chosen = x[x > 0]
    return np.concatenate([chosen, np.zeros(x.size - chosen.size)])


@pattern(vector(64), kept)
@cuda.jit
def compacted_by_votes(x, out):
    """Each lane's place comes from a ballot, each warp's from the sums before it."""
    s = cuda.shared.array(2, int32)
    t = cuda.threadIdx.x
    votes = cuda.ballot_sync(FULL, x[t] > 0)
    if t % 32 == 0:
        s[t // 32] = cuda.popc(votes)
    cuda.syncthreads()
    before = cuda.popc(votes & ((1 << (t % 32)) - 1))
    if t >= 32:
        before += s[0]
    if x[t] > 0:
        out[before] = x[t]


def halves(r):
    u = zeros(2, 16, 16)
    u[:, 1:-1, 1:-1] = f32(r, 14, 14)
    return u, zeros(14, 14)


def four_rounds(u, f):
    now = u[0].copy()
    for _ in range(4):
        now[1:-1, 1:-1] = (now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]) / 4
    return now[1:-1, 1:-1]


@pattern(halves, four_rounds, block=(14, 14))
@cuda.jit
def rounds_in_global_memory(u, f):
    """Jacobi's rounds of one block in global memory, from one half of an array into the other."""
    j, i = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    now = 0
    for _ in range(4):
        around = u[now, i - 1, j] + u[now, i + 1, j] + u[now, i, j - 1] + u[now, i, j + 1]
        u[1 - now, i, j] = around / 4
        now = 1 - now
        cuda.syncthreads()
    f[i - 1, j - 1] = u[now, i, j]


@pattern(
    lambda r: (f32(r, 256), zeros(2, dtype=np.int32), zeros(4)),
    lambda x, gate, out: np.full(4, x[::64].sum()),
    grid=4,
)
@cuda.jit
def barrier_of_the_grid(x, gate, out):
    """All blocks meet at an atomic counter before they read what the others wrote."""
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        out[b] = x[b * 64]
    cuda.syncthreads()
    if t == 0:
        cuda.threadfence()
        cuda.atomic.add(gate, 0, 1)
        while cuda.atomic.add(gate, 0, 0) < cuda.gridDim.x:
            pass
        cuda.threadfence()
        total = float32(0)
        for k in range(4):
            total += out[k]
        cuda.threadfence()
        cuda.atomic.add(gate, 1, 1)
        while cuda.atomic.add(gate, 1, 0) < cuda.gridDim.x:
            pass
        cuda.threadfence()
        out[b] = total


@pattern(vector(256, 64), lambda x, out: x.reshape(4, 64)[:, ::-1].sum(0))
@cuda.jit
def chunks_with_two_barriers(x, out):
    """One buffer for every chunk: filled, used, and only then filled again."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for start in range(0, x.size, 64):
        s[t] = x[start + t]
        cuda.syncthreads()
        acc += s[63 - t]
        cuda.syncthreads()
    out[t] = acc


@pattern(vector(256, 64), lambda x, out: x.reshape(4, 64)[:, ::-1].sum(0))
@cuda.jit
def two_buffers_with_one_barrier(x, out):
    """While one buffer is used, the other is filled."""
    s = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    acc = float32(0)
    for chunk in range(4):
        cuda.syncthreads()
        if chunk < 3:
            s[(chunk + 1) % 2, t] = x[(chunk + 1) * 64 + t]
        acc += s[chunk % 2, 63 - t]
    out[t] = acc


@pattern(vector(64), lambda x, out: x - x.mean(), shared=64 * 4)
@cuda.jit
def mean_in_dynamic_memory(x, out):
    """The sum in dynamic shared memory, which every thread reads behind a barrier."""
    s = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    out[t] = x[t] - s[0] / float32(64)


@pattern(vector(70), lambda x, out: 2 * x, grid=2, warnings=True)
@cuda.jit
def return_of_whole_warps(x, out):
    """Warps without work return, the others go on to their barrier."""
    s = cuda.shared.array(64, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i >= x.size:
        return
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = 2 * s[t]


@pattern(
    lambda r: (integers(r, 0, 99, 64), zeros(1, dtype=np.int64)),
    lambda x, out: [np.argmax(x)],
)
@cuda.jit
def place_of_the_largest(x, out):
    """A tree of pairs, value and place, where the lower place wins."""
    value, place = cuda.shared.array(64, int32), cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    value[t], place[t] = x[t], t
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            a, b = value[t], value[t + half]
            if b > a or (b == a and place[t + half] < place[t]):
                value[t], place[t] = b, place[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[0] = place[0]
