"""The solutions of lesson 01_gpu/8_convolution_kernels. Written by `labkit build` from

chapters/01_gpu/source/convolution_kernels/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.gpu import cuda
from labkit.gpu.kernels.reductions import block_sum


zero, random = np.float32(0), np.random.default_rng(0)


@cuda.jit(device=True)
def place(i, a):
    """The four indices of element number i of a"""
    B, C, D = a.shape[1], a.shape[2], a.shape[3]
    return i // (B * C * D), i // (C * D) % B, i // D % C, i % D


@cuda.jit
def conv2d_kernel(x, w, b, stride, padding, y):
    """x [N, C, H, W], w [K, C, R, S], b [K]  ->  y [N, K, P, Q], float32"""
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv2d_dx_kernel(dy, w, stride, padding, dx):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W]; a thread for each pixel"""
    i = cuda.grid(1)
    if i < dx.size:
        (n, c, h, v), total = place(i, dx), zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit(device=True)
def seen(x, n, c, p, q, r, s, stride, padding):
    """The pixel that output (p, q) sees through tap (r, s): 0 in the frame"""
    h, v = p * stride + r - padding, q * stride + s - padding
    return x[n, c, h, v] if 0 <= h < x.shape[2] and 0 <= v < x.shape[3] else zero


@cuda.jit(device=True)
def product(j, k, c, r, s, dy, x, stride, padding):
    """Product number j of the sum dw[k, c, r, s]"""
    P, Q = dy.shape[2], dy.shape[3]
    n, p, q = j // (P * Q), j // Q % P, j % Q
    return dy[n, k, p, q] * seen(x, n, c, p, q, r, s, stride, padding)


@cuda.jit
def conv2d_dw_kernel(dy, x, stride, padding, dw):
    """dy [N, K, P, Q], x [N, C, H, W]  ->  dw [K, C, R, S]; a block of 128 for each weight"""
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit(device=True)
def pixel(x, row, col, R, S, stride, padding):
    P = (x.shape[2] + 2 * padding - R) // stride + 1
    Q = (x.shape[3] + 2 * padding - S) // stride + 1
    c, r, s = row // (R * S), row // S % R, row % S
    n, p, q = col // (P * Q), col // Q % P, col % Q
    return seen(x, n, c, p, q, r, s, stride, padding)


@cuda.jit
def build(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        cols[row, col] = pixel(x, row, col, R, S, stride, padding)


SOLUTIONS = {
    "gpu.conv2d_kernel": conv2d_kernel,
    "gpu.conv2d_dx_kernel": conv2d_dx_kernel,
    "gpu.conv2d_dw_kernel": conv2d_dw_kernel,
    "gpu.implicit_gemm_gather": build,
}
