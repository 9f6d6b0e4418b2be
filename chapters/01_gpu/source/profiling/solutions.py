"""The solutions of lesson 01_gpu/11_profiling. Written by `labkit build` from

chapters/01_gpu/source/profiling/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import math

import numpy as np

from labkit.gpu import cuda


zero = np.float32(0)


@cuda.jit
def bias_gradient(dy, db):
    """dy [M, K] -> db [K], 0 at the start: the sum over the rows; a block has 64 rows, 32 columns"""
    col, top = 32 * cuda.blockIdx.x + cuda.threadIdx.x, 64 * cuda.blockIdx.y
    if col < dy.shape[1]:
        total = zero
        for row in range(top, min(top + 64, dy.shape[0])):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)


@cuda.jit
def quick_gelu(x, y):
    """x [n] -> y [n]: x / (1 + exp(-1.702 x)), all in float32; blocks of 128 threads"""
    i = np.uint32(cuda.grid(1))
    if i < x.size:
        y[i] = x[i] / (np.float32(1) + math.exp(np.float32(-1.702) * x[i]))


SOLUTIONS = {
    "gpu.case_bias_gradient": bias_gradient,
    "gpu.case_float64": quick_gelu,
}
