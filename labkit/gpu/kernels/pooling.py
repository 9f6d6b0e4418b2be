"""Max-pooling, forward and backward, and bias, ReLU and pooling in one pass over memory.

The pass is the point: three kernels would write and read the convolution's output, the largest
array of the network, twice more. (Lesson a_training_step_on_the_gpu.)
"""

from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan, thread_each
from labkit.gpu.kernels.direct_convolution import split3, split4, windows_in
from labkit.gpu.kernels.reductions import block_sum
from labkit.gpu.kernels.vectors import spread, store_vector
from labkit.shapes import fit_integer
from numba_simt.extensions.vector import load_float32x4

THREADS = 256  # of a block
ZERO = np.float32(0)  # 0.0 would be float64
Shape = tuple[int, int, int, int]


@cuda.jit(device=True, forceinline=True)
def first_maximum(x, n, c, top, left, size):
    """Value, row and column of the first maximum of size x size pixels; NaN counts as one."""
    # A best value and its place change at once: as three assignments they cost 8 more registers.
    best, row, column = x[n, c, top, left], top, left
    for r in range(size):
        for s in range(size):
            value = x[n, c, top + uint32(r), left + uint32(s)]
            if not (value <= best or best != best):
                best, row, column = value, top + uint32(r), left + uint32(s)
    return best, row, column


@lru_cache
def plan_maxpool2d(shape: Shape, size: int = 2, stride: int = 2) -> Plan:
    """maxpool2d(x, y): x[N,C,H,W] of this shape, y[N,C,P,Q]; a thread for each output.

    y[n,c,p,q] = max_r max_s x[n, c, p*stride + r, q*stride + s]
    Oracle: labkit.reference.maxpool2d.
    """
    N, C, P, Q = map(uint32, outputs(shape, size, stride))
    step = uint32(stride)

    @cuda.jit
    def maxpool2d(x, y):
        n, c, p, q = split4(uint32(cuda.grid(1)), C, P, Q)
        if n < N:
            best, _, _ = first_maximum(x, n, c, uint32(p * step), uint32(q * step), size)
            y[n, c, p, q] = best

    return thread_each(maxpool2d, outputs(shape, size, stride), THREADS)


