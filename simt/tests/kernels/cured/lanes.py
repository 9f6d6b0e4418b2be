"""Lanes of a warp."""

import numpy as np
from numba import float32

from .. import FULL, cuda
from .pairs import mended, races, vector


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
