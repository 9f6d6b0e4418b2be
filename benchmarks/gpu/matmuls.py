"""The two matmuls that both sides of simt.py run: the same source, under two meanings of `cuda`."""

import os

import numpy as np
from numba import float32

if os.environ.get("NUMBA_ENABLE_CUDASIM"):
    from numba import cuda
else:
    from labkit.gpu import cuda

TILE = 16  # the tiled kernel: a block of 16 x 16 threads, one output each
BM = BN = 128  # the register-tile kernel: a block of 256 threads makes 128 x 128 outputs
BK, TM, TN = 8, 8, 8  # in steps of 8 along k; each thread makes 8 x 8


@cuda.jit
def tiled(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + tx
    row = cuda.blockIdx.y * TILE + ty
    acc = float32(0)
    for t in range((a.shape[1] + TILE - 1) // TILE):
        if row < a.shape[0] and t * TILE + tx < a.shape[1]:
            sa[ty, tx] = a[row, t * TILE + tx]
        else:
            sa[ty, tx] = 0
        if col < b.shape[1] and t * TILE + ty < b.shape[0]:
            sb[ty, tx] = b[t * TILE + ty, col]
        else:
            sb[ty, tx] = 0
        cuda.syncthreads()
        for k in range(TILE):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = acc


@cuda.jit
def register_tile(a, b, c):
    sa = cuda.shared.array((BK, BM), float32)
    sb = cuda.shared.array((BK, BN), float32)
    acc = cuda.local.array((TM, TN), float32)
    ra = cuda.local.array(TM, float32)
    rb = cuda.local.array(TN, float32)
    tid = cuda.threadIdx.x
    ty = tid // (BN // TN)
    tx = tid % (BN // TN)
    row0 = cuda.blockIdx.y * BM
    col0 = cuda.blockIdx.x * BN
    for i in range(TM):
        for j in range(TN):
            acc[i, j] = 0
    for k0 in range(0, a.shape[1], BK):
        for s in range(tid, BM * BK, 256):
            sa[s % BK, s // BK] = a[row0 + s // BK, k0 + s % BK]
        for s in range(tid, BK * BN, 256):
            sb[s // BN, s % BN] = b[k0 + s // BN, col0 + s % BN]
        cuda.syncthreads()
        for k in range(BK):
            for i in range(TM):
                ra[i] = sa[k, ty * TM + i]
            for j in range(TN):
                rb[j] = sb[k, tx * TN + j]
            for i in range(TM):
                for j in range(TN):
                    acc[i, j] += ra[i] * rb[j]
        cuda.syncthreads()
    for i in range(TM):
        for j in range(TN):
            c[row0 + ty * TM + i, col0 + tx * TN + j] = acc[i, j]


KERNELS = {  # name -> kernel, grid, block for 128 x 128 x 128
    "tiled matmul": (tiled, (8, 8), (16, 16)),
    "2-D register-tile matmul": (register_tile, (1, 1), 256),
}


def inputs(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal((128, 128)).astype(np.float32) for _ in range(2))
    return a, b, np.zeros((128, 128), np.float32)


def right(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> bool:
    return bool(np.allclose(c, a.astype(np.float64) @ b, atol=1e-3))