@lru_cache
def plan_maxpool2d_backward(shape: Shape, size: int = 2, stride: int = 2) -> Plan:
    """maxpool2d_backward(dy, x, dx): dy[N,C,P,Q], x and dx of this shape; a thread for each pixel.

    dx[n,c,i,j] = sum of dy[n,c,p,q] over the windows whose first maximum is at (i, j): each pixel
    gathers from the windows that hold it, so that no two threads write one place.
    Oracle: labkit.reference.maxpool2d_backward.
    """
    N, C, H, W = map(uint32, shape)
    _, _, P, Q = map(uint32, outputs(shape, size, stride))
    step = uint32(stride)
    extent = uint32(size)

    @cuda.jit(device=True)
    def holding(i, most):
        """First and end of the windows p that hold i: p*stride <= i < p*stride + size"""
        first = (max(i + step, extent + step - uint32(1)) - extent) // step
        return first, min(i // step + uint32(1), most)

    @cuda.jit
    def maxpool2d_backward(dy, x, dx):
        n, c, i, j = split4(uint32(cuda.grid(1)), C, H, W)
        if n < N:
            total = ZERO
            p0, p1 = holding(i, P)
            q0, q1 = holding(j, Q)
            for p in range(p0, p1):
                for q in range(q0, q1):
                    top = uint32(p * step)
                    left = uint32(q * step)
                    _, row, column = first_maximum(x, n, c, top, left, size)
                    if row == i and column == j:
                        total += dy[n, c, uint32(p), uint32(q)]
            dx[n, c, i, j] = total

    return thread_each(maxpool2d_backward, shape, THREADS)


def outputs(shape: Shape, size: int, stride: int) -> Shape:
    """[N,C,P,Q]: P = (H - size) // stride + 1, and Q likewise; ValueError if no window fits."""
    fit_integer("max-pooling", "size", size, at_least=1)
    P, Q = windows_in("max-pooling", shape, (size, size), stride)
    return shape[0], shape[1], P, Q


class Fused(NamedTuple):
    """bias_relu_pool and its backward kernel, with the grid and the block of both."""

    forward: Plan
    backward: Plan


@lru_cache
def plan_bias_relu_pool(shape: Shape) -> Fused:
    """Bias, ReLU and 2 x 2 max-pooling of x[N,K,H,W], flat arrays; b[K], y[N,K,P,Q].

    forward: bias_relu_pool(x, b, y), y[n,k,p,q] = max(0, b[k] + max_r max_s x[n,k,2p+r,2q+s])
    backward: bias_relu_pool_backward(dy, x, b, dx, db); db[K] must be 0 at the start.
    A thread has a patch of 2 x 4 pixels, two windows: if 4 divides W, two accesses of 16 bytes.
    Oracle: maxpool2d(relu(x + b[:, None, None])) of labkit.reference, and their backwards.
    """
    pooled = outputs(shape, 2, 2)
    N, K, H, W = shape
    down = -(-H // 2)  # patches; at odd edges partly outside
    across = -(-W // 4)
    grid = -(-N * down * across // THREADS), K
    step = 1 if W % 4 else 4  # neighbours in one access
    patch = _patch(N, K, down, across)
    place = _place(H, W)
    load_patch = _load_patch(place, step)
    forward = _bias_relu_pool(pooled, patch, load_patch)
    backward = _bias_relu_pool_backward(pooled, patch, load_patch, place, step)
    return Fused(Plan(forward, grid, THREADS), Plan(backward, grid, THREADS))


@cuda.jit(device=True)
def first_positive(values, window):
    """Largest value of a window, at least 0, and its tap, -1 if none is above 0; NaN counts."""
    best, first = ZERO, -1
    for tap in range(4):
        value = values[tap // 2, 2 * window + tap % 2]
        if not (value <= best or best != best):
            best, first = value, tap
    return best, first


def _patch(N: int, K: int, down: int, across: int) -> Callable:
    images = uint32(N)
    channels = uint32(K)
    rows = uint32(down)
    columns = uint32(across)

    @cuda.jit(device=True)
    def patch():
        """The thread's plane of x and of y; row and column of its patch; whether there is one."""
        n, row, column = split3(uint32(cuda.grid(1)), rows, columns)
        plane = uint32(n * channels + uint32(cuda.blockIdx.y))
        return plane, row, column, n < images

    return patch


def _place(H: int, W: int) -> Callable:
    height = uint32(H)
    width = uint32(W)

    @cuda.jit(device=True)
    def place(plane, row, column, r, s):
        """Where pixel (r, s) of a patch lies in the flat array, and whether there is one."""
        i = uint32(2) * row + uint32(r)
        j = uint32(4) * column + uint32(s)
        return (plane * height + i) * width + j, i < height and j < width

    return place


def _load_patch(place: Callable, step: int) -> Callable:
    @cuda.jit(device=True)
    def load_patch(x, plane, row, column, bias, values):
        """values[r, s] = x + bias, or -inf where there is no pixel"""
        for r in range(2):
            for s in range(4):
                values[r, s] = float32(-inf)
            for s in range(0, 4, step):
                at, there = place(plane, row, column, r, s)
                if there and step == 4:
                    spread(load_float32x4(x, at), values[r])
                elif there:
                    values[r, s] = x[at]
        for r in range(2):  # after all loads are under way
            for s in range(4):
                values[r, s] += bias

    return load_patch


def _bias_relu_pool(pooled: Shape, patch: Callable, load_patch: Callable) -> Callable:
    _, _, P, Q = map(uint32, pooled)

    @cuda.jit
    def bias_relu_pool(x, b, y):
        values = cuda.local.array((2, 4), float32)
        plane, row, column, there = patch()
        if there and row < P:
            load_patch(x, plane, row, column, b[uint32(cuda.blockIdx.y)], values)
            for window in range(2):
                q = uint32(2) * column + uint32(window)
                best, _ = first_positive(values, window)
                if q < Q:
                    y[(plane * P + row) * Q + q] = best

    return bias_relu_pool


def _bias_relu_pool_backward(
    pooled: Shape, patch: Callable, load_patch: Callable, place: Callable, step: int
) -> Callable:
    _, _, P, Q = map(uint32, pooled)

    @cuda.jit
    def bias_relu_pool_backward(dy, x, b, dx, db):
        k = uint32(cuda.blockIdx.y)
        values = cuda.local.array((2, 4), float32)
        gradients = cuda.local.array(2, float32)
        total = ZERO
        plane, row, column, there = patch()
        if there:
            for window in range(2):
                q = uint32(2) * column + uint32(window)
                has_output = row < P and q < Q
                gradients[window] = dy[(plane * P + row) * Q + q] if has_output else ZERO
            load_patch(x, plane, row, column, b[k], values)
            for window in range(2):
                _, first = first_positive(values, window)
                for tap in range(4):
                    gradient = gradients[window] if tap == first else ZERO
                    values[tap // 2, 2 * window + tap % 2] = gradient
                    total += gradient
            for r in range(2):
                for s in range(0, 4, step):
                    at, inside = place(plane, row, column, r, s)
                    if inside and step == 4:
                        store_vector(dx, at, values[r])
                    elif inside:
                        dx[at] = values[r, s]
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(db, k, total)

    return bias_relu_pool_backward
