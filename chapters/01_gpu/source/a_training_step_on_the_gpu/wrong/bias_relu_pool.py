"""Wrong ideas of gpu.bias_relu_pool: x[N,K,H,W], b[K] -> y[N,K,P,Q].

y[n,k,p,q] = max(0, b[k] + the largest x of a 2 x 2 window).
"""

from collections.abc import Callable

import numpy as np


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


def largest_of_windows(x):
    """The largest pixel of each window."""
    return windows(x).max(axis=0)


def search_from_zero(x, b):
    """The largest of the four pixels and 0; then bias and ReLU."""
    largest = largest_of_windows(x)
    found = np.maximum(largest, 0)
    return activated(found, b)


def no_bias(x, b):
    """The bias is forgotten."""
    largest = largest_of_windows(x)
    return activated(largest, 0 * b)


def bias_last(x, b):
    """The bias is added after the ReLU."""
    return no_bias(x, b) + b[:, None, None]


def bias_of_first(x, b):
    """Every channel has the first one's bias."""
    same_for_all = np.full_like(b, b[0])
    largest = largest_of_windows(x)
    return activated(largest, same_for_all)


def no_relu(x, b):
    """The ReLU is forgotten."""
    largest = largest_of_windows(x)
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
