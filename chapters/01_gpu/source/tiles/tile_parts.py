"""The parts of tiled matrix products that a lesson need not show: edges, copying, writing.

All are device functions for float32 matrices. The last three belong to blocks of 32 x 8 threads
that make tiles of 64 x 64 results: thread (tx, ty) makes those in rows ty + 8 i and columns
tx + 32 j of the tile, for i below 8 and j below 2.
(Lesson tiles.)
"""

import numpy as np

from labkit.gpu import cuda

zero = np.float32(0)  # a Python 0.0 would be a float64


@cuda.jit(device=True)
def fetch_or_zero(matrix, row, column):
    """matrix[row, column], and 0 outside of the matrix"""
    if row < matrix.shape[0] and column < matrix.shape[1]:
        return matrix[row, column]
    return zero


@cuda.jit(device=True)
def set_to_zero(total):
    """total [8, 2] = 0"""
    for i in range(8):
        for j in range(2):
            total[i, j] = zero


@cuda.jit(device=True)
def next_tiles(a, b, start, a_tile, b_tile):
    """Wait for the block, fill a_tile [64, 32] and b_tile [32, 64] from `start` along k, wait again

    The first barrier lets everybody finish with the old tiles.
    """
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    top = 64 * cuda.blockIdx.y
    left = 64 * cuda.blockIdx.x
    cuda.syncthreads()
    for i in range(0, 64, 8):
        a_tile[ty + i, tx] = fetch_or_zero(a, top + ty + i, start + tx)
    for i in range(0, 32, 8):
        b_tile[ty + i, tx] = fetch_or_zero(b, start + ty + i, left + tx)
        b_tile[ty + i, tx + 32] = fetch_or_zero(b, start + ty + i, left + tx + 32)
    cuda.syncthreads()


@cuda.jit(device=True)
def write_patch(total, c):
    """c = total [8, 2] in the thread's places, without those that lie outside of c"""
    top = 64 * cuda.blockIdx.y
    left = 64 * cuda.blockIdx.x
    for i in range(8):
        for j in range(2):
            row = top + cuda.threadIdx.y + 8 * i
            column = left + cuda.threadIdx.x + 32 * j
            if row < c.shape[0] and column < c.shape[1]:
                c[row, column] = total[i, j]
