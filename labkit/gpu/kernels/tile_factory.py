"""`register_tile`: the 2-D register tile as a factory, generic in what it multiplies.

Three things hide each other's latency. While a tile of a and b is multiplied, the next one is on
its way from global memory into registers; it then goes into the other half of shared memory, so
that one barrier per tile is enough. Each warp is 4 x 8 threads, and each thread holds four
neighbours in two halves of the tile, so that a float32x4 from shared memory is read without bank
conflicts. Derived in lesson tiles.

All parts of a kernel are device functions that are made for one tile, so that the sizes in them are
constants: BM, BN, BK of the tile; TM x TN results of a thread; `block` threads.

Dense: a line of a device function is an address or a product of two tiles.
"""

from collections.abc import Callable
from functools import cache

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels.tile_sizes import Tile, launch_bounds, results_of_thread, threads_of
from labkit.gpu.kernels.vectors import spread, store_vector
from numba_simt.extensions.vector import load_float32x4


@cache
def register_tile(
    load_a: Callable,
    load_b: Callable,
    store_c: Callable,
    tile: Tile = (128, 128, 8),
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
    `tile`: (BM, BN, BK); a block makes BM x BN results, BK products at a time. `grid_and_block`
    tells how to launch it; with several splits, each takes its share of K, and store_c must add
    atomically. BK = 8 leaves registers for values of k + 1 to arrive while those of k are used; 16
    does not. `block`: threads; by default each holds 8 x 8 results, or 4 x 4 if BM or BN is 32.
    `name`: the kernel's. ValueError for what does not fit together.
    """
    if load_a_along not in ("m", "k") or load_b_along not in ("n", "k"):
        both = f"load_a_along, {load_a_along!r}, may be 'm' or 'k', and load_b_along"
        raise ValueError(f"{name}: {both}, {load_b_along!r}, may be 'n' or 'k'.")
    block = block or threads_of(tile)
    results_of_thread(tile, block)  # refuses what does not fit

    @cuda.jit(device=True, forceinline=True)
    def load_b_turned(b, n, k):
        return load_b(b, k, n)

    BM, BN, BK = tile
    stage_a = _stage(load_a, BM, BK, block, load_a_along == "k", vectors)
    stage_b = _stage(load_b_turned, BN, BK, block, load_b_along == "k", vectors)
    store = _store(tile, block, _put(store_c, bias, vectors))
    product = _product(tile, block, stage_a, stage_b, store)

    def plain(a, b, c, M, N, K):
        product(a, b, c, c, M, N, K)

    def biased(a, b, d, c, M, N, K):
        product(a, b, d, c, M, N, K)

    function = biased if bias else plain
    function.__name__ = function.__qualname__ = name
    return cuda.jit(launch_bounds=launch_bounds(block))(function)


def _product(tile: Tile, block: int, stage_a: tuple, stage_b: tuple, store: Callable) -> Callable:
    """product(a, b, d, c, M, N, K): the whole of what a block does."""
    BM, BN, BK = tile
    TM, TN = results_of_thread(tile, block)
    fetch_a, keep_a = stage_a
    fetch_b, keep_b = stage_b
    add = _add(tile, block)
    place = _place_of_thread(BN // TN // 8)
    terms = _terms(BK)
    held_a = BM * BK // block  # elements of a tile that a thread carries
    held_b = BN * BK // block
    a_shape = (2, BK, BM + 4)  # + 4: no bank conflicts when turned
    b_shape = (2, BK, BN + 4)

    @cuda.jit(device=True, forceinline=True)
    def product(a, b, d, c, M, N, K):
        a_tile = cuda.shared.array(a_shape, float32, alignment=16)  # [buffer, k, m]
        b_tile = cuda.shared.array(b_shape, float32, alignment=16)  # [buffer, k, n]
        total = cuda.local.array((TM, TN), float32)
        next_a = cuda.local.array(held_a, float32)
        next_b = cuda.local.array(held_b, float32)
        m0 = uint32(cuda.blockIdx.y) * uint32(BM)
        n0 = uint32(cuda.blockIdx.x) * uint32(BN)
        y, x = place()
        k0, last = terms(K)
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
        store(total, c, m0, n0, y, x, M, N, d)

    return product


def _place_of_thread(warps_across: int) -> Callable:
    """A device function: the first row and column of the tile whose result the thread holds."""

    @cuda.jit(device=True, forceinline=True)
    def place():
        lane = uint32(cuda.threadIdx.x) % uint32(32)
        warp = uint32(cuda.threadIdx.x) // uint32(32)
        warp_y = warp // uint32(warps_across)
        warp_x = warp % uint32(warps_across)
        y = warp_y * uint32(4) + lane // uint32(16) * uint32(2) + lane % uint32(2)
        x = warp_x * uint32(8) + lane // uint32(2) % uint32(8)
        return uint32(y * uint32(4)), uint32(x * uint32(4))

    return place


def _terms(BK: int) -> Callable:
    """A device function: the first term of the block's share of K, and the end of the share."""

    @cuda.jit(device=True, forceinline=True)
    def terms(K):
        tiles = (uint32(K) + uint32(BK - 1)) // uint32(BK)
        share = (tiles + uint32(cuda.gridDim.z - 1)) // uint32(cuda.gridDim.z) * uint32(BK)
        first = uint32(uint32(cuda.blockIdx.z) * share)
        return first, uint32(min(first + share, uint32(K)))

    return terms


def _add(tile: Tile, block: int) -> Callable:
    """A device function: total[i, j] += a[m_i, k] b[k, n_j], both from shared memory."""
    BM, BN, _ = tile
    TM, TN = results_of_thread(tile, block)

    @cuda.jit(device=True, forceinline=True)
    def add(total, a_tile, b_tile, k, y, x):
        column = cuda.local.array(TM, float32)
        row = cuda.local.array(TN, float32)
        for i in range(0, TM, 4):
            where = uint32(k), y + uint32(i * BM // TM)
            spread(load_float32x4(a_tile, where), column[i : i + 4])
        for j in range(0, TN, 4):
            where = uint32(k), x + uint32(j * BN // TN)
            spread(load_float32x4(b_tile, where), row[j : j + 4])
        for i in range(TM):
            for j in range(TN):
                total[i, j] += column[i] * row[j]

    return add


def _stage(load: Callable, size: int, BK: int, block: int, along_k: bool, vectors: bool) -> tuple:
    """fetch and keep, for one operand: global memory -> registers -> shared memory."""
    place = _place_of_element(size, BK, block, along_k, vectors)
    held_by_thread = size * BK // block
    width = 4 if vectors else 1  # elements in one access

    @cuda.jit(device=True, forceinline=True)
    def fetch(array, m0, k0, held):
        for i in range(0, held_by_thread, width):
            k, m = place(i)
            if vectors:
                spread(load(array, uint32(m0 + m), uint32(k0 + k)), held[i : i + 4])
            else:
                held[i] = load(array, uint32(m0 + m), uint32(k0 + k))

    @cuda.jit(device=True, forceinline=True)
    def keep(held, tile):
        for i in range(0, held_by_thread, width):
            k, m = place(i)
            if along_k:
                for j in range(width):
                    tile[k + uint32(j), m] = held[i + j]
            elif vectors:
                store_vector(tile, (k, m), held[i : i + 4])
            else:
                tile[k, m] = held[i]

    return fetch, keep


def _place_of_element(size: int, BK: int, block: int, along_k: bool, vectors: bool) -> Callable:
    """A device function: (k, m), where in the tile the i-th element of a thread lies."""
    width = 4 if vectors else 1

    @cuda.jit(device=True, forceinline=True)
    def place(i):
        t = uint32(uint32(cuda.threadIdx.x) * uint32(width) + uint32(i * block))
        if along_k:
            return uint32(t % uint32(BK)), uint32(t // uint32(BK))
        return uint32(t // uint32(size)), uint32(t % uint32(size))

    return place


def _store(tile: Tile, block: int, put: Callable) -> Callable:
    """A device function: the thread's results to c; its first one lies at (m0 + y, n0 + x)."""
    BM, BN, _ = tile
    TM, TN = results_of_thread(tile, block)

    @cuda.jit(device=True, forceinline=True)
    def store(total, c, m0, n0, y, x, M, N, d):
        for i in range(TM):
            m = uint32(m0 + y + uint32(i // 4 * 4 * BM // TM + i % 4))
            for j in range(0, TN, 4):
                n = uint32(n0 + x + uint32(j * BN // TN))
                if m < uint32(M):
                    put(c, m, n, uint32(N), total[i, j : j + 4], d)

    return store


def _put(store_c: Callable, bias: bool, vectors: bool) -> Callable:
    """A device function that stores four neighbours in a row of c."""

    @cuda.jit(device=True, forceinline=True)
    def put(c, m, n, N, four, d):
        if vectors:
            if n < N:
                store_c(c, m, n, four)
        else:
            for j in range(4):
                if n + uint32(j) < N:
                    if bias:
                        store_c(c, m, uint32(n + uint32(j)), four[j], d)
                    else:
                        store_c(c, m, uint32(n + uint32(j)), four[j])

    return put
