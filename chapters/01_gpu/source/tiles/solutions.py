"""The solutions of lesson 01_gpu/6_tiles. Written by `labkit build` from

chapters/01_gpu/source/tiles/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.gpu import cuda
from labkit_lessons.gpu.tiles.tile_parts import fetch_or_zero, next_tiles, set_to_zero, write_patch


zero = np.float32(0)


@cuda.jit
def matmul_coalesced(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N], float32; blocks of 32 x 8 threads"""
    col, row = cuda.grid(2)  # x counts columns, so that a warp's lanes read neighbours (lesson 5)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero  # a float32: a Python 0.0 would make a float64 of the sum
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total


@cuda.jit
def matmul_tiled(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N]; blocks of 32 x 32 threads, a tile of c each"""
    a_tile = cuda.shared.array((32, 32), "float32")
    b_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    for start in range(0, a.shape[1], 32):
        a_tile[ty, tx] = fetch_or_zero(a, row, start + tx)
        b_tile[ty, tx] = fetch_or_zero(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # what for? the quiz asks
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


@cuda.jit
def matmul_registers(a, b, c):  # [M, K] @ [K, N] -> [M, N]; blocks of 32 x 8 threads
    a_tile = cuda.shared.array((64, 32), "float32")
    b_tile = cuda.shared.array((32, 64), "float32")
    total = cuda.local.array((8, 2), "float32")  # this thread's own: it gets 16 registers
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    set_to_zero(total)  # a device function: kernels may call it, and it runs in the same thread
    for start in range(0, a.shape[1], 32):
        next_tiles(a, b, start, a_tile, b_tile)  # wait, fetch 8 + 8 numbers per thread, wait
        for k in range(32):
            b_left = b_tile[k, tx]
            b_right = b_tile[k, tx + 32]
            for i in range(8):
                a_i = a_tile[ty + 8 * i, k]
                total[i, 0] += a_i * b_left
                total[i, 1] += a_i * b_right
    write_patch(total, c)  # each sum to its place in c


SOLUTIONS = {
    "gpu.matmul_coalesced": matmul_coalesced,
    "gpu.matmul_tiled": matmul_tiled,
    "gpu.matmul_registers": matmul_registers,
}
