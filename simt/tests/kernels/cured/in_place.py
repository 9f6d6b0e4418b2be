"""In place: read, wait, write."""

import numpy as np
from numba import float32

from .. import cuda, f32, zeros
from .pairs import N, mended, races, vector


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
