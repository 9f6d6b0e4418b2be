"""`register_tile`: the 2-D register tile as a factory, generic in what it multiplies.

Three things hide each other's latency. While a tile of a and b is multiplied, the next one is on
its way from global memory into registers; it then goes into the other half of shared memory, so
that one barrier per tile is enough. Each warp is 4 x 8 threads, and each thread holds four
neighbours in two halves of the tile, so that a float32x4 from shared memory is read without bank
conflicts. Derived in lesson 01_gpu/3.
"""

from collections.abc import Callable
from functools import cache

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels.vectors import spread, store_vector
from labkit.gpu.vector import load_float32x4


@cache
def register_tile(
    load_a: Callable,
    load_b: Callable,
    store_c: Callable,
    tile: tuple[int, int, int] = (128, 128, 8),
    block: int | None = None,
    load_a_along: str = "k",
    load_b_along: str = "n",
    bias: bool = False,
    vectors: bool = False,
    name: str = "register_tile",
) -> Callable:
    """A kernel(a, b, c, M, N, K): c[m, n] = sum over k of load_a(a, m, k) load_b(b, k, n).

    The loaders are device functions of uint32 indices that give a float32, and 0 outside: m, n and
    k may lie beyond M, N and K, up to the end of a tile. store_c(c, m, n, value) is called for each
    m < M, n < N. With `bias` it is kernel(a, b, d, c, M, N, K), and store_c(c, m, n, value, d).
    `load_a_along`: the index that runs along the threads ("m" or "k"), so that neighbours read
    neighbours; `load_b_along` likewise ("n" or "k"). With `vectors`, a loader gives four neighbours
    along it, and store_c(c, m, n, values) takes four along n; some of them may lie outside.
    `tile`: (BM, BN, BK); a block makes BM x BN results, BK products at a time. `launch` tells grid
    and block; with several splits, each takes its share of K, and store_c must add atomically.
    BK = 8 leaves registers for values of k + 1 to arrive while those of k are used; 16 does not.
    `block`: threads; by default each holds 8 x 8 results, or 4 x 4 if BM or BN is 32.
    `name`: the kernel's. ValueError for what does not fit together.
    """
    if load_a_along not in ("m", "k") or load_b_along not in ("n", "k"):
        both = f"load_a_along, {load_a_along!r}, may be 'm' or 'k', and load_b_along"
        raise ValueError(f"{name}: {both}, {load_b_along!r}, may be 'n' or 'k'.")
    BM, BN, BK = tile
    block = block or _threads(tile)
    TM, TN = _per_thread(tile, block)
    wide, part_a, part_b = BN // TN // 8, BM * BK // block, BN * BK // block
    a_shape, b_shape = (2, BK, BM + 4), (2, BK, BN + 4)  # + 4: no bank conflicts when turned

    @cuda.jit(device=True, forceinline=True)
    def load_b_turned(b, n, k):
        return load_b(b, k, n)

    fetch_a, keep_a = _stage(load_a, BM, BK, block, load_a_along == "k", vectors)
    fetch_b, keep_b = _stage(load_b_turned, BN, BK, block, load_b_along == "k", vectors)
    put = _put(store_c, bias, vectors)

    @cuda.jit(device=True, forceinline=True)
    def add(total, a_tile, b_tile, k, y, x):
        """total[i, j] += a[m_i, k] b[k, n_j]"""
        column, row = cuda.local.array(TM, float32), cuda.local.array(TN, float32)
        for i in range(0, TM, 4):
            spread(load_float32x4(a_tile, (uint32(k), y + uint32(i * BM // TM))), column[i : i + 4])
        for j in range(0, TN, 4):
            spread(load_float32x4(b_tile, (uint32(k), x + uint32(j * BN // TN))), row[j : j + 4])
        for i in range(TM):
            for j in range(TN):
                total[i, j] += column[i] * row[j]

    @cuda.jit(device=True, forceinline=True)
    def product(a, b, d, c, M, N, K):
        a_tile = cuda.shared.array(a_shape, float32, alignment=16)  # [buffer, k, m]
        b_tile = cuda.shared.array(b_shape, float32, alignment=16)  # [buffer, k, n]
        total = cuda.local.array((TM, TN), float32)
        next_a, next_b = cuda.local.array(part_a, float32), cuda.local.array(part_b, float32)
        m0, n0 = uint32(cuda.blockIdx.y) * uint32(BM), uint32(cuda.blockIdx.x) * uint32(BN)
        lane, warp = uint32(cuda.threadIdx.x) % uint32(32), uint32(cuda.threadIdx.x) // uint32(32)
        y = warp // uint32(wide) * uint32(4) + lane // uint32(16) * uint32(2) + lane % uint32(2)
        x = warp % uint32(wide) * uint32(8) + lane // uint32(2) % uint32(8)
        y, x = uint32(y * uint32(4)), uint32(x * uint32(4))  # the thread's first row and column
        tiles = (uint32(K) + uint32(BK - 1)) // uint32(BK)
        share = (tiles + uint32(cuda.gridDim.z - 1)) // uint32(cuda.gridDim.z) * uint32(BK)
        k0 = uint32(uint32(cuda.blockIdx.z) * share)
        last = uint32(min(k0 + share, uint32(K)))
        for i in range(TM):
            for j in range(TN):
                total[i, j] = float32(0)
        buffer = uint32(0)
        fetch_a(a, m0, k0, next_a)
        fetch_b(b, n0, k0, next_b)
        keep_a(next_a, a_tile[buffer])
        keep_b(next_b, b_tile[buffer])
        cuda.syncthreads()
        while k0 < last:
            k0 = uint32(k0 + uint32(BK))
            if k0 < last:
                fetch_a(a, m0, k0, next_a)
                fetch_b(b, n0, k0, next_b)
            for k in range(0, BK, 8):  # written out, for the compiler to overlap loads and sums
                add(total, a_tile[buffer], b_tile[buffer], k, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 1, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 2, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 3, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 4, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 5, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 6, y, x)
                add(total, a_tile[buffer], b_tile[buffer], k + 7, y, x)
            buffer = uint32(1) - buffer
            keep_a(next_a, a_tile[buffer])
            keep_b(next_b, b_tile[buffer])
            cuda.syncthreads()
        for i in range(TM):
            m = uint32(m0 + y + uint32(i // 4 * 4 * BM // TM + i % 4))
            for j in range(0, TN, 4):
                n = uint32(n0 + x + uint32(j * BN // TN))
                if m < uint32(M):
                    put(c, m, n, uint32(N), total[i, j : j + 4], d)

    def plain(a, b, c, M, N, K):
        product(a, b, c, c, M, N, K)

    def biased(a, b, d, c, M, N, K):
        product(a, b, d, c, M, N, K)

    function = biased if bias else plain
    function.__name__ = function.__qualname__ = name
    return cuda.jit(launch_bounds=launch_bounds(block))(function)


def launch_bounds(block: int) -> tuple[int, int]:
    """Threads of a block, and blocks of an SM that leave each thread 128 registers, or 168"""
    return block, (512 if block > 128 else 384) // block or 1


def _stage(load, size, BK, block, along_k, vectors):
    """Two device functions for one operand: global memory -> registers -> shared memory."""
    width, part = 4 if vectors else 1, size * BK // block

    @cuda.jit(device=True, forceinline=True)
    def place(i):
        """(k, m) of the i-th element of a thread"""
        t = uint32(uint32(cuda.threadIdx.x) * uint32(width) + uint32(i * block))
        if along_k:
            return uint32(t % uint32(BK)), uint32(t // uint32(BK))
        return uint32(t // uint32(size)), uint32(t % uint32(size))

    @cuda.jit(device=True, forceinline=True)
    def fetch(array, m0, k0, held):
        for i in range(0, part, width):
            k, m = place(i)
            if vectors:
                spread(load(array, uint32(m0 + m), uint32(k0 + k)), held[i : i + 4])
            else:
                held[i] = load(array, uint32(m0 + m), uint32(k0 + k))

    @cuda.jit(device=True, forceinline=True)
    def keep(held, tile):
        for i in range(0, part, width):
            k, m = place(i)
            if along_k:
                for j in range(width):
                    tile[k + uint32(j), m] = held[i + j]
            elif vectors:
                store_vector(tile, (k, m), held[i : i + 4])
            else:
                tile[k, m] = held[i]

    return fetch, keep


def _put(store, bias, vectors):
    """A device function that stores four neighbours in a row of c."""

    @cuda.jit(device=True, forceinline=True)
    def put(c, m, n, N, four, d):
        if vectors:
            if n < N:
                store(c, m, n, four)
        else:
            for j in range(4):
                if n + uint32(j) < N:
                    if bias:
                        store(c, m, uint32(n + uint32(j)), four[j], d)
                    else:
                        store(c, m, uint32(n + uint32(j)), four[j])

    return put


def choose_tile(M: int, N: int) -> tuple[int, int, int]:
    """The largest square tile that leaves work for all multiprocessors of a large GPU."""
    sizes = (size for size in (128, 64) if -(-M // size) * -(-N // size) >= 128)
    return (size := next(sizes, 32), size, 8)


def launch(M: int, N: int, tile: tuple[int, int, int], splits: int = 1) -> tuple[tuple, int]:
    """Grid and block of a register tile for c[M, N]."""
    return (-(-N // tile[1]), -(-M // tile[0]), splits), _threads(tile)


def _threads(tile: tuple[int, int, int]) -> int:
    return tile[0] * tile[1] // (64 if min(tile[:2]) >= 64 else 16)


def _per_thread(tile: tuple[int, int, int], block: int) -> tuple[int, int]:
    """Rows and columns of results of one thread, 4 or 8, with 4 x 8 threads in a warp."""
    BM, BN, BK = tile
    possible = all(isinstance(size, int) and size > 0 for size in (*tile, block))
    for TM, TN in ((8, 8), (4, 8), (8, 4), (4, 4)):
        fits = possible and BM % (4 * TM) == 0 and BN % (8 * TN) == 0 and TM * TN * block == BM * BN
        if fits and BK % 8 == 0 and BM * BK % block == 0 and BN * BK % block == 0:
            return TM, TN
    raise ValueError(
        f"A tile of {BM} x {BN} x {BK} does not split over {block} threads that hold 4 or 8 rows "
        "and columns each: choose BM and BN of 32, 64 or 128, BK 8 or 16, and no block."
    )
