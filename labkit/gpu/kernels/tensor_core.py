"""c = a b^T on tensor cores: a[M, K] and b[N, K] of float16, c[M, N] of float32.

    c[m, n] = sum over k of a[m, k] b[n, k]

The kernel takes two halves as one uint32: `half.view(np.uint32)`, [M, K/2] and [N, K/2]; K is even.
A block makes 128 x 256 results, 32 products at a time, with 8 warps of 64 x 64. The oracle is
a @ b.T in float64. From sm_80 on; lesson what_limits_a_kernel.

The order of k is free, if it is the same in a and b. So in each row of 32 halves, lane t of four
takes the 16 bytes at 16 t, which are two pairs for each of two steps: one load without bank
conflicts, where the order that the instruction suggests would take four.

Dense: a line of a kernel is an address or a product, as the formula above has it.
"""

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.vectors import load_words4, spread
from numba_simt.extensions.mma import mma_m16n8k16
from numba_simt.extensions.vector import load_uint32x4, store_uint32x4

BM = 128  # rows of c that a block makes
BN = 256  # columns of c
THREADS = 256  # of a block


@cuda.jit(device=True, forceinline=True)
def fetch(array, row, step, column, held):
    """held[i] = array[row + step i, column : column + 4], 0 outside; from global memory"""
    for i in range(held.shape[0]):
        spread(load_words4(array, uint32(row + uint32(step * i)), column), held[i])


@cuda.jit(device=True, forceinline=True)
def keep(left, right, a_tile, b_tile):
    """a in the order in which lanes hold it: rows g and g + 8 side by side; b as it is"""
    t = uint32(cuda.threadIdx.x)
    for s in range(2):
        where = t // uint32(32), uint32(s), t % uint32(32) * uint32(4)
        i = 2 * s
        j = 2 * s + 1
        store_uint32x4(a_tile, where, left[0, i], left[1, i], left[0, j], left[1, j])
    for i in range(4):
        where = t // uint32(4) + uint32(64 * i), t % uint32(4) * uint32(4)
        store_uint32x4(b_tile, where, right[i, 0], right[i, 1], right[i, 2], right[i, 3])


@cuda.jit(device=True, forceinline=True)
def multiply_add(a_tile, b_tile, buffer, y, x, lane, four, column, total):
    """total[i, j] += 16 rows of a times 8 rows of b, for 2 steps of 16 along k"""
    for j in range(8):
        spread(load_uint32x4(b_tile, (buffer, x + uint32(8 * j), four)), column[j])
    for i in range(4):
        for s in range(2):
            where = buffer, y + uint32(i), uint32(s), lane * uint32(4)
            part = load_uint32x4(a_tile, where)
            for j in range(8):
                pair = column[j, 2 * s], column[j, 2 * s + 1]
                c4 = total[i, j, 0], total[i, j, 1], total[i, j, 2], total[i, j, 3]
                spread(mma_m16n8k16(part, pair, c4), total[i, j])


@cuda.jit
def one_product(a, b, c):
    """One instruction of one warp: c[16, 8] = a b^T; a[16, 8] and b[8, 8] of uint32, two halves
    in each. The layout is that of `mma_m16n8k16`."""
    lane = uint32(cuda.threadIdx.x)
    g = lane // uint32(4)
    t = lane % uint32(4)
    left = a[g, t], a[g + uint32(8), t], a[g, t + uint32(4)], a[g + uint32(8), t + uint32(4)]
    right = b[g, t], b[g, t + uint32(4)]
    zeros = float32(0), float32(0), float32(0), float32(0)
    total = cuda.local.array(4, float32)
    spread(mma_m16n8k16(left, right, zeros), total)
    for e in range(4):
        c[g + uint32(e // 2 * 8), t * uint32(2) + uint32(e % 2)] = total[e]


@cuda.jit(launch_bounds=THREADS)
def tensor_core(a, b, c, M, N, K):
    """c[m, n] = sum over k of a[m, k] b[n, k]; a[M, K/2] and b[N, K/2] uint32, c[M, N] float32"""
    a_tile = cuda.shared.array((2, 8, 2, 128), uint32, alignment=16)  # 16 rows, step, 4 x lane
    b_tile = cuda.shared.array((2, BN, 16), uint32, alignment=16)
    total = cuda.local.array((4, 8, 4), float32)  # 4 x 8 products of 16 x 8, 4 results of a lane
    column = cuda.local.array((8, 4), uint32)
    next_a = cuda.local.array((2, 4), uint32)
    next_b = cuda.local.array((4, 4), uint32)
    m0 = uint32(cuda.blockIdx.y) * uint32(BM)
    n0 = uint32(cuda.blockIdx.x) * uint32(BN)
    t = uint32(cuda.threadIdx.x)
    warp = t // uint32(32)
    lane = t % uint32(32)
    g = lane // uint32(4)
    four = lane % uint32(4) * uint32(4)
    y = warp // uint32(4) * uint32(4)  # the warp's first 16 rows of the tile of a
    x = warp % uint32(4) * uint32(64) + g  # the lane's first row of the tile of b
    from_a = uint32(m0 + warp * uint32(16) + g)
    from_b = uint32(n0 + t // uint32(4))
    for i in range(4):
        for j in range(8):
            for e in range(4):
                total[i, j, e] = float32(0)
    buffer = uint32(0)
    k0 = uint32(0)  # in words, as `last`
    last = uint32(uint32(K) // uint32(2))
    fetch(a, from_a, 8, four, next_a)
    fetch(b, from_b, 64, four, next_b)
    keep(next_a, next_b, a_tile[buffer], b_tile[buffer])
    cuda.syncthreads()
    while k0 < last:
        k0 = uint32(k0 + uint32(16))
        if k0 < last:
            fetch(a, from_a, 8, uint32(k0 + four), next_a)
            fetch(b, from_b, 64, uint32(k0 + four), next_b)
        multiply_add(a_tile, b_tile, buffer, y, x, lane, four, column, total)
        buffer = uint32(1) - buffer
        keep(next_a, next_b, a_tile[buffer], b_tile[buffer])
        cuda.syncthreads()
    for i in range(4):
        for j in range(8):
            for e in range(4):
                m = m0 + (y + uint32(i)) * uint32(16) + g + uint32(e // 2 * 8)
                n = n0 + x - g + four // uint32(2) + uint32(8 * j + e % 2)
                if m < uint32(M) and n < uint32(N):
                    c[m, n] = total[i, j, e]


def plan_tensor_core(M: int, N: int) -> Plan:
    """kernel(a, b, c, M, N, K) for c[M, N]; a and b are halves, two in each uint32."""
    grid = (-(-N // BN), -(-M // BM))
    return Plan(tensor_core, grid, THREADS)
