"""Wrong solutions of this lesson, written as a learner would, and what each must be told.

Every one is right somewhere: on one of the exercise's own shapes, on data in RIGHT_ON, or
everywhere (those that change their input or are no kernels).
"""

from functools import partial

import numpy as np

from labkit.gpu import cuda
from tests.exercises.edits import edit

ZERO = np.float32(0)

# --- gpu.sgd_momentum: blocks of 128, in place


sgd = partial(edit, "gpu.sgd_momentum")
full_blocks_only = sgd("full_blocks_only", "i < p.size", "i // 128 < p.size // 128")
VELOCITY = "v[i] = momentum * v[i] + g[i]"
STEP = "p[i] -= lr * v[i]"
step_without_guard = sgd("step_without_guard", "i < p.size", "i >= 0")
step_first = sgd("step_first", VELOCITY + "\n        " + STEP, STEP + "\n        " + VELOCITY)
plain_descent = sgd("plain_descent", VELOCITY, "v[i] = g[i]")
velocity_not_kept = sgd(
    "velocity_not_kept",
    VELOCITY,
    "velocity = momentum * v[i] + g[i]",
    ("lr * v[i]", "lr * velocity"),
)
rate_in_the_velocity = sgd(
    "rate_in_the_velocity", VELOCITY, "v[i] = momentum * v[i] + lr * g[i]", (STEP, "p[i] -= v[i]")
)
ascent = sgd("ascent", "p[i] -=", "p[i] +=")
damped_gradient = sgd(
    "damped_gradient", VELOCITY, "v[i] = momentum * v[i] + (np.float32(1) - momentum) * g[i]"
)
looks_ahead = sgd("looks_ahead", STEP, "p[i] -= lr * (g[i] + momentum * v[i])")
momentum_of_all = sgd("momentum_of_all", VELOCITY, "v[i] = momentum * (v[i] + g[i])")
other_convention = sgd(
    "other_convention", VELOCITY, "v[i] = momentum * v[i] - lr * g[i]", (STEP, "p[i] += v[i]")
)
velocity_with_other_sign = sgd(
    "velocity_with_other_sign", VELOCITY, "v[i] = momentum * v[i] - g[i]", ("p[i] -=", "p[i] +=")
)
step_without_rate = sgd("step_without_rate", STEP, "p[i] -= v[i]")
rates_exchanged = sgd(
    "rates_exchanged", VELOCITY, "v[i] = lr * v[i] + g[i]", (STEP, "p[i] -= momentum * v[i]")
)
rates_written_in = sgd(
    "rates_written_in",
    VELOCITY,
    "v[i] = np.float32(0.9) * v[i] + g[i]",
    (STEP, "p[i] -= np.float32(0.01) * v[i]"),
)
step_of_one_block = sgd("step_of_one_block", "i < p.size", "i < p.size and cuda.blockIdx.x == 0")
every_block_again = sgd("every_block_again", "cuda.grid(1)", "cuda.threadIdx.x")
velocity_in_the_gradient = sgd(
    "velocity_in_the_gradient", VELOCITY, "g[i] += momentum * v[i]\n        v[i] = g[i]"
)


@cuda.jit
def velocity_in_a_variable(p, g, v, lr, momentum):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < p.size:
        new = v[i] * momentum + g[i]
        v[i] = new
        p[i] = p[i] - lr * new


rate_in_both = sgd("rate_in_both", VELOCITY, "v[i] = momentum * v[i] + lr * g[i]")
step_in_float64 = sgd("step_in_float64", VELOCITY, "v[i] = 1.0 * momentum * v[i] + g[i]")


@cuda.jit
def step_over_the_whole_grid(p, g, v, lr, momentum):
    for i in range(cuda.grid(1), len(p), cuda.gridsize(1)):
        new = g[i] + v[i] * momentum
        p[i] += -lr * new
        v[i] = new


@cuda.jit
def step_by_one_thread(p, g, v, lr, momentum):
    if cuda.grid(1) == 0:
        for i in range(p.size):
            v[i] = momentum * v[i] + g[i]
            p[i] -= lr * v[i]


def step_on_the_host(p, g, v, lr, momentum):
    v *= momentum
    v += g
    p -= lr * v


@cuda.jit
def endless_step(p, g, v, lr, momentum):
    while cuda.threadIdx.x == 3:
        pass


@cuda.jit
def empty_step(p, g, v, lr, momentum):
    pass


# --- gpu.bias_relu_pool: blocks of 16 x 8 x 1


