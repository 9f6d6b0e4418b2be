"""The kernels of lesson 01_gpu/6, training: the update, and a layer's three steps in one pass."""

from typing import Any

import numpy as np

from labkit.checks.items import cases_of
from labkit.gpu import cuda
from labkit.gpu.exercise_data import distinct
from labkit.gpu.exercises import accumulate
from labkit.gpu.kernel_exercise import blocks, kernel_exercise

THREADS = 128  # of a block
BLOCK = (16, 8)  # along q, along p
ZERO = np.float32(0)

# v <- momentum v + g;  p <- p - lr v, in place


@cuda.jit
def sgd_momentum(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] -= lr * v[i]


def sgd_launch(p, g, v, lr, momentum):
    p, v = p.copy(), v.copy()
    return blocks(p.size, THREADS), THREADS, (p, v), (p, g, v, lr, momentum)


def updated(p, g, v, lr, momentum):
    v = momentum * v + g
    return p - lr * v, v


def nesterov(p, g, v, lr, momentum):
    """The step looks one momentum ahead."""
    _, v = updated(p, g, v, lr, momentum)
    return p - lr * (g + momentum * v), v


def velocity_downhill(p, g, v, lr, momentum):
    """The velocity has the other sign, and is added to p."""
    v = momentum * v - g
    return p + lr * v, v


def velocity_is_the_step(p, g, v, lr, momentum):
    """The velocity has the other sign and the rate, and is added to p."""
    v = momentum * v - lr * g
    return p + v, v


def momentum_on_the_sum(p, g, v, lr, momentum):
    v = momentum * (v + g)
    return p - lr * v, v


def sgd_first_block(p, g, v, lr, momentum):
    """Only the first block's elements are updated."""
    first = np.arange(p.size) < THREADS
    new_p, new_v = updated(p, g, v, lr, momentum)
    return np.where(first, new_p, p), np.where(first, new_v, v)


def sgd_inputs(rng, n, lr, momentum):
    return *distinct(rng, 3, n), np.float32(lr), np.float32(momentum)


sgd = kernel_exercise(
    "gpu.sgd_momentum",
    launch=sgd_launch,
    kernel=sgd_momentum,
    cases=cases_of(
        {  # n, lr and momentum
            "one full block": (128, 0.125, 0.75),
            "two blocks and a bit": (300, 0.5, 0.9),
            "one element": (1, 0.375, 0.625),
            "a prime number without momentum": (13, 0.01, 0),
            "one more than a block with a large rate": (129, 3, 0.25),
            "many blocks with a large momentum": (1000, 0.03125, 0.99),
        },
        sgd_inputs,
    ),
    oracle=updated,
    wrong={
        "velocity_forgotten": lambda p, g, v, *rates: (updated(p, g, v, *rates)[0], v),
        "old_velocity": lambda p, g, v, lr, momentum: (p - lr * v, momentum * v + g),
        "nesterov": nesterov,
        "momentum_on_the_sum": momentum_on_the_sum,
        "velocity_downhill": velocity_downhill,
        "velocity_is_the_step": velocity_is_the_step,
        "no_momentum": lambda p, g, v, lr, momentum: updated(p, g, v, lr, 0),
        "no_rate": lambda p, g, v, lr, momentum: updated(p, g, v, 1, momentum),
        "rates_swapped": lambda p, g, v, lr, momentum: updated(p, g, v, momentum, lr),
        "rates_of_the_lesson": lambda p, g, v, lr, momentum: updated(p, g, v, 0.01, 0.9),
        "rate_in_velocity": lambda p, g, v, lr, momentum: updated(p, lr * g, v, 1, momentum),
        "uphill": lambda p, g, v, lr, momentum: updated(p, g, v, -lr, momentum),
        "damped": lambda p, g, v, lr, momentum: updated(p, (1 - momentum) * g, v, lr, momentum),
        "first_block_only": sgd_first_block,
    },
    costs=("global_load_bytes", "global_store_bytes"),
    fills=False,
    outputs=("p", "v"),
)

# y[n,k,p,q] = max(0, b[k] + the largest x of a 2 x 2 window)


