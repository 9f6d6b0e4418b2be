"""Which element of an array with four axes is whose, in indices that may be negative.

The last index runs fastest, so neighbouring threads have neighbours in memory. (Lessons
convolution_kernels and convolution_kernels_backwards.)

Dense: a line is an address, as the formula of a convolution has it.
"""

import numpy as np

from labkit.gpu import cuda

_ZERO = np.float32(0)


@cuda.jit(device=True)
def place(i, a):
    """The four indices of element number i of a."""
    B, C, D = a.shape[1], a.shape[2], a.shape[3]
    return i // (B * C * D), i // (C * D) % B, i // D % C, i % D


@cuda.jit(device=True)
def seen(x, n, c, p, q, r, s, stride, padding):
    """The pixel that output (p, q) sees through tap (r, s), of x[N,C,H,W]: 0 in the frame."""
    h, v = p * stride + r - padding, q * stride + s - padding
    return x[n, c, h, v] if 0 <= h < x.shape[2] and 0 <= v < x.shape[3] else _ZERO


@cuda.jit(device=True)
def product(j, k, c, r, s, dy, x, stride, padding):
    """Product number j of the sum dw[k,c,r,s], of dy[N,K,P,Q] and x: j counts n, p, q."""
    P, Q = dy.shape[2], dy.shape[3]
    n, p, q = j // (P * Q), j // Q % P, j % Q
    return dy[n, k, p, q] * seen(x, n, c, p, q, r, s, stride, padding)
