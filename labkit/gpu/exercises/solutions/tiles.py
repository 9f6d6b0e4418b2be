"""The solutions of lesson 01_gpu/3_the_matmul_ladder. Written by `labkit build` from

chapters/01_gpu/source/3_the_matmul_ladder.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.gpu import cuda


zero = np.float32(0)


@cuda.jit
def matmul_coalesced(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N], float32; blocks of 32 x 8 threads"""
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total


@cuda.jit(device=True)
def fetch(m, row, col):
    """m[row, col], and 0 outside of the matrix"""
    return m[row, col] if row < m.shape[0] and col < m.shape[1] else zero


@cuda.jit
def matmul_tiled(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N]; blocks of 32 x 32 threads, a tile of c each"""
    a_tile = cuda.shared.array((32, 32), "float32")
    b_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    for start in range(0, a.shape[1], 32):
        a_tile[ty, tx] = fetch(a, row, start + tx)
        b_tile[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


@cuda.jit(device=True)
def fill(a, b, start, row0, col0, a_tile, b_tile, tx, ty):
    for i in range(0, 64, 8):  # 64 rows x 32 of a
        a_tile[i + ty, tx] = fetch(a, row0 + i + ty, start + tx)
    for i in range(0, 32, 8):  # 32 x 64 columns of b
        b_tile[i + ty, tx] = fetch(b, start + i + ty, col0 + tx)
        b_tile[i + ty, tx + 32] = fetch(b, start + i + ty, col0 + tx + 32)


@cuda.jit(device=True)
def write(c, row0, col0, total, tx, ty):
    for i in range(8):
        for j in range(2):
            y, x = row0 + ty + 8 * i, col0 + tx + 32 * j
            if y < c.shape[0] and x < c.shape[1]:
                c[y, x] = total[i, j]


@cuda.jit
def matmul_registers(a, b, c):
    a_tile, b_tile = cuda.shared.array((64, 32), "float32"), cuda.shared.array((32, 64), "float32")
    total, tx, ty = cuda.local.array((8, 2), "float32"), cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(8):
        total[i, 0] = total[i, 1] = zero
    for start in range(0, a.shape[1], 32):
        fill(a, b, start, 64 * cuda.blockIdx.y, 64 * cuda.blockIdx.x, a_tile, b_tile, tx, ty)
        cuda.syncthreads()
        for k in range(32):
            b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
            for i in range(8):
                a_i = a_tile[ty + 8 * i, k]
                total[i, 0] += a_i * b0
                total[i, 1] += a_i * b1
        cuda.syncthreads()
    write(c, 64 * cuda.blockIdx.y, 64 * cuda.blockIdx.x, total, tx, ty)


def estimated_share(intensity, passes, accesses, ridge):
    """intensity [n] in FLOP/B, passes [n] and accesses [n] per multiply-add -> share [n], 0 to 1"""
    memory = np.minimum(intensity / ridge, 1 / (4 * passes))
    return np.minimum(memory, 1 / (1 + accesses))


SOLUTIONS = {
    "gpu.matmul_coalesced": matmul_coalesced,
    "gpu.matmul_tiled": matmul_tiled,
    "gpu.matmul_registers": matmul_registers,
    "gpu.lowest_limit": estimated_share,
}
