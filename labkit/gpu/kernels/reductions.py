"""Sums: of a warp by shuffles, of a block through shared memory, of rows and of columns.

Lanes along a row read neighbours, so the best number of threads for a row depends on its length:
a warp for short ones, a block for long ones. (Lesson memory_and_warps derives the tree.)
"""

from collections.abc import Callable
from functools import lru_cache
from math import inf

from numpy import float32, int32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.vectors import spread, store_vector
from numba_simt.extensions.vector import load_float32x4

EACH = 16  # elements of a row that a lane holds at once: four accesses of 16 bytes under way
ALL = 0xFFFFFFFF  # all 32 lanes take part


@cuda.jit(device=True)
def warp_sum(value):
    """sum of the 32 lanes' values, in every lane: log2(32) = 5 exchanges"""
    for i in range(5):
        value += cuda.shfl_xor_sync(ALL, value, int32(1 << i))
    return value


@cuda.jit(device=True)
def warp_max(value):
    """largest of the 32 lanes' values, in every lane"""
    for i in range(5):
        value = max(value, cuda.shfl_xor_sync(ALL, value, int32(1 << i)))
    return value


def over_block(over_warp: Callable, nothing: float) -> Callable:
    """A reduction of the block from that of a warp; all threads call it, all get the result.

    `nothing`: what changes no result. The block has one dimension, of a multiple of 32 threads.
    """

    @cuda.jit(device=True)
    def reduce(value):
        partial = cuda.shared.array(32, float32)  # a number for each warp
        lane = uint32(cuda.threadIdx.x) % uint32(32)
        warp = uint32(cuda.threadIdx.x) // uint32(32)
        value = over_warp(value)
        if lane == uint32(0):
            partial[warp] = value
        cuda.syncthreads()
        has_one = lane < uint32(cuda.blockDim.x) // uint32(32)
        value = over_warp(partial[lane] if has_one else float32(nothing))
        cuda.syncthreads()  # before somebody writes `partial` again
        return value

    return reduce


block_sum = over_block(warp_sum, 0.0)
block_max = over_block(warp_max, -inf)


def over_lanes(lanes: int) -> tuple[Callable, Callable]:
    """Sum and maximum over the lanes of a row: a warp, or a whole block."""
    return (warp_sum, warp_max) if lanes == 32 else (block_sum, block_max)


@lru_cache
def row_access(lanes: int, step: int) -> tuple[Callable, Callable, Callable]:
    """load(x, row, first, nothing, values), store(y, row, first, values), column(first, v).

    They move `lanes` x 16 elements of a row of x[N,K], from column `first` on; a lane has 16 of
    them, values[v] from column(first, v). Beyond the row, values are `nothing`. `step`: neighbours
    in one access, 4 if 4 divides K, so that rows lie at multiples of 16 bytes; else 1.
    """

    @cuda.jit(device=True)
    def column(first, v):
        lane = uint32(cuda.threadIdx.x)
        return first + uint32(v // step * step * lanes + v % step) + uint32(step) * lane

    @cuda.jit(device=True)
    def load(x, row, first, nothing, values):
        for v in range(EACH):
            values[v] = nothing
        for v in range(0, EACH, step):
            k = column(first, v)
            if k < uint32(x.shape[1]):
                if step == 4:
                    spread(load_float32x4(x, (row, k)), values[v : v + 4])
                else:
                    values[v] = x[row, k]

    @cuda.jit(device=True)
    def store(y, row, first, values):
        for v in range(0, EACH, step):
            k = column(first, v)
            if k < uint32(y.shape[1]):
                if step == 4:
                    store_vector(y, (row, k), values[v : v + 4])
                else:
                    y[row, k] = values[v]

    return load, store, column


def plan_rows(kernel_for: Callable, N: int, K: int, most: int) -> Plan:
    """kernel_for(lanes, step): 32 to `most` lanes for a row of K, enough for 16 elements each.

    A block is (lanes, rows): one row, or eight if a warp is enough for each.
    """
    needed = -(-K // EACH)
    power_of_2 = 1 << (needed - 1).bit_length()  # the next one from `needed` on
    lanes = min(most, max(32, power_of_2))
    rows = 8 if lanes == 32 else 1
    return Plan(kernel_for(lanes, 1 if K % 4 else 4), -(-N // rows), (lanes, rows))


@cuda.jit(device=True)
def block_row():
    """The row of the thread's lanes, in a launch by `plan_rows`."""
    return uint32(cuda.blockIdx.x) * uint32(cuda.blockDim.y) + uint32(cuda.threadIdx.y)


@lru_cache
def _row_sum(lanes: int, step: int) -> Callable:
    load, _, _ = row_access(lanes, step)
    added, _ = over_lanes(lanes)

    @cuda.jit
    def row_sum(x, y):
        row = block_row()
        if row < uint32(x.shape[0]):  # equal in all lanes of a row
            values = cuda.local.array(EACH, float32)
            total = float32(0)
            for first in range(uint32(0), uint32(x.shape[1]), uint32(EACH * lanes)):
                load(x, row, first, float32(0), values)
                for v in range(EACH):
                    total += values[v]
            total = added(total)
            if cuda.threadIdx.x == 0:
                y[row] = total

    return row_sum


def plan_row_sum(N: int, K: int) -> Plan:
    """row_sum(x, y): y[n] = sum_k x[n,k], x[N,K], y[N]. The oracle is x.sum(axis=1)."""
    return plan_rows(_row_sum, N, K, most=256)


@cuda.jit
def column_sum(x, y):
    """y[k] = sum_n x[n,k], x[N,K], y[K]: lanes along the columns, the warps share the rows"""
    partial = cuda.shared.array((8, 32), float32)
    lane = uint32(cuda.threadIdx.x)
    warp = uint32(cuda.threadIdx.y)
    k = uint32(cuda.blockIdx.x) * uint32(32) + lane
    total = float32(0)
    if k < uint32(x.shape[1]):
        for n in range(warp, uint32(x.shape[0]), uint32(8)):
            total += x[n, k]
    partial[warp, lane] = total
    cuda.syncthreads()
    if warp == uint32(0) and k < uint32(x.shape[1]):
        for other in range(1, 8):
            total += partial[other, lane]
        y[k] = total


def plan_column_sum(N: int, K: int) -> Plan:
    """column_sum(x, y): x[N,K], y[K]. The oracle is x.sum(axis=0)."""
    return Plan(column_sum, -(-K // 32), (32, 8))
