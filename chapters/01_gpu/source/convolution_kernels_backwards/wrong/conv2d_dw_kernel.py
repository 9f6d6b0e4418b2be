"""Wrong ideas of gpu.conv2d_dw_kernel.

dy[N,K,P,Q], x[N,C,H,W], stride, padding, shape of w -> dw[K,C,R,S].
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.judging.convolution_gradients import weight_gradients

THREADS = 128  # of a block
WARP = 32


def adding(times: Callable) -> Callable:
    """Product j, in the order n, p, q, is added times(j, PQ) times; each image has PQ of them."""

    def wrong(dy, x, stride, padding, shape):
        N, _, P, Q = dy.shape
        of_one_image = P * Q
        numbers = np.arange(N * of_one_image)
        j = numbers.reshape(N, 1, P, Q)
        counted = dy * times(j, of_one_image)
        R, S = shape[2:]
        dw, _ = weight_gradients(counted, x, R, S, stride, padding)
        return dw

    return wrong


def counted_in_the_grid(dy, x, stride, padding, shape):
    """Thread t of block i, which owns weight number i, begins with product 128 i + t."""
    N, _, P, Q = dy.shape
    dw = np.zeros(shape)
    R, S = shape[2:]
    number = np.arange(N * P * Q).reshape(N, P, Q)
    for i, (k, c, r, s) in enumerate(np.ndindex(*shape)):
        if THREADS * i < number.size:
            rest = dy[:, k : k + 1] * (number >= THREADS * i)[:, None]
            of_tap, _ = weight_gradients(rest, x[:, c : c + 1], R, S, stride, padding)
            dw[k, c, r, s] = of_tap[0, 0, r, s]
    return dw


def first_weight_only(dy, x, stride, padding, shape):
    """Thread 0 of the whole grid alone writes."""
    R, S = shape[2:]
    dw = np.zeros(shape)
    every_weight, _ = weight_gradients(dy, x, R, S, stride, padding)
    dw[0, 0, 0, 0] = every_weight[0, 0, 0, 0]
    return dw


# How often product j is added


def thread_0_only(j, PQ):
    """The other threads' sums are lost."""
    thread = j % THREADS
    return thread == 0


def first_image_only(j, PQ):
    """The loop ends with the first image."""
    return j < PQ


def first_product_missing(j, PQ):
    """Thread t begins with product t + 1."""
    return j > 0


def last_product_missing(j, PQ):
    """The loop ends before the last product."""
    return j < j.size - 1


def one_round_only(j, PQ):
    """Each thread adds one product."""
    return j < THREADS


def whole_rounds_only(j, PQ):
    """A round with fewer products than threads is left out."""
    rounds = j.size // THREADS
    return j < rounds * THREADS


def last_round_only(j, PQ):
    """Each product takes the place of the one before."""
    return j >= j.size - THREADS


def first_warp_only(j, PQ):
    """The other warps' sums are lost."""
    thread = j % THREADS
    return thread < WARP


def no_step(j, PQ):
    """Each thread adds all products from its own number on."""
    threads_before = j + 1
    return np.minimum(threads_before, THREADS)


def step_of_a_warp(j, PQ):
    """Each thread goes on by 32."""
    threads_before = j // WARP + 1
    return np.minimum(threads_before, THREADS // WARP)


def step_too_short(j, PQ):
    """Each thread goes on by half a block."""
    half = THREADS // 2
    threads_before = j // half + 1
    return np.minimum(threads_before, 2)


def step_too_long(j, PQ):
    """Each thread goes on by two blocks."""
    place = j % (2 * THREADS)
    return place < THREADS


def all_by_everybody(j, PQ):
    """Each thread adds all products."""
    return THREADS
