"""Kernels that treat each element by itself: copy, ReLU, bias, forward and backward; SGD's step.

They do next to no arithmetic, so memory decides: a block takes a tile of 4,096 neighbours, a thread
16 of them, in four accesses of 16 bytes that are all under way before the first value is used.
"""

from functools import lru_cache

import numpy as np
from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.vectors import spread, store_vector
from numba_simt.extensions.vector import load_float32x4

THREADS = 256  # of a block
EACH = 16  # elements of a thread
TILE = THREADS * EACH
ZERO = np.float32(0)  # 0.0 would be float64


@cuda.jit(device=True)
def whole(size):
    """Has the block a whole tile? If not, it is the last one, and goes element by element."""
    return uint32(cuda.blockIdx.x + 1) * uint32(TILE) <= size


@cuda.jit(device=True)
def element(v, size):
    """Where the thread's v-th value lies: neighbours by fours, or side by side with its warp's."""
    first = uint32(cuda.blockIdx.x) * uint32(TILE)
    t = uint32(cuda.threadIdx.x)
    if whole(size):
        return first + uint32(v // 4 * 4 * THREADS + v % 4) + uint32(4) * t
    return first + uint32(v * THREADS) + t


@cuda.jit(device=True)
def load_tile(x, values):
    """values[0:16]: this thread's share of the block's tile of x[size], a flat array."""
    size = uint32(x.size)
    if whole(size):
        for v in range(0, EACH, 4):
            spread(load_float32x4(x, element(v, size)), values[v : v + 4])
    else:
        for v in range(EACH):
            i = element(v, size)
            values[v] = x[i] if i < size else ZERO


@cuda.jit(device=True)
def store_tile(x, values):
    """The way back: the same elements of x[size] from values[0:16]."""
    size = uint32(x.size)
    if whole(size):
        for v in range(0, EACH, 4):
            store_vector(x, element(v, size), values[v : v + 4])
    else:
        for v in range(EACH):
            if element(v, size) < size:
                x[element(v, size)] = values[v]


def plan_tiles(kernel: object, size: int) -> Plan:
    """A launch over flat arrays of `size` elements."""
    return Plan(kernel, -(-size // TILE), THREADS)


@cuda.jit
def copy(x, y):
    """y[i] = x[i], float32[size]"""
    values = cuda.local.array(EACH, float32)
    load_tile(x, values)
    store_tile(y, values)


def plan_copy(size: int) -> Plan:
    """copy(x, y): flat float32 arrays."""
    return plan_tiles(copy, size)


@cuda.jit
def relu(x, y):
    """y[i] = max(x[i], 0), float32[size]; NaN stays NaN"""
    values = cuda.local.array(EACH, float32)
    load_tile(x, values)
    for v in range(EACH):
        value = values[v]
        values[v] = ZERO if value < ZERO else value
    store_tile(y, values)


def plan_relu(size: int) -> Plan:
    """relu(x, y): flat float32 arrays. Oracle: labkit.reference.relu."""
    return plan_tiles(relu, size)


@cuda.jit
def relu_backward(dy, x, dx):
    """dx[i] = dy[i] where x[i] > 0, else 0, float32[size]; x or y = relu(x), the signs are equal"""
    values = cuda.local.array(EACH, float32)
    gradients = cuda.local.array(EACH, float32)
    load_tile(x, values)
    load_tile(dy, gradients)
    for v in range(EACH):
        gradient = gradients[v]
        gradients[v] = gradient if values[v] > ZERO else ZERO
    store_tile(dx, gradients)


def plan_relu_backward(size: int) -> Plan:
    """relu_backward(dy, x, dx): flat float32 arrays. Oracle: labkit.reference.relu_backward."""
    return plan_tiles(relu_backward, size)


@lru_cache
def plan_bias_add(N: int, K: int, S: int = 1) -> Plan:
    """bias_add(x, b, y): flat x and y of [N,K,S], b[K]. S is 1 for a linear layer, else H W.

    y[n,k,s] = x[n,k,s] + b[k]; the oracle is x + b[:, None]. Backward is a sum, and in
    `reductions`: db[k] = sum_n sum_s dy[n,k,s] is column_sum of row_sum of dy[NK,S] as [N,K].
    """

    @cuda.jit
    def bias_add(x, b, y):
        values = cuda.local.array(EACH, float32)
        size = uint32(x.size)
        load_tile(x, values)
        for v in range(EACH):
            values[v] += b[element(v, size) // uint32(S) % uint32(K)]
        store_tile(y, values)

    return plan_tiles(bias_add, N * K * S)


@cuda.jit
def sgd_momentum(p, g, v, lr, momentum):
    """v <- momentum v + g;  p <- p - lr v;  flat float32[size], lr and momentum np.float32"""
    gradients = cuda.local.array(EACH, float32)
    parameters = cuda.local.array(EACH, float32)
    velocities = cuda.local.array(EACH, float32)
    load_tile(g, gradients)
    load_tile(p, parameters)
    load_tile(v, velocities)
    for i in range(EACH):
        velocities[i] = momentum * velocities[i] + gradients[i]
        parameters[i] -= lr * velocities[i]
    store_tile(p, parameters)
    store_tile(v, velocities)


def plan_sgd_momentum(size: int) -> Plan:
    """sgd_momentum(p, g, v, lr, momentum): three reads and two writes for each weight.

    PyTorch's convention: velocities start at 0. Oracle: labkit.reference.sgd.
    """
    return plan_tiles(sgd_momentum, size)
