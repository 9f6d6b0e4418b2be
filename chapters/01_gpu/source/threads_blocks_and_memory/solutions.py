"""The solutions of lesson 01_gpu/4_threads_blocks_and_memory. Written by `labkit build` from

chapters/01_gpu/source/threads_blocks_and_memory/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.gpu import cuda


@cuda.jit
def relu_kernel(x, y):
    """x [n] -> y [n]: y[i] = max(x[i], 0), float32"""
    i = cuda.grid(1)
    zero = np.float32(0)
    if i < x.size:
        y[i] = max(x[i], zero)


@cuda.jit
def scale_rows(a, scale, shift, b):
    """a [R, C], scale [R], shift [R] -> b [R, C], float32"""
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        b[row, col] = a[row, col] * scale[row] + shift[row]


@cuda.jit
def transpose_tiled(a, b):
    """a [R, C] -> b [C, R], float32; blocks of 32 x 32 threads, one tile each"""
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # in a
    if row < a.shape[0] and col < a.shape[1]:
        tile[ty, tx] = a[row, col]
    cuda.syncthreads()
    row, col = cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx  # in b
    if row < b.shape[0] and col < b.shape[1]:
        b[row, col] = tile[tx, ty]


@cuda.jit
def block_sum(x, total):
    """x [n] -> total [1], 0 at the start: the sum; blocks of 128 threads"""
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    zero = np.float32(0)
    partial[tid] = x[i] if i < x.size else zero
    cuda.syncthreads()
    step = 64
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


SOLUTIONS = {
    "gpu.relu_kernel": relu_kernel,
    "gpu.scale_rows": scale_rows,
    "gpu.transpose_tiled": transpose_tiled,
    "gpu.block_sum": block_sum,
}
