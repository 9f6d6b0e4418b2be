"""The exercises of lesson a_training_step_on_the_gpu: the update, and three steps in one pass."""

from typing import Any

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise
from labkit_lessons.gpu.a_training_step_on_the_gpu import solutions
from labkit_lessons.gpu.a_training_step_on_the_gpu.wrong import bias_relu_pool as wrong_pool
from labkit_lessons.gpu.a_training_step_on_the_gpu.wrong import sgd_momentum as wrong_step

THREADS = 128  # of a block, for the step
BLOCK = (16, 8)  # along q, along p

# v <- momentum v + g;  p <- p - lr v, in place


def sgd_launch(p, g, v, lr, momentum):
    """A thread for each parameter; p and v are copies, in which the kernel works."""
    p = p.copy()
    v = v.copy()
    grid = blocks(p.size, THREADS)
    arguments = p, g, v, lr, momentum
    return grid, THREADS, (p, v), arguments


def sgd_inputs(rng, n, lr, momentum):
    """p, g, v, lr, momentum."""
    p, g, v = distinct(rng, 3, n)
    return p, g, v, np.float32(lr), np.float32(momentum)


def updated(p, g, v, lr, momentum):
    """The new p and v."""
    v = momentum * v + g
    return p - lr * v, v


sgd_momentum = kernel_exercise(
    "gpu.sgd_momentum",
    launch=sgd_launch,
    kernel=solutions.sgd_momentum,
    cases=cases_of(
        {  # n, lr and momentum
            "one full block": (128, 0.125, 0.75),
            "two blocks and a bit": (352, 0.5, 0.9),
            "three full blocks": (384, 0.25, 0.5),
            "one element": (1, 0.375, 0.625),
            "a prime number without momentum": (13, 0.01, 0),
            "one more than a block with a large rate": (129, 3, 0.25),
            "many blocks with a large momentum": (1000, 0.03125, 0.99),
        },
        sgd_inputs,
    ),
    oracle=updated,
    wrong={
        **by_own_name(
            wrong_step.velocity_forgotten,
            wrong_step.old_velocity,
            wrong_step.nesterov,
            wrong_step.momentum_on_the_sum,
            wrong_step.velocity_downhill,
            wrong_step.velocity_is_the_step,
        ),
        "no_momentum": lambda p, g, v, lr, momentum: updated(p, g, v, lr, 0),
        "no_rate": lambda p, g, v, lr, momentum: updated(p, g, v, 1, momentum),
        "rates_swapped": lambda p, g, v, lr, momentum: updated(p, g, v, momentum, lr),
        "rates_of_the_lesson": lambda p, g, v, lr, momentum: updated(p, g, v, 0.01, 0.9),
        "rate_in_velocity": lambda p, g, v, lr, momentum: updated(p, lr * g, v, 1, momentum),
        "rate_twice": lambda p, g, v, lr, momentum: updated(p, lr * g, v, lr, momentum),
        "uphill": lambda p, g, v, lr, momentum: updated(p, g, v, -lr, momentum),
        "damped": lambda p, g, v, lr, momentum: updated(p, (1 - momentum) * g, v, lr, momentum),
        "first_block_only": wrong_step.first_only(THREADS),
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
    threads_across, threads_down = BLOCK
    across = max(1, blocks(Q, threads_across))
    down = max(1, blocks(P, threads_down))
    grid = across, down, N * K
    y = np.zeros((N, K, P, Q), np.float32)
    return grid, BLOCK, (y,)


def pooled(x, b):
    """y[N,K,P,Q]."""
    N, K, H, W = x.shape
    P = H // 2
    Q = W // 2
    in_windows = x[:, :, : 2 * P, : 2 * Q]
    pixels = in_windows.reshape(N, K, P, 2, Q, 2)
    largest = pixels.max(axis=(3, 5))
    return np.maximum(largest + b[:, None, None], 0)


def pool_limit(profile: Any, kernel: Any, x: np.ndarray, b: np.ndarray) -> str | None:
    """Each pixel is loaded once, and each result stored once."""
    if x.size < 200:
        return None
    N, K, H, W = x.shape
    P = H // 2
    Q = W // 2
    results = N * K * P * Q
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
    x = 4 * distinct(rng, N, K, H, W)
    P = H // 2
    Q = W // 2
    for i, (n, k, p, q) in enumerate(np.ndindex(N, K, P, Q)):
        rows = slice(2 * p, 2 * p + 2)
        columns = slice(2 * q, 2 * q + 2)
        window = x[n, k, rows, columns].flat
        wanted = i % 4
        found = window[:].argmax()
        window[[wanted, found]] = window[[found, wanted]]
    below_windows = x[:, :, 2 * P :]
    below_windows += 16
    right_of_windows = x[:, :, :, 2 * Q :]
    right_of_windows += 32
    b = 4 * distinct(rng, K + 1)[:K]
    return x, b


bias_relu_pool = kernel_exercise(
    "gpu.bias_relu_pool",
    launch=pool_launch,
    kernel=solutions.bias_relu_pool,
    cases=cases_of(
        {
            "no window: all sizes 1": (1, 1, 1, 1),
            "one window": (1, 1, 2, 2),
            "odd sizes": (1, 3, 7, 7),
            "one row of windows": (1, 2, 3, 9),
            "one map": (3, 1, 16, 32),
            "non-square": (2, 5, 12, 36),
            "several blocks": (1, 3, 22, 70),
        },
        pool_inputs,
    ),
    oracle=pooled,
    wrong={
        **by_own_name(
            wrong_pool.no_bias,
            wrong_pool.bias_last,
            wrong_pool.search_from_zero,
            wrong_pool.no_relu,
        ),
        "first_pixel": wrong_pool.from_windows(wrong_pool.first_pixel),
        "last_pixel": wrong_pool.from_windows(wrong_pool.last_pixel),
        "row_only": wrong_pool.from_windows(wrong_pool.largest_of_row),
        "column_only": wrong_pool.from_windows(wrong_pool.largest_of_column),
        "diagonal_only": wrong_pool.from_windows(wrong_pool.largest_of_diagonal),
        "three_pixels": wrong_pool.from_windows(wrong_pool.largest_of_three),
        "smallest": wrong_pool.from_windows(wrong_pool.smallest),
        "sum": wrong_pool.from_windows(wrong_pool.total_of_four),
        "mean": wrong_pool.from_windows(wrong_pool.mean_of_four),
        "bias_of_first": wrong_pool.bias_of_first,
        "step_one": wrong_pool.step_one,
    },
    limit=pool_limit,
    costs=("global_load_bytes", "global_store_bytes", "compulsory_bytes"),
)

EXERCISES = [sgd_momentum, bias_relu_pool]
