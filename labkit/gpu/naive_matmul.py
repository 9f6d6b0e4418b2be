"""An obvious first matrix product, with x for the row."""

import numpy as np

from labkit.gpu import cuda


@cuda.jit
def matmul_naive(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N], float32; one thread for each result, x counts the rows

    The lanes of a warp read numbers of `a` that lie K apart.
    (Lesson tiles.)
    """
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total
