"""The exercises of lesson 01_gpu/6, training: the update, and a layer's three steps in one pass.

The last one, the gradient of a batch that does not fit, is a plain function.
"""

from typing import Any

import numpy as np

from labkit.checks.items import LIBRARIES, cases_of, exercise
from labkit.gpu.exercise_data import distinct
from labkit.gpu.exercises.solutions import training as solutions
from labkit.gpu.exercises.wrong import training as wrong
from labkit.gpu.exercises.wrong.training import (
    THREADS,
    activated,
    pooled,
    updated,
    weighted,
    windows,
)
from labkit.gpu.kernel_exercise import blocks, kernel_exercise

BLOCK = (16, 8)  # along q, along p

# v <- momentum v + g;  p <- p - lr v, in place


def sgd_launch(p, g, v, lr, momentum):
    """A thread for each parameter; p and v are copies, in which the kernel works."""
    p = p.copy()
    v = v.copy()
    return blocks(p.size, THREADS), THREADS, (p, v), (p, g, v, lr, momentum)


def sgd_inputs(rng, n, lr, momentum):
    """p, g, v, lr, momentum."""
    return *distinct(rng, 3, n), np.float32(lr), np.float32(momentum)


sgd_momentum = kernel_exercise(
    "gpu.sgd_momentum",
    launch=sgd_launch,
    kernel=solutions.sgd_momentum,
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
        "nesterov": wrong.nesterov,
        "momentum_on_the_sum": wrong.momentum_on_the_sum,
        "velocity_downhill": wrong.velocity_downhill,
        "velocity_is_the_step": wrong.velocity_is_the_step,
        "no_momentum": lambda p, g, v, lr, momentum: updated(p, g, v, lr, 0),
        "no_rate": lambda p, g, v, lr, momentum: updated(p, g, v, 1, momentum),
        "rates_swapped": lambda p, g, v, lr, momentum: updated(p, g, v, momentum, lr),
        "rates_of_the_lesson": lambda p, g, v, lr, momentum: updated(p, g, v, 0.01, 0.9),
        "rate_in_velocity": lambda p, g, v, lr, momentum: updated(p, lr * g, v, 1, momentum),
        "uphill": lambda p, g, v, lr, momentum: updated(p, g, v, -lr, momentum),
        "damped": lambda p, g, v, lr, momentum: updated(p, (1 - momentum) * g, v, lr, momentum),
        "first_block_only": wrong.sgd_first_block,
    },
    costs=("global_load_bytes", "global_store_bytes"),
    fills=False,
    outputs=("p", "v"),
)

# y[n,k,p,q] = max(0, b[k] + the largest x of a 2 x 2 window)


def pool_launch(x, b):
    """A thread for each window, also where there is no window at all."""
    N, K, H, W = x.shape
    P = H // 2
    Q = W // 2
    grid = max(1, blocks(Q, BLOCK[0])), max(1, blocks(P, BLOCK[1])), N * K
    return grid, BLOCK, (np.zeros((N, K, P, Q), np.float32),)


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


def pool_inputs(rng, N, K, H, W):
    """Maxima in all four places of a window; what is in no window is larger than all of them."""
    x = distinct(rng, N, K, H, W)
    for i, (n, k, p, q) in enumerate(np.ndindex(N, K, H // 2, W // 2)):
        window = x[n, k, 2 * p : 2 * p + 2, 2 * q : 2 * q + 2].flat
        wanted = i % 4
        found = window[:].argmax()
        window[[wanted, found]] = window[[found, wanted]]
    x[:, :, 2 * (H // 2) :] += 4
    x[:, :, :, 2 * (W // 2) :] += 8
    return x, distinct(rng, K + 1)[:K]


bias_relu_pool = kernel_exercise(
    "gpu.bias_relu_pool",
    launch=pool_launch,
    kernel=solutions.bias_relu_pool,
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
        "search_from_zero": wrong.search_from_zero,
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

# total[D] of gradients[M,D], the means over sizes[M] images


def accumulate_inputs(rng: np.random.Generator, D: int, *sizes: int) -> tuple:
    """gradients [M, D] and a list of M sizes."""
    return rng.normal(size=(len(sizes), D)), list(sizes)


accumulate = exercise(
    "gpu.accumulate",
    oracle=weighted(lambda n, sizes: n / sum(sizes)),
    cases=cases_of(  # D, then the images in each piece
        {
            "a short last piece": (3, 4, 4, 2),
            "all sizes 1": (1, 1),
            "prime": (5, 7, 3),
            "equal pieces": (4, 3, 3, 3),
            "one piece": (2, 5),
            "one image each": (3, 1, 1, 1, 1, 1),
            "a large last piece": (2, 1, 6),
            "all pieces different": (4, 2, 9, 5, 1),
        },
        accumulate_inputs,
    ),
    wrong={
        "only_added": weighted(lambda n, sizes: 1),
        "mean_of_means": weighted(lambda n, sizes: 1 / len(sizes)),
        "weight_of_first": weighted(lambda n, sizes: sizes[0] / sum(sizes)),
        "weight_of_last": weighted(lambda n, sizes: sizes[-1] / sum(sizes)),
        "share_of_a_full_piece": weighted(lambda n, sizes: n / sizes[0]),
        "mean_of_shares": weighted(lambda n, sizes: n / sizes[0] / len(sizes)),
        "divided_by_pieces": weighted(lambda n, sizes: n / len(sizes)),
        "whole_division": weighted(lambda n, sizes: n // sum(sizes)),
        "upside_down": weighted(lambda n, sizes: sum(sizes) / n),
        "running_mean": wrong.running_mean,
        "sum_so_far": wrong.sum_so_far,
        "sum_of_losses": weighted(lambda n, sizes: n),
        "divided_only": weighted(lambda n, sizes: 1 / sum(sizes)),
        "last_piece": lambda gradients, sizes: gradients[-1] * sizes[-1] / sum(sizes),
        "first_piece": lambda gradients, sizes: gradients[0] * sizes[0] / sum(sizes),
    },
    outputs=("total",),
    forbidden=(*LIBRARIES, "numpy.average"),
)

EXERCISES = [sgd_momentum, bias_relu_pool, accumulate]
