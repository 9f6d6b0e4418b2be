"""Reductions with a barrier missing, or in lockstep."""

import numpy as np
from numba import float32

from .. import cuda
from .pairs import N, mended, races, vector


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
