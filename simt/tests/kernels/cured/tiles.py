"""Tiles: rounds, buffers and places that the next round overwrites."""

import numpy as np
from numba import float32

from .. import cuda, f32, zeros
from .pairs import PAIRS, N, Pair, mended, races, vector

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
