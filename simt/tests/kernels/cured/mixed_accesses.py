"""Atomics beside plain accesses."""

import numpy as np
from numba import int32

from .. import cuda
from .pairs import N, count, keys, mended, races


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
