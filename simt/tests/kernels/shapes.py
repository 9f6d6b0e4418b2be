"""Kernels for any shape, type and launch geometry, to be compared with Numba's simulator."""

import math

from numba import float32, uint8

from . import cuda


@cuda.jit
def integer_arithmetic(x, y, out):
    """Results of one type, in the rows of out; y is never zero."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] // y[i]
        out[4, i] = x[i] % y[i]
        out[5, i] = min(x[i], y[i])
        out[6, i] = max(x[i], y[i])
        out[7, i] = x[i] & y[i]
        out[8, i] = x[i] | y[i]
        out[9, i] = x[i] ^ y[i]
        out[10, i] = ~x[i]
        out[11, i] = x[i] << uint8(i % 7)
        out[12, i] = x[i] >> uint8(i % 7)
        out[13, i] = x[i] < y[i]
        out[14, i] = x[i] == y[i] or x[i] >= y[i]


@cuda.jit
def float_arithmetic(x, y, out):
    """Python's rules of sign for the floor division and the remainder; y is never zero."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] / y[i]
        out[4, i] = x[i] // y[i]
        out[5, i] = x[i] % y[i]
        out[6, i] = min(x[i], y[i])
        out[7, i] = max(-x[i], y[i])
        out[8, i] = abs(x[i]) ** 2
        out[9, i] = x[i] < y[i]
        out[10, i] = math.exp(min(x[i], y[i]) / 8)
        out[11, i] = math.sqrt(abs(x[i]))
        out[12, i] = math.sin(x[i]) + math.cos(y[i]) + math.tanh(x[i])
        out[13, i] = math.floor(x[i]) + math.ceil(y[i])
        out[14, i] = math.atan2(x[i], y[i]) + math.hypot(x[i], y[i])


@cuda.jit
def half_arithmetic(x, y, out):
    """Every result is rounded to half."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] / y[i]
        out[4, i] = -x[i]
        out[5, i] = abs(x[i])


@cuda.jit
def complex_arithmetic(x, y, out):
    """The four operations, and the parts of a number."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] / y[i]
        out[4, i] = -x[i]
        out[5, i] = complex(y[i].imag, x[i].real)
        out[6, i] = abs(x[i])
        out[7, i] = x[i].conjugate()


@cuda.jit
def mixed_types(a, b, c, scale, out):
    """Types meet by Numba's rules, and the store converts."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * b[i] + c[i] * scale


@cuda.jit
def box(x, out):
    """A box of any size, walked over by a grid of any size."""
    sx, sy, sz = cuda.gridsize(3)
    fx, fy, fz = cuda.grid(3)
    for i in range(fz, x.shape[0], sz):
        for j in range(fy, x.shape[1], sy):
            for k in range(fx, x.shape[2], sx):
                out[k, i, j] = x[i, j, k] + 100 * i + 10 * j + k


@cuda.jit
def where_am_i(out):
    """The coordinates of every thread."""
    block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    inner = cuda.threadIdx.x + cuda.blockDim.x * (
        cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z
    )
    row = block * cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + inner
    x, y, z = cuda.grid(3)
    out[row, 0], out[row, 1], out[row, 2] = x, y, z
    out[row, 3] = cuda.threadIdx.x + 10 * cuda.threadIdx.y + 100 * cuda.threadIdx.z
    out[row, 4] = cuda.laneid + 100 * cuda.warpsize


@cuda.jit
def slices(x, start, stop, out):
    """Views of an array, with Python's rules for their ends."""
    i = cuda.grid(1)
    third = x[start::3]
    if i < third.size:
        out[0, i] = third[i]
    part = x[start:stop]
    if i < len(part):
        out[1, i] = part[-1 - i]
    down = x[stop:start:-2]
    if i < down.shape[0]:
        out[2, i] = down[i]


@cuda.jit
def block_sums(x, out):
    """A sum for each block, of any number of threads, by a tree in dynamic shared memory."""
    s = cuda.shared.array(0, float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    while n > 1:
        half = (n + 1) // 2
        if t < n - half:
            s[t] += s[t + half]
        cuda.syncthreads()
        n = half
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
