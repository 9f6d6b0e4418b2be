"""The upper rungs of the matmul ladder: each thread computes many elements of c, from registers.

A value in shared memory costs an instruction to fetch. With one result per thread, each
multiply-add needs two values; with 8 x 8 results, 16 values serve 64 multiply-adds.
c[M, N] = a[M, K] b[K, N], float32, row-major, of any size (lesson tiles).

Dense: a line of a kernel is an address or a product of two tiles.
"""

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels.tile_factory import register_tile
from labkit.gpu.kernels.vectors import load, load4, spread, store4
from numba_simt.extensions.vector import load_float32x4, store_float32x4


@cuda.jit(launch_bounds=(512, 2))
def tile_1d(a, b, c, M, N, K):
    """64 x 64 results of a block of 512 threads, 8 below each other in each thread.

    One value of b serves 8 multiply-adds.
    """
    a_tile = cuda.shared.array((64, 8), float32, alignment=16)
    b_tile = cuda.shared.array((8, 64), float32)
    total = cuda.local.array(8, float32)
    row = cuda.local.array(8, float32)
    t = uint32(cuda.threadIdx.x)
    m0 = uint32(cuda.blockIdx.y) * uint32(64)
    n0 = uint32(cuda.blockIdx.x) * uint32(64)
    y = t // uint32(64)
    x = t % uint32(64)
    for i in range(8):
        total[i] = float32(0)
    for k0 in range(uint32(0), uint32(K), uint32(8)):
        m = t // uint32(8)
        k = t % uint32(8)
        a_tile[m, k] = load(a, m0 + m, k0 + k)
        b_tile[y, x] = load(b, k0 + y, n0 + x)
        cuda.syncthreads()
        for k in range(8):
            row[k] = b_tile[k, x]
        for i in range(8):
            for k in range(8):
                total[i] += a_tile[y * uint32(8) + uint32(i), k] * row[k]
        cuda.syncthreads()
    for i in range(8):
        m = m0 + y * uint32(8) + uint32(i)
        n = n0 + x
        if m < uint32(M) and n < uint32(N):
            c[m, n] = total[i]


@cuda.jit(launch_bounds=(256, 2))
def tile_2d(a, b, c, M, N, K):
    """128 x 128 results of a block of 256 threads, 8 x 8 neighbours in each."""
    a_tile = cuda.shared.array((8, 132), float32, alignment=16)  # [k, m]: turned; padded
    b_tile = cuda.shared.array((8, 128), float32, alignment=16)  # [k, n]
    total = cuda.local.array((8, 8), float32)
    column = cuda.local.array(8, float32)
    row = cuda.local.array(8, float32)
    t = uint32(cuda.threadIdx.x)
    m0 = uint32(cuda.blockIdx.y) * uint32(128)
    n0 = uint32(cuda.blockIdx.x) * uint32(128)
    y = t // uint32(16) * uint32(8)
    x = t % uint32(16) * uint32(8)
    for i in range(8):
        for j in range(8):
            total[i, j] = float32(0)
    for k0 in range(uint32(0), uint32(K), uint32(8)):
        for part in range(4):
            i = t + uint32(256 * part)
            m = i // uint32(8)
            k = i % uint32(8)
            a_tile[k, m] = load(a, m0 + m, k0 + k)
            k = i // uint32(128)
            n = i % uint32(128)
            b_tile[k, n] = load(b, k0 + k, n0 + n)
        cuda.syncthreads()
        for k in range(uint32(0), uint32(8), uint32(1)):
            for i in range(8):
                column[i] = a_tile[k, y + uint32(i)]
                row[i] = b_tile[k, x + uint32(i)]
            for i in range(8):
                for j in range(8):
                    total[i, j] += column[i] * row[j]
        cuda.syncthreads()
    for i in range(8):
        for j in range(8):
            m = m0 + y + uint32(i)
            n = n0 + x + uint32(j)
            if m < uint32(M) and n < uint32(N):
                c[m, n] = total[i, j]


@cuda.jit(launch_bounds=(256, 2))
def vector_loads(a, b, c, M, N, K):
    """The same with 16 bytes in each access to memory.

    A warp reads shared memory in quarters: 8 lanes, 128 bytes, which must lie in 32 different
    banks. So each thread's 8 columns are 4 neighbours in each half of the tile, and its rows too.
    """
    a_tile = cuda.shared.array((8, 132), float32, alignment=16)  # [k, m]
    b_tile = cuda.shared.array((8, 128), float32, alignment=16)  # [k, n]
    total = cuda.local.array((8, 8), float32)
    column = cuda.local.array(8, float32)
    row = cuda.local.array(8, float32)
    t = uint32(cuda.threadIdx.x)
    m0 = uint32(cuda.blockIdx.y) * uint32(128)
    n0 = uint32(cuda.blockIdx.x) * uint32(128)
    y = t // uint32(16) * uint32(4)
    x = t % uint32(16) * uint32(4)
    for i in range(8):
        for j in range(8):
            total[i, j] = float32(0)
    for k0 in range(uint32(0), uint32(K), uint32(8)):
        m = t // uint32(2)
        k = t % uint32(2) * uint32(4)
        a0, a1, a2, a3 = load4(a, m0 + m, k0 + k)
        a_tile[k, m] = a0
        a_tile[k + uint32(1), m] = a1
        a_tile[k + uint32(2), m] = a2
        a_tile[k + uint32(3), m] = a3
        k = t // uint32(32)
        n = t % uint32(32) * uint32(4)
        b0, b1, b2, b3 = load4(b, k0 + k, n0 + n)
        store_float32x4(b_tile, (k, n), b0, b1, b2, b3)
        cuda.syncthreads()
        for k in range(uint32(0), uint32(8), uint32(1)):
            for i in range(0, 8, 4):
                spread(load_float32x4(a_tile, (k, y + uint32(16 * i))), column[i : i + 4])
                spread(load_float32x4(b_tile, (k, x + uint32(16 * i))), row[i : i + 4])
            for i in range(8):
                for j in range(8):
                    total[i, j] += column[i] * row[j]
        cuda.syncthreads()
    for i in range(8):
        m = m0 + y + uint32(i // 4 * 64 + i % 4)
        for j in range(0, 8, 4):
            n = n0 + x + uint32(16 * j)
            if m < uint32(M) and n < uint32(N):
                store4(c, m, n, total[i, j : j + 4])


# The same with all that hides latency: see tile_factory.py.
tuned = register_tile(load4, load4, store4, vectors=True, name="tuned")