pool = partial(edit, "gpu.bias_relu_pool")
UPPER = "max(x[n, k, 2 * p, 2 * q], x[n, k, 2 * p, 2 * q + 1])"
LOWER = "max(x[n, k, 2 * p + 1, 2 * q], x[n, k, 2 * p + 1, 2 * q + 1])"
LARGEST = "max(upper, lower)"
RESULT = "max(max(upper, lower) + b[k], ZERO)"
UPPER_SUM = "x[n, k, 2 * p, 2 * q] + x[n, k, 2 * p, 2 * q + 1]"
LOWER_SUM = "x[n, k, 2 * p + 1, 2 * q] + x[n, k, 2 * p + 1, 2 * q + 1]"
fused_without_guard = pool("fused_without_guard", "p < y.shape[2] and q < y.shape[3]", "p >= 0")
bias_after_zero = pool("bias_after_zero", RESULT, "max(max(upper, lower), ZERO) + b[k]")
fused_without_relu = pool("fused_without_relu", RESULT, "max(upper, lower) + b[k]")
fused_without_bias = pool("fused_without_bias", " + b[k]", "")
bias_of_map_0 = pool("bias_of_map_0", "b[k]", "b[0]")
search_from_zero = pool("search_from_zero", LARGEST, "max(max(upper, lower), ZERO)")
upper_row_only = pool("upper_row_only", LARGEST, "upper")
left_column_only = pool(
    "left_column_only", UPPER, "x[n, k, 2 * p, 2 * q]", (LOWER, "x[n, k, 2 * p + 1, 2 * q]")
)
diagonal_only = pool(
    "diagonal_only", UPPER, "x[n, k, 2 * p, 2 * q]", (LOWER, "x[n, k, 2 * p + 1, 2 * q + 1]")
)
fourth_forgotten = pool("fourth_forgotten", LOWER, "x[n, k, 2 * p + 1, 2 * q]")
last_pixel_wins = pool("last_pixel_wins", LARGEST, "x[n, k, 2 * p + 1, 2 * q + 1]")
smallest_pool = pool(
    "smallest_pool",
    UPPER,
    UPPER.replace("max", "min"),
    (LOWER, LOWER.replace("max", "min")),
    (LARGEST, "min(upper, lower)"),
)
sum_pool = pool("sum_pool", UPPER, UPPER_SUM, (LOWER, LOWER_SUM), (LARGEST, "upper + lower"))
average_pool = pool(
    "average_pool",
    UPPER,
    UPPER_SUM,
    (LOWER, LOWER_SUM),
    (LARGEST, "(upper + lower) / np.float32(4)"),
)
first_pixel_again = pool(
    "first_pixel_again", LARGEST, "max(max(upper, lower), x[n, k, 2 * p, 2 * q])"
)
fused_up_to_six = pool("fused_up_to_six", RESULT, f"min({RESULT}, np.float32(6))")
fused_in_float64 = pool("fused_in_float64", LARGEST, "max(max(-1e30, upper), lower)")


@cuda.jit
def pixel_by_pixel(x, b, y):
    q, p, plane = cuda.grid(3)
    _, K, P, Q = y.shape
    n, k = plane // K, plane % K
    if p < P and q < Q:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s] + b[k])
        y[n, k, p, q] = best


fused_with_bias_of_image = pool("fused_with_bias_of_image", "b[k]", "b[n % b.size]")
fused_of_image_0 = pool(
    "fused_of_image_0", UPPER, UPPER.replace("n,", "0,"), (LOWER, LOWER.replace("n,", "0,"))
)
fused_added = pool("fused_added", "y[n, k, p, q] =", "y[n, k, p, q] +=")


