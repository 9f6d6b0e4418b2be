"""Bias, ReLU and max-pool as three kernels of the course or as one, and what they move.

Arrays are x[N,K,H,W], with even H and W, b[K] and y[N,K,H/2,W/2].
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.gpu import profile
from labkit.gpu.kernels import pointwise, pooling
from labkit.gpu.profiler import Profile
from labkit.provenance import Quantity, counted

ACROSS = 16  # threads of a block
DOWN = 8

Launched = tuple[np.ndarray, list[Profile]]  # y, and the profiles of the kernels


def empty_like_pooled(x: np.ndarray) -> np.ndarray:
    """Room for y."""
    N, K, H, W = x.shape
    shape = (N, K, H // 2, W // 2)
    return np.zeros(shape, np.float32)


def three_kernels(x: np.ndarray, b: np.ndarray) -> Launched:
    """Each kernel reads what the one before has written."""
    N, K, H, W = x.shape
    biased = np.zeros_like(x)
    positive = np.zeros_like(x)
    y = empty_like_pooled(x)
    add = pointwise.plan_bias_add(N, K, H * W)
    relu = pointwise.plan_relu(x.size)
    pool = pooling.plan_maxpool2d(x.shape)
    profiles = [
        profile(*add, x.ravel(), b, biased.ravel()),
        profile(*relu, biased.ravel(), positive.ravel()),
        profile(*pool, positive, y),
    ]
    return y, profiles


def one_kernel(kernel: Callable, x: np.ndarray, b: np.ndarray) -> Launched:
    """A kernel with a thread for each output, in blocks of 16 x 8 threads."""
    y = empty_like_pooled(x)
    N, K, P, Q = y.shape
    across = int(np.ceil(Q / ACROSS))
    down = int(np.ceil(P / DOWN))
    grid = (across, down, N * K)
    found = profile(kernel, grid, (ACROSS, DOWN), x, b, y)
    return y, [found]


def moved(profiles: Sequence[Profile]) -> Quantity:
    """Bytes that the kernels must move even through a perfect cache."""
    total = 0
    for found in profiles:
        total += found.counters["compulsory_bytes"]
    return counted(total, "B", "the SIMT machine")
