"""c = a b: a[M, K], b[K, N], c[M, N], float32, row-major, of any size. Oracle: a @ b in float64.

    c[m, n] = sum over k of a[m, k] b[k, n]

Seven kernels that do the same 2 M N K operations, each with less traffic than the one before:
LADDER. The first three are here, those with results in registers in register_tiles.py. Derived
in lesson tiles.

Dense: a line of a kernel is an address or a product, as the formula above has it.
"""

from typing import Any, NamedTuple

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan, register_tiles

TILE = 32  # rows and columns of a block in the first three kernels


@cuda.jit(device=True)
def one_element(a, b, c, m, n, M, N, K):
    """c[m, n] = sum over k of a[m, k] b[k, n]"""
    if m < uint32(M) and n < uint32(N):
        total = float32(0)
        k = uint32(0)
        while k < uint32(K):  # a third of the instructions that Numba makes of range(K)
            total += a[m, k] * b[k, n]
            k += uint32(1)
        c[m, n] = total


@cuda.jit
def naive(a, b, c, M, N, K):
    """One thread per element. x, along which the lanes of a warp lie, is the row: a step in a and c
    jumps over a whole row, so that each lane has a sector of its own."""
    x, y = cuda.grid(2)
    one_element(a, b, c, uint32(x), uint32(y), M, N, K)


@cuda.jit
def coalesced(a, b, c, M, N, K):
    """The same with x as the column: lanes read neighbours of b, and share their element of a."""
    x, y = cuda.grid(2)
    one_element(a, b, c, uint32(y), uint32(x), M, N, K)


@cuda.jit
def shared_tile(a, b, c, M, N, K):
    """The block fetches 32 x 32 of a and of b once; each element then serves 32 threads."""
    a_tile = cuda.shared.array((TILE, TILE), float32, alignment=16)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    row, column = uint32(cuda.threadIdx.y), uint32(cuda.threadIdx.x)
    m = uint32(cuda.blockIdx.y) * uint32(TILE) + row
    n = uint32(cuda.blockIdx.x) * uint32(TILE) + column
    total = float32(0)
    for k0 in range(uint32(0), uint32(K), uint32(TILE)):
        a_tile[row, column] = float32(0)  # outside of the matrices
        b_tile[row, column] = float32(0)
        if m < uint32(M) and k0 + column < uint32(K):
            a_tile[row, column] = a[m, k0 + column]
        if k0 + row < uint32(K) and n < uint32(N):
            b_tile[row, column] = b[k0 + row, n]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[row, k] * b_tile[k, column]
        cuda.syncthreads()
    if m < uint32(M) and n < uint32(N):
        c[m, n] = total


class Rung(NamedTuple):
    """A kernel of the ladder, the rows and columns of c that a block makes, and its threads."""

    kernel: Any
    tile: tuple[int, int]
    block: Any


LADDER: dict[str, Rung] = {
    "naive": Rung(naive, (16, 16), (16, 16)),
    "coalesced": Rung(coalesced, (TILE, TILE), (TILE, TILE)),
    "shared tile": Rung(shared_tile, (TILE, TILE), (TILE, TILE)),
    "1-D register tile": Rung(register_tiles.tile_1d, (64, 64), 512),
    "2-D register tile": Rung(register_tiles.tile_2d, (128, 128), 256),
    "vector loads": Rung(register_tiles.vector_loads, (128, 128), 256),
    "tuned": Rung(register_tiles.tuned, (128, 128), 256),
}


def plan_matmul(M: int, N: int, rung: str = "tuned") -> Plan:
    """How to launch kernel(a, b, c, M, N, K) of a rung for c[M, N]; ValueError for no rung."""
    if rung not in LADDER:
        raise ValueError(f"There is no rung {rung!r}, but {', '.join(LADDER)}.")
    kernel, (rows, columns), block = LADDER[rung]
    across = -(-N // columns)
    down = -(-M // rows)
    if rung == "naive":  # whose x is the row
        return Plan(kernel, (down, across), block)
    return Plan(kernel, (across, down), block)