@cuda.jit
def by_comparison(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // b.size, plane % b.size
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        for i in range(1, 4):
            pixel = x[n, k, 2 * p + i // 2, 2 * q + i % 2]
            if pixel > best:
                best = pixel
        best += b[k]
        y[n, k, p, q] = best if best > ZERO else ZERO


@cuda.jit
def overlapping_windows(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, p + r, q + s] + b[k])
        y[n, k, p, q] = best


@cuda.jit
def maximum_kept_in_y(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        y[n, k, p, q] = ZERO
        for r in range(2):
            for s in range(2):
                value = x[n, k, 2 * p + r, 2 * q + s] + b[k]
                y[n, k, p, q] = max(y[n, k, p, q], value)


@cuda.jit
def bias_into_x(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                x[n, k, 2 * p + r, 2 * q + s] += b[k]
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = best


@cuda.jit
def fused_by_one_thread(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p == 0 and q == 0:
        for i in range(y.shape[2]):
            for j in range(y.shape[3]):
                best = ZERO
                for r in range(2):
                    for s in range(2):
                        best = max(best, x[n, k, 2 * i + r, 2 * j + s] + b[k])
                y[n, k, i, j] = best


def fused_on_the_host(x, b, y):
    P, Q = y.shape[2:]
    windows = x[:, :, : 2 * P, : 2 * Q].reshape(*y.shape[:2], P, 2, Q, 2)
    np.maximum(windows.max(axis=(3, 5)) + b[:, None, None], 0, out=y)


@cuda.jit
def endless_fusion(x, b, y):
    while cuda.threadIdx.x == 3:
        pass


@cuda.jit
def empty_fusion(x, b, y):
    pass


PLANTED = {
    "gpu.sgd_momentum": [
        (step_without_guard, "Out of bounds"),
        (step_first, "with the velocity of the step before"),
        (plain_descent, "This is plain gradient descent"),
        (velocity_not_kept, "but v holds its old value"),
        (rate_in_the_velocity, "The rate is inside of the velocity"),
        (ascent, "goes up the slope"),
        (damped_gradient, "multiplied by 1 - momentum"),
        (looks_ahead, "one momentum too many"),
        (momentum_of_all, "The momentum multiplies the gradient too"),
        (other_convention, "v is the step itself here"),
        (velocity_with_other_sign, "but v has the wrong sign"),
        (step_without_rate, "The step is the whole velocity"),
        (rates_exchanged, "The rate and the momentum stand"),
        (rates_written_in, "The rates are written into the kernel"),
        (step_of_one_block, "Only the first 128 parameters are updated"),
        (every_block_again, "Race on"),
        (velocity_in_the_gradient, "changes its input"),
        (rate_in_both, "The rate is used twice"),
        (step_in_float64, "it computes in float64"),
        (step_by_one_thread, "a few do the work of all"),
        (step_on_the_host, "This is no kernel"),
        (full_blocks_only, "is a multiple of 128"),
    ],
    "gpu.bias_relu_pool": [
        (fused_without_guard, "Out of bounds"),
        (bias_after_zero, "The bias is added after the ReLU"),
        (fused_without_relu, "the ReLU is missing"),
        (fused_without_bias, "The bias b[k] is missing"),
        (upper_row_only, "Only the upper two pixels"),
        (average_pool, "the mean of each window"),
        (overlapping_windows, "The windows overlap"),
        (bias_of_map_0, "Every map has the bias of map 0"),
        (search_from_zero, "The search for the largest begins at 0"),
        (left_column_only, "Only the left two pixels"),
        (diagonal_only, "those of its diagonal"),
        (fourth_forgotten, "The fourth pixel of each window"),
        (last_pixel_wins, "Only the last pixel of each window"),
        (smallest_pool, "This is the smallest of each window"),
        (sum_pool, "This is the sum of each window"),
        (fused_with_bias_of_image, "the length of x along axis 1 is 1"),
        (fused_of_image_0, "x is the first entry along axis 0 everywhere"),
        (fused_added, "use = instead of +="),
        (maximum_kept_in_y, "would do. Keep what comes in between in variables"),
        (first_pixel_again, "pixels are loaded from x where"),
        (fused_in_float64, "it computes in float64"),
        (fused_up_to_six, "no value goes above 6"),
        (bias_into_x, "changes its input"),
        (fused_by_one_thread, "a few do the work of all"),
        (fused_on_the_host, "This is no kernel"),
    ],
}
_P, _G, _V = (np.linspace(a, a + 1, 5, dtype=np.float32) for a in (0, 2, 4))
_LR, _MU, _NO = np.float32(0.1), np.float32(0.9), np.float32(0)
_X = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6) - 5
RIGHT_ON = {
    step_first: (_P, _G, _G / (_NO + 1 - _MU), _LR, _MU),  # a velocity that has settled
    plain_descent: (_P, _G, _V, _LR, _NO),
    velocity_not_kept: (_P, 0 * _G, 0 * _V, _LR, _MU),
    rate_in_both: (_P, _G, _V, _NO + 1, _MU),
    rate_in_the_velocity: (_P, _G, _V, _NO + 1, _MU),
    ascent: (_P, _G, _V, _NO, _MU),
    damped_gradient: (_P, _G, _V, _LR, _NO),
    looks_ahead: (_P, _G, _V, _LR, _NO),
    momentum_of_all: (_P, _G, _V, _LR, _NO + 1),
    other_convention: (_P, 0 * _G, 0 * _V, _LR, _MU),
    velocity_with_other_sign: (_P, 0 * _G, 0 * _V, _LR, _MU),
    step_without_rate: (_P, _G, _V, _NO + 1, _MU),
    rates_exchanged: (_P, _G, _V, _MU, _MU),
    rates_written_in: (_P, _G, _V, np.float32(0.01), _MU),
    search_from_zero: (np.abs(_X), np.ones(1, np.float32)),
    left_column_only: (0 * _X, np.ones(1, np.float32)),
    diagonal_only: (0 * _X, np.ones(1, np.float32)),
    fourth_forgotten: (0 * _X, np.ones(1, np.float32)),
    last_pixel_wins: (0 * _X, np.ones(1, np.float32)),
    smallest_pool: (0 * _X, np.ones(1, np.float32)),
    sum_pool: (0 * _X, np.ones(1, np.float32)),
    bias_after_zero: (np.abs(_X), np.ones(1, np.float32)),
    fused_without_relu: (np.abs(_X), np.ones(1, np.float32)),
    fused_without_bias: (_X, np.zeros(1, np.float32)),
    upper_row_only: (-_X, np.ones(1, np.float32)),
    average_pool: (0 * _X, np.ones(1, np.float32)),
    overlapping_windows: (_X[:, :, :2, :2], np.ones(1, np.float32)),
}
ALSO_RIGHT = {
    "gpu.sgd_momentum": [velocity_in_a_variable, step_over_the_whole_grid],
    "gpu.bias_relu_pool": [pixel_by_pixel, by_comparison],
}
ENDLESS = {"gpu.sgd_momentum": endless_step, "gpu.bias_relu_pool": endless_fusion}
EMPTY = {"gpu.sgd_momentum": empty_step, "gpu.bias_relu_pool": empty_fusion}
