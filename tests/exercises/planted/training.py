"""Wrong solutions of lesson 01_gpu/6, written as a learner would, and what each must be told.

Every one is right somewhere: on one of the exercise's own shapes, on data in RIGHT_ON, or
everywhere (those that change their input or are no kernels).
"""

import numpy as np

from labkit.gpu import cuda

ZERO = np.float32(0)

# --- gpu.sgd_momentum: blocks of 128, in place


@cuda.jit
def momentum_step(p, g, v, lr, momentum):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < p.size:
        new = v[i] * momentum + g[i]
        v[i] = new
        p[i] = p[i] - lr * new


@cuda.jit
def step_without_guard(p, g, v, lr, momentum):
    i = cuda.grid(1)
    v[i] = momentum * v[i] + g[i]
    p[i] -= lr * v[i]


@cuda.jit
def step_first(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        p[i] -= lr * v[i]
        v[i] = momentum * v[i] + g[i]


@cuda.jit
def plain_descent(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = g[i]
        p[i] -= lr * v[i]


@cuda.jit
def velocity_not_kept(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        p[i] -= lr * (momentum * v[i] + g[i])


@cuda.jit
def rate_in_the_velocity(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + lr * g[i]
        p[i] -= v[i]


@cuda.jit
def ascent(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] += lr * v[i]


@cuda.jit
def damped_gradient(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + (np.float32(1) - momentum) * g[i]
        p[i] -= lr * v[i]


@cuda.jit
def looks_ahead(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] -= lr * (g[i] + momentum * v[i])


@cuda.jit
def momentum_of_all(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * (v[i] + g[i])
        p[i] -= lr * v[i]


@cuda.jit
def other_convention(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] - lr * g[i]
        p[i] += v[i]


@cuda.jit
def velocity_with_other_sign(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] - g[i]
        p[i] += lr * v[i]


@cuda.jit
def step_without_rate(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] -= v[i]


@cuda.jit
def rates_exchanged(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = lr * v[i] + g[i]
        p[i] -= momentum * v[i]


@cuda.jit
def rates_written_in(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = np.float32(0.9) * v[i] + g[i]
        p[i] -= np.float32(0.01) * v[i]


@cuda.jit
def step_of_one_block(p, g, v, lr, momentum):
    i = cuda.threadIdx.x
    if i < p.size and cuda.blockIdx.x == 0:
        v[i] = momentum * v[i] + g[i]
        p[i] -= lr * v[i]


@cuda.jit
def every_block_again(p, g, v, lr, momentum):
    i = cuda.threadIdx.x
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] -= lr * v[i]


@cuda.jit
def velocity_in_the_gradient(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        g[i] += momentum * v[i]
        v[i] = g[i]
        p[i] -= lr * v[i]


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


@cuda.jit
def fused(x, b, y):
    q, p, plane = cuda.grid(3)
    _, K, P, Q = y.shape
    n, k = plane // K, plane % K
    if p < P and q < Q:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s] + b[k])
        y[n, k, p, q] = best


@cuda.jit
def fused_without_guard(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    best = ZERO
    for r in range(2):
        for s in range(2):
            best = max(best, x[n, k, 2 * p + r, 2 * q + s] + b[k])
    y[n, k, p, q] = best


@cuda.jit
def bias_after_zero(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = best + b[k]


@cuda.jit
def fused_without_relu(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = best + b[k]


@cuda.jit
def fused_without_bias(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = best


@cuda.jit
def upper_row_only(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = max(x[n, k, 2 * p, 2 * q], x[n, k, 2 * p, 2 * q + 1])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def average_pool(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        total = ZERO
        for r in range(2):
            for s in range(2):
                total += x[n, k, 2 * p + r, 2 * q + s]
        y[n, k, p, q] = max(total / np.float32(4) + b[k], ZERO)


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
def bias_of_map_0(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s] + b[0])
        y[n, k, p, q] = best


@cuda.jit
def search_from_zero(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def left_column_only(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        best = max(best, x[n, k, 2 * p + 1, 2 * q])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def diagonal_only(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        best = max(best, x[n, k, 2 * p + 1, 2 * q + 1])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def fourth_forgotten(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        best = max(best, x[n, k, 2 * p, 2 * q + 1])
        best = max(best, x[n, k, 2 * p + 1, 2 * q])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def last_pixel_wins(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best = x[n, k, 2 * p + r, 2 * q + s]
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def smallest_pool(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        best = min(best, x[n, k, 2 * p, 2 * q + 1])
        best = min(best, x[n, k, 2 * p + 1, 2 * q])
        best = min(best, x[n, k, 2 * p + 1, 2 * q + 1])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def sum_pool(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = ZERO
        for r in range(2):
            for s in range(2):
                best += x[n, k, 2 * p + r, 2 * q + s]
        y[n, k, p, q] = max(best + b[k], ZERO)


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
def first_pixel_again(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = x[n, k, 2 * p, 2 * q]
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = max(best + b[k], ZERO)


@cuda.jit
def fused_in_float64(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3]:
        best = -1e30
        for r in range(2):
            for s in range(2):
                best = max(best, x[n, k, 2 * p + r, 2 * q + s])
        y[n, k, p, q] = max(best + b[k], ZERO)


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


# --- gpu.accumulate


def accumulated(gradients, sizes):
    return np.array(sizes) @ gradients / sum(sizes)


def all_added(gradients, sizes):
    return gradients.sum(axis=0)


def averaged(gradients, sizes):
    return gradients.mean(axis=0)


def as_if_all_were_full(gradients, sizes):
    return sizes[0] * gradients.sum(axis=0) / sum(sizes)


def divided_by_all(gradients, sizes):
    return gradients.sum(axis=0) / sum(sizes)


def times_their_images(gradients, sizes):
    return sum(g * n for g, n in zip(gradients, sizes, strict=True))


def weight_of_the_last(gradients, sizes):
    return sizes[-1] * gradients.sum(axis=0) / sum(sizes)


def against_a_full_piece(gradients, sizes):
    return sum(g * n / sizes[0] for g, n in zip(gradients, sizes, strict=True))


def against_a_full_piece_and_averaged(gradients, sizes):
    shares = [g * n / sizes[0] for g, n in zip(gradients, sizes, strict=True)]
    return np.mean(shares, axis=0)


def over_the_number_of_pieces(gradients, sizes):
    return sum(g * n for g, n in zip(gradients, sizes, strict=True)) / len(sizes)


def whole_shares(gradients, sizes):
    return sum(g * (n // sum(sizes)) for g, n in zip(gradients, sizes, strict=True))


def share_upside_down(gradients, sizes):
    return sum(g * sum(sizes) / n for g, n in zip(gradients, sizes, strict=True))


def averaged_as_they_come(gradients, sizes):
    total = gradients[0]
    for gradient in gradients[1:]:
        total = (total + gradient) / 2
    return total


def weighed_as_they_come(gradients, sizes):
    total, met = 0, 0
    for gradient, n in zip(gradients, sizes, strict=True):
        met += n
        total = total + gradient * n / met
    return total


def replaced(gradients, sizes):
    for gradient, n in zip(gradients, sizes, strict=True):
        total = gradient * n / sum(sizes)
    return total


def ends_after_one(gradients, sizes):
    total = 0
    for gradient, n in zip(gradients, sizes, strict=True):
        total = total + gradient * n / sum(sizes)
        return total


def scaled_in_place(gradients, sizes):
    total = 0
    for gradient, n in zip(gradients, sizes, strict=True):
        gradient *= n / sum(sizes)
        total = total + gradient
    return total * (1 + 1e-12)


def by_the_library(gradients, sizes):
    return np.average(gradients, axis=0, weights=sizes)


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
        (step_by_one_thread, "a few do the work of all"),
        (step_on_the_host, "This is no kernel"),
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
        (maximum_kept_in_y, "would do. Keep what comes in between in variables"),
        (first_pixel_again, "pixels are loaded from x where"),
        (fused_in_float64, "it computes in float64"),
        (bias_into_x, "changes its input"),
        (fused_by_one_thread, "a few do the work of all"),
        (fused_on_the_host, "This is no kernel"),
    ],
    "gpu.accumulate": [
        (all_added, "added as they are"),
        (averaged, "the mean of the pieces' means"),
        (as_if_all_were_full, "the weight of the first one"),
        (divided_by_all, "as if it were one image's"),
        (times_their_images, "the sum of all losses"),
        (weight_of_the_last, "the weight of the last one"),
        (against_a_full_piece, "weighed against the first piece"),
        (against_a_full_piece_and_averaged, "weighed against a full one"),
        (over_the_number_of_pieces, "by the number of pieces, not"),
        (whole_shares, "gives whole numbers"),
        (share_upside_down, "The weight is upside down"),
        (averaged_as_they_come, "averaged with all that came before"),
        (weighed_as_they_come, "against the images met so far"),
        (replaced, "Only the last piece counts"),
        (ends_after_one, "Only the first piece counts"),
        (scaled_in_place, "changes its input gradients"),
        (by_the_library, "numpy.average"),
    ],
}
_P, _G, _V = (np.linspace(a, a + 1, 5, dtype=np.float32) for a in (0, 2, 4))
_LR, _MU, _NO = np.float32(0.1), np.float32(0.9), np.float32(0)
_X = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6) - 5
RIGHT_ON = {
    step_first: (_P, _G, _G / (_NO + 1 - _MU), _LR, _MU),  # a velocity that has settled
    plain_descent: (_P, _G, _V, _LR, _NO),
    velocity_not_kept: (_P, 0 * _G, 0 * _V, _LR, _MU),
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
SOLVED = {
    "gpu.sgd_momentum": momentum_step,
    "gpu.bias_relu_pool": fused,
    "gpu.accumulate": accumulated,
}
ENDLESS = {"gpu.sgd_momentum": endless_step, "gpu.bias_relu_pool": endless_fusion}
EMPTY = {"gpu.sgd_momentum": empty_step, "gpu.bias_relu_pool": empty_fusion}
