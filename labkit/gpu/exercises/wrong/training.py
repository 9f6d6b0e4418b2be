"""Wrong ideas of a step with momentum, of bias, ReLU and pooling in one pass, of a split batch."""

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
    return activated(windows(x).max(axis=0), b)


def search_from_zero(x, b):
    """The largest of the four pixels and 0; then bias and ReLU."""
    return activated(np.maximum(windows(x).max(axis=0), 0), b)


# total[D] of gradients[M,D], the means over sizes[M] images


def weighted(weight: Callable) -> Callable:
    """The sum of the gradients, each times weight(n, sizes)."""

    def total(gradients, sizes):
        return sum(weight(n, sizes) * g for g, n in zip(gradients, sizes, strict=True))

    return total


def running_mean(gradients, sizes):
    """Each piece is averaged with what there was before: the last counts half."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total = (total + gradient) / 2
    return total


def sum_so_far(gradients, sizes):
    """Each piece is weighed with the images met up to then."""
    met = np.cumsum(sizes)
    return sum(n / m * g for g, n, m in zip(gradients, sizes, met, strict=True))
