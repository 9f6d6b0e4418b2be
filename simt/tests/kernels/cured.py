"""Kernels with a race, the cure that fits each, and their twins to which it was applied.

`@races(cure, ...)` registers a faulty kernel: `cure` is a pattern that the cure of every race
must match; {A} in it is the line with the comment `# A`. `@mended(faulty)` registers its twin, or
several that are launched one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numba import float32, int32

from . import FULL, cuda, f32, integers, zeros

N = 64


@dataclass
class Pair:
    """A faulty kernel, its cure, and the twins that are right."""

    kernel: object
    cure: str
    arguments: Callable
    oracle: Callable  # what the last argument holds after the mended launches
    grid: int = 1
    block: int = N
    helper: object = None  # the device function with the marked lines
    twins: list = field(default_factory=list)


PAIRS: dict[str, Pair] = {}


def races(cure, arguments, oracle, grid=1, block=N, helper=None):
    """Registers a faulty kernel under its name."""

    def register(kernel):
        PAIRS[kernel.py_func.__name__] = Pair(kernel, cure, arguments, oracle, grid, block, helper)
        return kernel

    return register


def mended(faulty):
    """Registers a twin of the faulty kernel; launched in the order of their registration."""

    def register(kernel):
        PAIRS[faulty.py_func.__name__].twins.append(kernel)
        return kernel

    return register


def vector(n, m=None):
    return lambda r: (f32(r, n), zeros(m or n))


def keys(n, bins, dtype=np.int64):
    return lambda r: (integers(r, 0, bins, n), zeros(bins, dtype=dtype))


def count(x, h):
    return np.bincount(x, minlength=h.size)


def whole(n, low=0, high=9, start=0, dtype=np.int64):
    """Integers, and one cell that holds `start`."""
    return lambda r: (integers(r, low, high, n, dtype=dtype), np.full(1, start, dtype))


def tables(r):
    return integers(r, 0, 4, N), zeros(4, 1, dtype=np.int64)


def count_rows(x, h):
    return np.bincount(x, minlength=4).reshape(4, 1)


# Lost updates: the operation tells which atomic


@races(r"barrier does not help.*cuda\.atomic\.add\(n, 0, 1\)", whole(N), lambda x, n: [N], block=N)
@cuda.jit
def counter_in_global(x, n):
    n[0] += 1


@mended(counter_in_global)
@cuda.jit
def counter_in_global_mended(x, n):
    cuda.atomic.add(n, 0, 1)


@races(r"cuda\.atomic\.add\(s, 0, x\[t\]\)", whole(N), lambda x, n: [x.sum()])
@cuda.jit
def sum_in_shared(x, n):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    s[0] += x[t]
    cuda.syncthreads()
    if t == 0:
        n[0] = s[0]


@mended(sum_in_shared)
@cuda.jit
def sum_in_shared_mended(x, n):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, 0, x[t])
    cuda.syncthreads()
    if t == 0:
        n[0] = s[0]


@races(r"cuda\.atomic\.add\(h, x\[cuda\.grid\(1\)\], 1\)", keys(2 * N, 5), count, grid=2)
@cuda.jit
def histogram_in_one_line(x, h):
    h[x[cuda.grid(1)]] += 1


@mended(histogram_in_one_line)
@cuda.jit
def histogram_in_one_line_mended(x, h):
    cuda.atomic.add(h, x[cuda.grid(1)], 1)


@races(r"cuda\.atomic\.add\(h, b, \.\.\.\)", keys(2 * N, 5), count, grid=2)
@cuda.jit
def histogram_in_three_lines(x, h):
    b = x[cuda.grid(1)]
    old = h[b]
    new = old + 1
    h[b] = new


@mended(histogram_in_three_lines)
@cuda.jit
def histogram_in_three_lines_mended(x, h):
    b = x[cuda.grid(1)]
    cuda.atomic.add(h, b, 1)


@races(r"cuda\.atomic\.add\(s, x\[i\], \.\.\.\)", keys(5 * N, 7, np.int32), count)
@cuda.jit
def histogram_of_strides(x, h):
    s = cuda.shared.array(7, int32)
    t = cuda.threadIdx.x
    if t < 7:
        s[t] = 0
    cuda.syncthreads()
    for i in range(t, x.size, cuda.blockDim.x):
        s[x[i]] = 1 + s[x[i]]
    cuda.syncthreads()
    if t < 7:
        cuda.atomic.add(h, t, s[t])


@mended(histogram_of_strides)
@cuda.jit
def histogram_of_strides_mended(x, h):
    s = cuda.shared.array(7, int32)
    t = cuda.threadIdx.x
    if t < 7:
        s[t] = 0
    cuda.syncthreads()
    for i in range(t, x.size, cuda.blockDim.x):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    if t < 7:
        cuda.atomic.add(h, t, s[t])


@races(r"cuda\.atomic\.add\(h, \(x\[t\], 0\), 2\)", tables, lambda x, h: 2 * count_rows(x, h))
@cuda.jit
def counted_in_two_branches(x, h):
    t = cuda.threadIdx.x
    if t % 2:
        h[x[t], 0] += 2
    else:
        h[x[t], 0] += 2


@mended(counted_in_two_branches)
@cuda.jit
def counted_in_two_branches_mended(x, h):
    t = cuda.threadIdx.x
    cuda.atomic.add(h, (x[t], 0), 2)


@races(r"cuda\.atomic\.max\(m, 0, \.\.\.\)", whole(N, -50, 90, -99), lambda x, m: [x.max()])
@cuda.jit
def largest(x, m):
    m[0] = max(m[0], x[cuda.threadIdx.x])


@mended(largest)
@cuda.jit
def largest_mended(x, m):
    cuda.atomic.max(m, 0, x[cuda.threadIdx.x])


@races(
    r"look and write in one: cuda\.atomic\.min\(m, 0, ",
    whole(N, -50, 90, 99),
    lambda x, m: [x.min()],
)
@cuda.jit
def smallest_after_a_look(x, m):
    t = cuda.threadIdx.x
    if x[t] < m[0]:
        m[0] = x[t]


@mended(smallest_after_a_look)
@cuda.jit
def smallest_after_a_look_mended(x, m):
    cuda.atomic.min(m, 0, x[cuda.threadIdx.x])


@races(r"cuda\.atomic\.add\(n, 0, -\(x\[t\]\)\)", whole(N, start=500), lambda x, n: [500 - x.sum()])
@cuda.jit
def stock(x, n):
    t = cuda.threadIdx.x
    n[0] -= x[t]


@mended(stock)
@cuda.jit
def stock_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.add(n, 0, -x[t])


@races(
    r"cuda\.atomic\.sub\(n, 0, x\[t\]\)",
    whole(N, start=500, dtype=np.float32),
    lambda x, n: [500 - x.sum()],
)
@cuda.jit
def stock_of_floats(x, n):
    t = cuda.threadIdx.x
    n[0] -= x[t]


@mended(stock_of_floats)
@cuda.jit
def stock_of_floats_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.sub(n, 0, x[t])


@races(
    r"cuda\.atomic\.or_\(n, 0, 1 << x\[t\]\)",
    whole(N),
    lambda x, n: [np.bitwise_or.reduce(1 << x)],
)
@cuda.jit
def marks(x, n):
    t = cuda.threadIdx.x
    n[0] |= 1 << x[t]


@mended(marks)
@cuda.jit
def marks_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.or_(n, 0, 1 << x[t])


@races(
    r"cuda\.atomic\.xor\(n, 0, x\[t\]\)",
    whole(N),
    lambda x, n: [np.bitwise_xor.reduce(x)],
)
@cuda.jit
def parity(x, n):
    t = cuda.threadIdx.x
    n[0] ^= x[t]


@mended(parity)
@cuda.jit
def parity_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.xor(n, 0, x[t])


@races(
    r"repeat cuda\.atomic\.cas.*element of its own",
    lambda r: (integers(r, 1, 3, 16), np.ones(1, np.int64)),
    lambda x, n: [x.prod()],
    block=16,
)
@cuda.jit
def product(x, n):
    n[0] *= x[cuda.threadIdx.x]


@mended(product)
@cuda.jit
def product_mended(x, n):
    own = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    own[t] = x[t]
    cuda.syncthreads()
    if t == 0:
        for k in range(16):
            n[0] *= own[k]


@races(
    r"cuda\.atomic\.cas\(owner, 0, ",
    lambda r: (zeros(1, dtype=np.int32), zeros(1, dtype=np.int32)),
    lambda owner, n: [1],
)
@cuda.jit
def claimed_after_a_look(owner, n):
    i = cuda.threadIdx.x + 1
    if owner[0] == 0:
        owner[0] = i
        cuda.atomic.add(n, 0, 1)


@mended(claimed_after_a_look)
@cuda.jit
def claimed_after_a_look_mended(owner, n):
    i = cuda.threadIdx.x + 1
    if cuda.atomic.cas(owner, 0, 0, i) == 0:
        cuda.atomic.add(n, 0, 1)


@races(r"no atomic for int8", whole(N, dtype=np.int8), lambda x, n: [N])
@cuda.jit
def counter_of_bytes(x, n):
    n[0] += 1


@mended(counter_of_bytes)
@cuda.jit
def counter_of_bytes_mended(x, n):
    total = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        n[0] = total[0]


# In place: read, wait, write


def summed(x, out):
    return np.cumsum(x.astype(np.float64))


@races(r"read into a variable first, then cuda\.syncthreads\(\), then write", vector(N), summed)
@cuda.jit
def scan_in_one_line(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < N:
        if t >= d:
            s[t] += s[t - d]
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]


@mended(scan_in_one_line)
@cuda.jit
def scan_in_one_line_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < N:
        below = float32(0)
        if t >= d:
            below = s[t - d]
        cuda.syncthreads()
        s[t] += below
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]


@races(
    r"then cuda\.syncthreads\(\), then write, and again at the end of the round", vector(N), summed
)
@cuda.jit
def scan_without_any_barrier(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < N:
        if t >= d:
            s[t] += s[t - d]
        d *= 2
    out[t] = s[t]


@mended(scan_without_any_barrier)
@cuda.jit
def scan_without_any_barrier_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    for level in range(6):
        below = s[t - (1 << level)] if t >= 1 << level else float32(0)
        cuda.syncthreads()
        s[t] += below
        cuda.syncthreads()
    out[t] = s[t]


@races(
    r"have read in line {A} before one writes in line {B}: put cuda\.syncthreads", vector(N), summed
)
@cuda.jit
def scan_in_two_lines(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < N:
        below = s[t - d] if t >= d else float32(0)  # A
        s[t] += below  # B
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]


mended(scan_in_two_lines)(scan_without_any_barrier_mended)


@races(r"cuda\.syncwarp\(\)", vector(32), summed, block=32)
@cuda.jit
def scan_of_a_warp(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    for level in range(5):
        if t >= 1 << level:
            s[t] += s[t - (1 << level)]
        cuda.syncwarp()
    out[t] = s[t]


@mended(scan_of_a_warp)
@cuda.jit
def scan_of_a_warp_mended(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    for level in range(5):
        below = s[t - (1 << level)] if t >= 1 << level else float32(0)
        cuda.syncwarp()
        s[t] += below
        cuda.syncwarp()
    out[t] = s[t]


def smooth(x, out):
    return x + np.roll(x, -1)


@races(r"read into a variable first, then cuda\.syncthreads\(\), then write\.", vector(N), smooth)
@cuda.jit
def stencil_in_shared(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    s[t] = s[t] + s[(t + 1) % N]
    cuda.syncthreads()
    out[t] = s[t]


@mended(stencil_in_shared)
@cuda.jit
def stencil_in_shared_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    value = s[t] + s[(t + 1) % N]
    cuda.syncthreads()
    s[t] = value
    cuda.syncthreads()
    out[t] = s[t]


@races(
    r"write the results into a second array",
    lambda r: (f32(r, 100), zeros(100)),
    lambda x, out: np.concatenate([x[:1], x[:-2] + x[2:], x[-1:]]),
    grid=4,
    block=32,
)
@cuda.jit
def stencil_of_blocks(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        x[i] = x[i - 1] + x[i + 1]


@mended(stencil_of_blocks)
@cuda.jit
def stencil_of_blocks_mended(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i - 1] + x[i + 1] if 0 < i < x.size - 1 else x[i]


@races(r"second array", vector(N), lambda x, out: x[::-1], grid=2, block=32)
@cuda.jit
def reverse_in_place(x, out):
    i = cuda.grid(1)
    value = x[x.size - 1 - i]
    x[i] = value


@mended(reverse_in_place)
@cuda.jit
def reverse_in_place_mended(x, out):
    i = cuda.grid(1)
    out[i] = x[x.size - 1 - i]


# Reductions


def total(x, out):
    return [x.sum(dtype=np.float64)]


@races(r"cuda\.syncthreads\(\) at the end of the round", vector(128, 1), total, block=128)
@cuda.jit
def tree_without_barrier(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        step //= 2
    if t == 0:
        out[0] = s[0]


@mended(tree_without_barrier)
@cuda.jit
def tree_without_barrier_mended(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = s[0]


@races(r"cuda\.syncthreads\(\) at the end of the round", vector(N, 1), total)
@cuda.jit
def tree_of_strides_without_barrier(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    for level in range(6):
        step = 1 << level
        if t % (2 * step) == 0:
            s[t] += s[t + step]
    if t == 0:
        out[0] = s[0]


@mended(tree_of_strides_without_barrier)
@cuda.jit
def tree_of_strides_without_barrier_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    for level in range(6):
        step = 1 << level
        if t % (2 * step) == 0:
            s[t] += s[t + step]
        cuda.syncthreads()
    if t == 0:
        out[0] = s[0]


@races(r"cuda\.syncthreads\(\) between line {A} and line {B}", vector(128, 1), total, block=128)
@cuda.jit
def tree_begun_too_early(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]  # A
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]  # B
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = s[0]


mended(tree_begun_too_early)(tree_without_barrier_mended)


@races(r"cuda\.syncwarp\(\) at the end of the round", vector(N, 1), total)
@cuda.jit
def last_warp_in_lockstep(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        for level in range(6):
            step = 32 >> level
            if t < step:
                s[t] += s[t + step]
    if t == 0:
        out[0] = s[0]


@mended(last_warp_in_lockstep)
@cuda.jit
def last_warp_in_lockstep_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        for level in range(6):
            step = 32 >> level
            if t < step:
                s[t] += s[t + step]
            cuda.syncwarp()
    if t == 0:
        out[0] = s[0]


@races(
    r"cuda\.syncwarp\(\) between line {A} and line {B}",
    vector(N, 16),
    lambda x, out: x.reshape(4, 16).sum(0),
)
@cuda.jit
def unrolled_in_lockstep(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]  # A
        if t < 16:
            out[t] = s[t] + s[t + 16]  # B


@mended(unrolled_in_lockstep)
@cuda.jit
def unrolled_in_lockstep_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        cuda.syncwarp()
        if t < 16:
            out[t] = s[t] + s[t + 16]


# Tiles

TILE = 8
PADDED = TILE + 1


def matrices(r):
    return f32(r, 13, 19), f32(r, 19, 10), zeros(13, 10)


def product_of(a, b, c):
    return a @ b


def matmul(first, second):
    """A tiled matmul with or without its two barriers, which is compiled with these constants."""

    @cuda.jit
    def tiled(a, b, c):
        sa = cuda.shared.array((TILE, PADDED), float32)
        sb = cuda.shared.array((TILE, PADDED), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        j, i = cuda.grid(2)
        acc = float32(0)
        for start in range(0, a.shape[1], TILE):
            sa[x, y] = a[i, start + x] if i < a.shape[0] and start + x < a.shape[1] else 0  # A
            sb[x, y] = b[start + y, j] if start + y < b.shape[0] and j < b.shape[1] else 0
            if first:
                cuda.syncthreads()
            for k in range(TILE):
                acc += sa[k, y] * sb[x, k]  # B
            if second:
                cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] = acc

    return tiled


for name, first, second, cure in (
    (
        "tile_used_too_early",
        False,
        True,
        r"between line \d+ and line {B}, where every thread of the block passes it\.$",
    ),
    ("tile_overwritten", True, False, r"at the end of the round, behind line {B}"),
    (
        "tile_without_barriers",
        False,
        False,
        r"between line \d+ and line {B}.*again at the end of the round",
    ),
):
    PAIRS[name] = Pair(matmul(first, second), cure, matrices, product_of, (2, 2), (TILE, TILE))
    PAIRS[name].twins.append(matmul(True, True))


@races(
    r"cuda\.syncthreads\(\) at the end of the round",
    vector(4 * N, N),
    lambda x, out: x.reshape(4, N)[:, ::-1].sum(0),
)
@cuda.jit
def double_buffer_with_one_barrier_less(x, out):
    s = cuda.shared.array((2, N), float32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    cuda.syncthreads()
    acc = float32(0)
    for chunk in range(4):
        now = chunk % 2
        if chunk < 3:
            s[1 - now, t] = x[(chunk + 1) * N + t]
        acc += s[now, N - 1 - t]
    out[t] = acc


@mended(double_buffer_with_one_barrier_less)
@cuda.jit
def double_buffer_with_one_barrier_less_mended(x, out):
    s = cuda.shared.array((2, N), float32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    cuda.syncthreads()
    acc = float32(0)
    for chunk in range(4):
        now = chunk % 2
        if chunk < 3:
            s[1 - now, t] = x[(chunk + 1) * N + t]
        acc += s[now, N - 1 - t]
        cuda.syncthreads()
    out[t] = acc


@races(
    r"line {C} stands in a branch", vector(4 * N, N), lambda x, out: x.reshape(4, N)[:, ::-1].sum(0)
)
@cuda.jit
def barrier_in_even_rounds(x, out):
    s = cuda.shared.array((2, N), float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for chunk in range(4):
        s[chunk % 2, t] = x[chunk * N + t]
        if chunk % 2 == 0:
            cuda.syncthreads()  # C
        acc += s[chunk % 2, N - 1 - t]
    out[t] = acc


@mended(barrier_in_even_rounds)
@cuda.jit
def barrier_in_even_rounds_mended(x, out):
    s = cuda.shared.array((2, N), float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for chunk in range(4):
        s[chunk % 2, t] = x[chunk * N + t]
        cuda.syncthreads()
        acc += s[chunk % 2, N - 1 - t]
    out[t] = acc


@races(
    r"cuda\.syncthreads\(\) between line {A} and line {B}",
    lambda r: (f32(r, 8, 8), zeros(8, 8)),
    lambda a, out: a.T,
    block=(8, 8),
)
@cuda.jit
def transposed_too_early(a, out):
    s = cuda.shared.array((8, 9), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = a[y, x]  # A
    out[y, x] = s[x, y]  # B


@mended(transposed_too_early)
@cuda.jit
def transposed_too_early_mended(a, out):
    s = cuda.shared.array((8, 9), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = s[x, y]


@races(
    r"cuda\.syncthreads\(\) (at the end of the round|between line {A} and line {B})",
    vector(N),
    lambda x, out: np.sort(x),
)
@cuda.jit
def bitonic_without_barrier(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    for a in range(1, 7):
        for b in range(a):
            far = 1 << (a - 1 - b)
            other = t ^ far
            if other > t:
                low, high = s[t], s[other]
                if (low > high) == (t & (1 << a) == 0):
                    s[t] = high
                    s[other] = low  # A
    out[t] = s[t]  # B


@mended(bitonic_without_barrier)
@cuda.jit
def bitonic_without_barrier_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    for a in range(1, 7):
        for b in range(a):
            far = 1 << (a - 1 - b)
            other = t ^ far
            if other > t:
                low, high = s[t], s[other]
                if (low > high) == (t & (1 << a) == 0):
                    s[t] = high
                    s[other] = low
            cuda.syncthreads()
    out[t] = s[t]


@races(r"cuda\.syncthreads\(\) between line {A} and line {B}", vector(N), lambda x, out: x + x[0])
@cuda.jit
def one_thread_writes_for_all(x, out):
    s = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = x[0]  # A
    out[t] = x[t] + s[0]  # B


@mended(one_thread_writes_for_all)
@cuda.jit
def one_thread_writes_for_all_mended(x, out):
    s = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = x[0]
    cuda.syncthreads()
    out[t] = x[t] + s[0]


@races(
    r"two sides of one branch.*cuda\.syncthreads\(\) there", vector(N, 32), lambda x, out: x[32:]
)
@cuda.jit
def written_in_one_branch_read_in_the_other(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t >= 32:
        s[t - 32] = x[t]
    else:
        out[t] = s[t]


@mended(written_in_one_branch_read_in_the_other)
@cuda.jit
def written_in_one_branch_read_in_the_other_mended(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t >= 32:
        s[t - 32] = x[t]
    cuda.syncthreads()
    if t < 32:
        out[t] = s[t]


@cuda.jit(device=True)
def sum_of_block(s, value):
    """Without a last barrier."""
    t = cuda.threadIdx.x
    s[t] = value  # B
    cuda.syncthreads()
    step = N // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    return s[0]  # A


@cuda.jit(device=True)
def sum_of_block_mended(s, value):
    t = cuda.threadIdx.x
    s[t] = value
    cuda.syncthreads()
    step = N // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    result = s[0]
    cuda.syncthreads()
    return result


@races(
    r"line {A} before one writes in line {B}: put cuda\.syncthreads",
    vector(N),
    lambda x, out: np.full(N, ((x - x.mean()) ** 2).sum()),
    helper=sum_of_block,
)
@cuda.jit
def device_function_called_twice(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    mean = sum_of_block(s, x[t]) / float32(N)
    out[t] = sum_of_block(s, (x[t] - mean) ** 2)


@mended(device_function_called_twice)
@cuda.jit
def device_function_called_twice_mended(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    mean = sum_of_block_mended(s, x[t]) / float32(N)
    out[t] = sum_of_block_mended(s, (x[t] - mean) ** 2)


# Lanes of a warp


@races(r"cuda\.syncwarp\(\)", vector(32), lambda x, out: x[np.arange(32) ^ 1], block=32)
@cuda.jit
def exchange_of_lanes(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    out[t] = s[t ^ 1]


@mended(exchange_of_lanes)
@cuda.jit
def exchange_of_lanes_mended(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    out[t] = s[t ^ 1]


@races(r"cuda\.syncwarp\(\)", vector(32), lambda x, out: x + x[np.arange(32) ^ 2], block=32)
@cuda.jit
def shuffle_taken_for_a_barrier(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    own = cuda.shfl_xor_sync(FULL, x[t], 0)
    out[t] = own + s[t ^ 2]


@mended(shuffle_taken_for_a_barrier)
@cuda.jit
def shuffle_taken_for_a_barrier_mended(x, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    own = cuda.shfl_xor_sync(FULL, x[t], 0)
    cuda.syncwarp()
    out[t] = own + s[t ^ 2]


# Atomics beside plain accesses


@races(r"cuda\.syncthreads\(\) between line {A} and line {B}", keys(N, 5, np.int32), count)
@cuda.jit
def counted_before_it_was_cleared(x, h):
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    if t < 5:
        s[t] = 0  # A
    cuda.atomic.add(s, x[t], 1)  # B
    cuda.syncthreads()
    if t < 5:
        h[t] = s[t]


@mended(counted_before_it_was_cleared)
@cuda.jit
def counted_before_it_was_cleared_mended(x, h):
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    if t < 5:
        s[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, x[t], 1)
    cuda.syncthreads()
    if t < 5:
        h[t] = s[t]


@races(r"cuda\.syncthreads\(\) between line {A} and line {B}", keys(N, 5, np.int32), count)
@cuda.jit
def read_before_all_have_counted(x, h):
    s = cuda.shared.array(5, int32)
    t = cuda.threadIdx.x
    if t < 5:
        s[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, x[t], 1)  # A
    if t < 5:
        h[t] = s[t]  # B


mended(read_before_all_have_counted)(counted_before_it_was_cleared_mended)


# Between blocks


def parts(r):
    return integers(r, 0, 9, 256), zeros(4, dtype=np.int64), zeros(1, dtype=np.int64)


def sum_of_parts(x, part, out):
    return [x.sum()]


@cuda.jit
def parts_of_blocks(x, part, out):
    cuda.atomic.add(part, cuda.blockIdx.x, x[cuda.grid(1)])


@races(r"split the kernel .*two launches", parts, sum_of_parts, grid=4)
@cuda.jit
def first_block_adds_up(x, part, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        for k in range(64):
            part[b] += x[b * 64 + k]
    if b == 0 and t == 0:
        for k in range(4):
            out[0] += part[k]


@mended(first_block_adds_up)
@cuda.jit
def first_block_adds_up_mended(x, part, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        for k in range(64):
            part[b] += x[b * 64 + k]


@mended(first_block_adds_up)
@cuda.jit
def adds_up_in_a_second_launch(x, part, out):
    if cuda.grid(1) == 0:
        for k in range(4):
            out[0] += part[k]


@races(
    r"cuda\.syncthreads\(\) waits for the own block only: split",
    lambda r: (f32(r, 128), zeros(128), zeros(128)),
    lambda x, y, out: 2 * x[::-1],
    grid=2,
)
@cuda.jit
def barrier_taken_for_one_of_the_grid(x, y, out):
    i = cuda.grid(1)
    y[i] = 2 * x[i]
    cuda.syncthreads()
    out[i] = y[127 - i]


@mended(barrier_taken_for_one_of_the_grid)
@cuda.jit
def barrier_of_the_grid_first(x, y, out):
    i = cuda.grid(1)
    y[i] = 2 * x[i]


@mended(barrier_taken_for_one_of_the_grid)
@cuda.jit
def barrier_of_the_grid_second(x, y, out):
    i = cuda.grid(1)
    out[i] = y[127 - i]


def last_block(waits, far, near):
    """The last block to come adds up the parts of all; what it waits and fences with is given."""

    @cuda.jit
    def adds_up(x, part, out):
        s = cuda.shared.array(1, int32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        part[i] = x[i] + 1  # A
        if waits:
            cuda.syncthreads()
        if t == 0:
            if far:
                cuda.threadfence()  # F
            if near:
                cuda.threadfence_block()
            s[0] = cuda.atomic.add(out, 0, 1)  # B
        cuda.syncthreads()
        if s[0] == cuda.gridDim.x - 1:
            cuda.atomic.add(out, 1, part[i])
            cuda.atomic.add(out, 1, part[127 - i])

    return adds_up


def tickets(r):
    return integers(r, 0, 9, 128), zeros(128, dtype=np.int32), zeros(2, dtype=np.int32)


def ticket_total(x, part, out):
    return [2, (x + 1).sum()]


for name, how, cure in (
    (
        "ticket_without_fence",
        (True, False, False),
        r"cuda\.threadfence\(\) between line {A} and line {B}",
    ),
    (
        "ticket_with_a_near_fence",
        (True, False, True),
        r"own block, and these are in two: use cuda\.threadfence\(\)",
    ),
    (
        "ticket_before_all_have_written",
        (False, True, False),
        r"syncthreads\(\) between line {A} and the .* in line {F}",
    ),
):
    PAIRS[name] = Pair(last_block(*how), cure, tickets, ticket_total, 2, N)
    PAIRS[name].twins.append(last_block(True, True, False))


def handed(r):
    return f32(r, 8), zeros(1, dtype=np.int32), zeros(16)


def handed_over(x, flag, out):
    return np.concatenate([x, x[::-1]])


@races(r"cuda\.threadfence\(\) between line {A} and line {B}", handed, handed_over, grid=2, block=8)
@cuda.jit
def flag_without_fence(x, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]  # A
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)  # B
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        cuda.syncthreads()
        out[8 + t] = out[7 - t]


@races(r"cuda\.syncthreads\(\) between line {C} and line {D}", handed, handed_over, grid=2, block=8)
@cuda.jit
def only_one_waits_for_the_flag(x, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:  # C
                pass
            cuda.threadfence()
        out[8 + t] = out[7 - t]  # D


@mended(flag_without_fence)
@mended(only_one_waits_for_the_flag)
@cuda.jit
def handed_over_by_a_flag(x, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]
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
        out[8 + t] = out[7 - t]


@races(
    r"flag must be written and looked at by atomics",
    lambda r: (zeros(1, dtype=np.int32), zeros(1)),
    lambda flag, out: [1],
    grid=2,
    block=1,
)
@cuda.jit
def plain_flag(flag, out):
    if cuda.blockIdx.x == 0:
        flag[0] = 1
    else:
        while flag[0] == 0:
            pass
        out[0] = 1


@mended(plain_flag)
@cuda.jit
def plain_flag_mended(flag, out):
    if cuda.blockIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence()
        out[0] = 1


@races(
    r"cuda\.threadfence\(\) after it is taken in line {A}.*cuda\.atomic\.add\(out, 0, ",
    lambda r: (zeros(1, dtype=np.int32), f32(r, 4), zeros(1)),
    lambda lock, x, out: [x.sum()],
    grid=4,
    block=1,
)
@cuda.jit
def lock_without_fences(lock, x, out):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # A
        pass
    out[0] += x[cuda.blockIdx.x]
    cuda.atomic.exch(lock, 0, 0)


@mended(lock_without_fences)
@cuda.jit
def lock_without_fences_mended(lock, x, out):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    out[0] += x[cuda.blockIdx.x]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@races(
    r"let one thread write it, or give each thread an element",
    vector(N, N // 2),
    lambda x, out: x[::2],
)
@cuda.jit
def two_writers(x, out):
    t = cuda.threadIdx.x
    out[t // 2] = x[t]


@mended(two_writers)
@cuda.jit
def two_writers_mended(x, out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t // 2] = x[t]
