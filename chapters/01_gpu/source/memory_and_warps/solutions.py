"""The solutions of lesson 01_gpu/5_memory_and_warps. Written by `labkit build` from

chapters/01_gpu/source/memory_and_warps/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.gpu import cuda


@cuda.jit
def transpose_tiled(a, b):
    """a [R, C] -> b [C, R], float32; blocks of 32 x 32 threads, one tile each"""
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y  # the thread's place in its block
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
        step //= 2  # half of it, in whole numbers
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


SOLUTIONS = {
    "gpu.transpose_tiled": transpose_tiled,
    "gpu.block_sum": block_sum,
}
