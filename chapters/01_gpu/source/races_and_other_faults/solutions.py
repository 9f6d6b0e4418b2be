"""The solutions of lesson 01_gpu/10_races_and_other_faults. Written by `labkit build` from

chapters/01_gpu/source/races_and_other_faults/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import math

import numpy as np

from labkit.gpu import cuda


zero, three, infinity = np.float32(0), np.float32(3), np.float32(np.inf)


@cuda.jit
def smooth(x, y):
    """x [n] -> y [n]: the mean of three neighbours; both ends stay as they are"""
    tile = cuda.shared.array(34, "float32")
    i, lane = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        tile[lane + 1] = x[i]
    if lane == 0 and i > 0:
        tile[0] = x[i - 1]
    if lane == 31 and i + 1 < x.size:
        tile[33] = x[i + 1]
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        y[i] = (tile[lane] + tile[lane + 1] + tile[lane + 2]) / three
    elif i < x.size:
        y[i] = x[i]


@cuda.jit
def log_sum_exp(x, out):
    """x [K, N] -> out [N]: the log of the sum over k of exp(x[k, n]); blocks of 128 threads"""
    n = cuda.grid(1)
    if n < x.shape[1]:
        largest = -infinity
        for k in range(x.shape[0]):
            largest = max(largest, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - largest)  # at most 1, and once exactly 1
        out[n] = largest + math.log(total)


@cuda.jit
def row_max(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity  # changes no maximum
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        top[row] = best[0]


SOLUTIONS = {
    "gpu.case_neighbours": smooth,
    "gpu.case_log_sum_exp": log_sum_exp,
    "gpu.case_row_max": row_max,
}
