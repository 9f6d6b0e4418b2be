"""The solutions of lesson 01_gpu/9_convolution_kernels_backwards. Written by `labkit build` from

chapters/01_gpu/source/convolution_kernels_backwards/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.gpu import cuda
from labkit.gpu.kernels.places import place, product
from labkit.gpu.kernels.reductions import block_sum


zero, random = np.float32(0), np.random.default_rng(0)


@cuda.jit
def conv2d_dx_kernel(dy, w, stride, padding, dx):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W]; a thread for each pixel"""
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def conv2d_dw_kernel(dy, x, stride, padding, dw):
    """dy [N, K, P, Q], x [N, C, H, W]  ->  dw [K, C, R, S]; a block of 128 for each weight"""
    N, _, P, Q = dy.shape
    k, c, r, s = place(cuda.blockIdx.x, dw)
    share = zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


SOLUTIONS = {
    "gpu.conv2d_dx_kernel": conv2d_dx_kernel,
    "gpu.conv2d_dw_kernel": conv2d_dw_kernel,
}
