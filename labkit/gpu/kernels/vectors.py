"""Elements of a matrix, one by one or four neighbours at once, with a guard at its edges.

Lesson tiles derives how kernels use the 16-byte accesses of `numba_simt.extensions.vector`. All
are device functions; indices are uint32, arrays C-contiguous.

Dense: each function is the guard and the address of one access.
"""

from collections.abc import Callable

from numpy import float32, uint32

from labkit.gpu import cuda
from numba_simt.extensions.vector import load_float32x4, load_uint32x4, store_float32x4


@cuda.jit(device=True, forceinline=True)
def spread(four, values):
    """values[0:4] = four"""
    values[0], values[1], values[2], values[3] = four


@cuda.jit(device=True, forceinline=True)
def store_vector(array, index, values):
    """array[index] and its three right neighbours = values[0:4]"""
    store_float32x4(array, index, values[0], values[1], values[2], values[3])


@cuda.jit(device=True)
def store(array, row, column, value):
    """array[row, column] = value"""
    array[row, column] = value


@cuda.jit(device=True, forceinline=True)
def store4(array, row, column, values):
    """array[row, column : column + 4] = values[0:4], without those that lie outside"""
    N = uint32(array.shape[1])
    if N % uint32(4) == uint32(0):
        store_vector(array, (row, column), values)
    else:
        for j in range(4):
            if column + uint32(j) < N:
                array[row, column + uint32(j)] = values[j]


def loaders(kind: type, load_x4: Callable) -> tuple[Callable, Callable]:
    """load(array, row, column): the element, 0 outside; load4: four neighbours in a row, likewise.

    `column` of load4 is a multiple of 4; `kind` is that of the elements.
    """

    @cuda.jit(device=True, forceinline=True)
    def load(array, row, column):
        if row < uint32(array.shape[0]) and column < uint32(array.shape[1]):
            return array[row, column]
        return kind(0)

    @cuda.jit(device=True, forceinline=True)
    def load4(array, row, column):
        if uint32(array.shape[1]) % uint32(4):  # rows do not start on multiples of 16 bytes
            x = load(array, row, column)
            y = load(array, row, column + uint32(1))
            z = load(array, row, column + uint32(2))
            w = load(array, row, column + uint32(3))
            return x, y, z, w
        if row < uint32(array.shape[0]) and column < uint32(array.shape[1]):
            return load_x4(array, (row, column))
        return kind(0), kind(0), kind(0), kind(0)

    return load, load4


load, load4 = loaders(float32, load_float32x4)
_, load_words4 = loaders(uint32, load_uint32x4)
