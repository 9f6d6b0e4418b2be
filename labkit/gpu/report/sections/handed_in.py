"""Kernels that the lessons show and do not ask for: as handed in, with their mistake, and whole.

Each is the lesson's own text; a test compares the two.

Dense: a kernel has the line breaks that the lesson has.
"""

import math
from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import module_of
from labkit.gpu import cuda

pixel = module_of("convolution_kernels", "solutions").pixel

zero, infinity = np.float32(0), np.float32(np.inf)


# Lesson convolution_kernels


@cuda.jit
def implicit_gemm(x, w, b, R, S, stride, padding, y):  # noqa: D103
    w_tile = cuda.shared.array((32, 32), "float32")
    x_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, k = cuda.grid(2)
    K, CRS = w.shape
    total = zero
    P, Q, NPQ = y.shape[2], y.shape[3], y.size // K
    for start in range(0, CRS, 32):
        inside = start + ty < CRS and col < NPQ
        w_tile[ty, tx] = w[k, start + tx] if k < K and start + tx < CRS else zero
        x_tile[ty, tx] = pixel(x, start + ty, col, R, S, stride, padding) if inside else zero
        cuda.syncthreads()
        for i in range(32):
            total += w_tile[ty, i] * x_tile[i, tx]
        cuda.syncthreads()
    if k < K and col < NPQ:
        y[col // (P * Q), k, col // Q % P, col % Q] = total + b[k]


# Lesson races_and_other_faults


@cuda.jit
def handed_in_row_max(x, top):  # noqa: D103
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity  # changes no maximum
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    step = min(32, x.shape[1]) // 2
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        step //= 2
    if lane == 0:
        top[row] = best[0]


# Lesson profiling


@cuda.jit
def handed_in_bias_gradient(dy, db):  # noqa: D103
    left, top = 32 * cuda.blockIdx.x, 64 * cuda.blockIdx.y
    right, bottom = min(left + 32, dy.shape[1]), min(top + 64, dy.shape[0])
    for row in range(top + cuda.threadIdx.x, bottom, 32):
        for col in range(left, right):
            cuda.atomic.add(db, col, dy[row, col])


@cuda.jit
def handed_in_gelu(x, y):  # noqa: D103
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (1 + math.exp(-1.702 * x[i]))


def make(room: int) -> Callable:
    """Case 3, with room for so many columns."""

    @cuda.jit
    def centre_rows(x, y):
        """y[r, c] = x[r, c] - the mean of row r; one block of 128 threads per row"""
        kept = cuda.shared.array(room, "float32")
        total = cuda.shared.array(1, "float32")
        row, tid, mine = cuda.blockIdx.x, cuda.threadIdx.x, zero
        for col in range(tid, x.shape[1], 128):
            kept[col] = x[row, col]
            mine += kept[col]
        if tid == 0:
            total[0] = zero
        cuda.syncthreads()
        cuda.atomic.add(total, 0, mine)
        cuda.syncthreads()
        for col in range(tid, x.shape[1], 128):
            y[row, col] = kept[col] - total[0] / np.float32(x.shape[1])

    return centre_rows
