"""Wrong ideas of a step with momentum, and of bias, ReLU and pooling in one pass."""

from collections.abc import Callable

import numpy as np

THREADS = 128  # of a block, for the step


# v <- momentum v + g;  p <- p - lr v


def updated(p, g, v, lr, momentum):
    """The right p and v."""
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
    """The momentum multiplies the gradient too."""
    v = momentum * (v + g)
    return p - lr * v, v


def sgd_first_block(p, g, v, lr, momentum):
    """Only the first block's elements are updated."""
    first = np.arange(p.size) < THREADS
    new_p, new_v = updated(p, g, v, lr, momentum)
    return np.where(first, new_p, p), np.where(first, new_v, v)


def velocity_forgotten(p, g, v, lr, momentum):
    """The new velocity is not written."""
    new_p, _ = updated(p, g, v, lr, momentum)
    return new_p, v


def old_velocity(p, g, v, lr, momentum):
    """The step is that of the velocity before."""
    new_v = momentum * v + g
    return p - lr * v, new_v


def no_momentum(p, g, v, lr, momentum):
    """The velocity before is forgotten."""
    return updated(p, g, v, lr, 0)


def no_rate(p, g, v, lr, momentum):
    """The rate is forgotten."""
    return updated(p, g, v, 1, momentum)


def rates_swapped(p, g, v, lr, momentum):
    """The rate stands for the momentum, and the momentum for the rate."""
    return updated(p, g, v, momentum, lr)


def rates_of_the_lesson(p, g, v, lr, momentum):
    """The rates that are given are not used."""
    return updated(p, g, v, 0.01, 0.9)


def rate_in_velocity(p, g, v, lr, momentum):
    """The rate multiplies the gradient, not the velocity."""
    scaled = lr * g
    return updated(p, scaled, v, 1, momentum)


def uphill(p, g, v, lr, momentum):
    """The step is added."""
    return updated(p, g, v, -lr, momentum)


def damped(p, g, v, lr, momentum):
    """The velocity is a mean of the gradients, not their sum."""
    share = (1 - momentum) * g
    return updated(p, share, v, lr, momentum)


# y[n,k,p,q] = max(0, b[k] + the largest x of a 2 x 2 window)


def windows(x, step=2):
    """x[N,K,H,W] -> [4,N,K,P,Q]: the four pixels of each window; the next one is `step` away."""
    P = x.shape[2] // 2
    Q = x.shape[3] // 2
    pixels = []
    for r, s in np.ndindex(2, 2):
        rows = slice(r, r + step * P, step)
        columns = slice(s, s + step * Q, step)
        pixels.append(x[:, :, rows, columns])
    return np.array(pixels)


def activated(values, b):
    """max(0, values + b[k])."""
    return np.maximum(values + b[:, None, None], 0)


def pooled(x, b):
    """The right y."""
    largest = windows(x).max(axis=0)
    return activated(largest, b)


def search_from_zero(x, b):
    """The largest of the four pixels and 0; then bias and ReLU."""
    largest = windows(x).max(axis=0)
    found = np.maximum(largest, 0)
    return activated(found, b)


def no_bias(x, b):
    """The bias is forgotten."""
    return pooled(x, 0 * b)


def bias_last(x, b):
    """The bias is added after the ReLU."""
    return pooled(x, 0 * b) + b[:, None, None]


def bias_of_first(x, b):
    """Every channel has the first one's bias."""
    same_for_all = np.full_like(b, b[0])
    return pooled(x, same_for_all)


def no_relu(x, b):
    """The ReLU is forgotten."""
    largest = windows(x).max(axis=0)
    return largest + b[:, None, None]


def step_one(x, b):
    """The windows overlap."""
    largest = windows(x, step=1).max(axis=0)
    return activated(largest, b)


def from_windows(combine: Callable) -> Callable:
    """Bias and ReLU of combine(pixels); the pixels of a window are [4,N,K,P,Q], row by row."""

    def wrong(x, b):
        pixels = windows(x)
        return activated(combine(pixels), b)

    return wrong


def first_pixel(pixels):
    """The upper left one."""
    return pixels[0]


def last_pixel(pixels):
    """The lower right one."""
    return pixels[3]


def largest_of_row(pixels):
    """The upper two alone."""
    return pixels[:2].max(axis=0)


def largest_of_column(pixels):
    """The left two alone."""
    return pixels[::2].max(axis=0)


def largest_of_diagonal(pixels):
    """Upper left and lower right alone."""
    return pixels[::3].max(axis=0)


def largest_of_three(pixels):
    """The lower right one is left out."""
    return pixels[:3].max(axis=0)


def smallest(pixels):
    """The smallest of the four."""
    return pixels.min(axis=0)


def total_of_four(pixels):
    """The sum of the four."""
    return pixels.sum(axis=0)


def mean_of_four(pixels):
    """The mean of the four."""
    return pixels.mean(axis=0)