@cuda.jit
def bias_relu_pool(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        upper = max(x[n, k, 2 * p, 2 * q], x[n, k, 2 * p, 2 * q + 1])
        lower = max(x[n, k, 2 * p + 1, 2 * q], x[n, k, 2 * p + 1, 2 * q + 1])
        y[n, k, p, q] = max(max(upper, lower) + b[k], ZERO)


def pool_launch(x, b):
    N, K, P, Q = x.shape[0], x.shape[1], x.shape[2] // 2, x.shape[3] // 2
    grid = max(1, blocks(Q, BLOCK[0])), max(1, blocks(P, BLOCK[1])), N * K
    return grid, BLOCK, (np.zeros((N, K, P, Q), np.float32),)


def windows(x, step=2):
    """x[N,K,H,W] -> [4,N,K,P,Q]: the four pixels of each window; the next one is `step` away."""
    P, Q = step * (x.shape[2] // 2), step * (x.shape[3] // 2)
    return np.array([x[:, :, r : r + P : step, s : s + Q : step] for r in (0, 1) for s in (0, 1)])


def activated(values, b):
    return np.maximum(values + b[:, None, None], 0)


def pooled(x, b):
    return activated(windows(x).max(axis=0), b)


def pool_limit(profile: Any, kernel: Any, x: np.ndarray, b: np.ndarray) -> str | None:
    """Each pixel is loaded once, and each result stored once."""
    if x.size < 200:
        return None
    results = windows(x)[0].size
    stores = profile.counters["global_store_bytes"]
    requests = [a for a in profile.accesses if (a.kind, a.array) == ("load", "x")]
    loads = sum(np.count_nonzero(request.addresses >= 0) for request in requests)
    if stores > 4 * results:
        return (
            f"{stores:,} bytes are stored where {4 * results:,} would do. Keep what comes in "
            "between in variables, and write `y` once, at the end."
        )
    if loads > 4 * results:
        return (
            f"{loads:,} pixels are loaded from `x` where {4 * results:,} would do: load each once."
        )
    return None


def search_from_zero(x, b):
    """The largest of the four pixels and 0; then bias and ReLU."""
    return activated(np.maximum(windows(x).max(axis=0), 0), b)


def pool_inputs(rng, N, K, H, W):
    """Maxima in all four places of a window; what is in no window is larger than all of them."""
    x = distinct(rng, N, K, H, W)
    for i, (n, k, p, q) in enumerate(np.ndindex(N, K, H // 2, W // 2)):
        window = x[n, k, 2 * p : 2 * p + 2, 2 * q : 2 * q + 2].flat
        wanted, found = i % 4, window[:].argmax()
        window[[wanted, found]] = window[[found, wanted]]
    x[:, :, 2 * (H // 2) :] += 4
    x[:, :, :, 2 * (W // 2) :] += 8
    return x, distinct(rng, K + 1)[:K]


pool = kernel_exercise(
    "gpu.bias_relu_pool",
    launch=pool_launch,
    kernel=bias_relu_pool,
    cases=cases_of(
        {
            "no window: all sizes 1": (1, 1, 1, 1),
            "one window": (1, 1, 2, 2),
            "odd sizes": (1, 3, 7, 5),
            "one row of windows": (1, 2, 3, 9),
            "one map": (3, 1, 16, 32),
            "non-square": (2, 5, 12, 36),
            "several blocks": (1, 3, 22, 70),
        },
        pool_inputs,
    ),
    oracle=pooled,
    wrong={
        "no_bias": lambda x, b: pooled(x, 0 * b),
        "bias_last": lambda x, b: pooled(x, 0 * b) + b[:, None, None],
        "search_from_zero": search_from_zero,
        "no_relu": lambda x, b: windows(x).max(axis=0) + b[:, None, None],
        "first_pixel": lambda x, b: activated(windows(x)[0], b),
        "last_pixel": lambda x, b: activated(windows(x)[3], b),
        "row_only": lambda x, b: activated(windows(x)[:2].max(axis=0), b),
        "column_only": lambda x, b: activated(windows(x)[::2].max(axis=0), b),
        "diagonal_only": lambda x, b: activated(windows(x)[::3].max(axis=0), b),
        "three_pixels": lambda x, b: activated(windows(x)[:3].max(axis=0), b),
        "smallest": lambda x, b: activated(windows(x).min(axis=0), b),
        "sum": lambda x, b: activated(windows(x).sum(axis=0), b),
        "mean": lambda x, b: activated(windows(x).mean(axis=0), b),
        "bias_of_first": lambda x, b: pooled(x, np.full_like(b, b[0])),
        "step_one": lambda x, b: activated(windows(x, step=1).max(axis=0), b),
    },
    limit=pool_limit,
    costs=("global_load_bytes", "global_store_bytes", "compulsory_bytes"),
)


EXERCISES = [sgd, pool, *accumulate.EXERCISES]
