"""Softmax of rows and its cross-entropy loss, forward and backward, safe for large logits.

p[n,k] = exp(x[n,k] - top[n]) / sum_j exp(x[n,j] - top[n]),   top[n] = max_j x[n,j]

exp(x) alone overflows float32 from x = 89 on; with the largest logit subtracted, no exponent is
above 0. Maximum and sum come out of one pass: when a lane meets a larger value, it scales the sum
it has. A row of up to 16,384 stays in registers until it is written (8,192 in the backward, if 4
does not divide its length); a longer one is read twice.
"""

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, log, nan

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.reductions import EACH, block_row, over_lanes, plan_rows, row_access

LOWEST = float32(-3.4028235e38)  # the largest of nothing; finite, since inf - inf is NaN


@lru_cache
def _parts(lanes: int, step: int, longer: bool) -> tuple[Callable, Callable, Callable]:
    """Device functions for rows with `lanes` threads each; `longer`: than 16 elements for each."""
    load, _, _ = row_access(lanes, step)
    added, largest = over_lanes(lanes)
    tile = EACH * lanes

    @cuda.jit(device=True)
    def end(x):
        """Where the last tile ends: a constant if it is the only one."""
        return uint32(x.shape[1]) if longer else uint32(tile)

    @cuda.jit(device=True)
    def exponentials(x, row, values):
        """The lane's top, the row's top, sum_k exp(x[row,k] - row's top).

        values: exp(x - lane's top) of the lane's elements, in the last tile if there are several.
        """
        top = LOWEST
        total = float32(0)
        for first in range(uint32(0), end(x), uint32(tile)):
            load(x, row, first, float32(-inf), values)
            before = top
            for v in range(EACH):
                top = max(top, values[v])
            total *= exp(before - top)
            for v in range(EACH):
                values[v] = exp(values[v] - top)
                total += values[v]
        row_top = largest(top)
        return top, row_top, added(total * exp(top - row_top))

    @cuda.jit(device=True)
    def again(x, row, first, top, values):
        """values: exp(x - top) of this tile, if the row has several."""
        if longer:
            load(x, row, first, float32(-inf), values)
            for v in range(EACH):
                values[v] = exp(values[v] - top)

    return end, exponentials, again


@lru_cache
def _softmax(lanes: int, step: int, longer: bool) -> Callable:
    end, exponentials, again = _parts(lanes, step, longer)
    _, store, _ = row_access(lanes, step)
    tile = EACH * lanes

    @cuda.jit
    def softmax(x, y):
        row = block_row()
        if row < uint32(x.shape[0]):
            values = cuda.local.array(EACH, float32)
            top, row_top, total = exponentials(x, row, values)
            scale = exp(top - row_top) / total
            for first in range(uint32(0), end(x), uint32(tile)):
                again(x, row, first, top, values)
                for v in range(EACH):
                    values[v] *= scale
                store(y, row, first, values)

    return softmax


@lru_cache
def _cross_entropy(lanes: int, step: int, longer: bool) -> Callable:
    _, exponentials, _ = _parts(lanes, step, longer)

    @cuda.jit
    def cross_entropy(logits, labels, losses):
        row = block_row()
        N, K = logits.shape
        if row < uint32(N):
            values = cuda.local.array(EACH, float32)
            _, top, total = exponentials(logits, row, values)
            if cuda.threadIdx.x == 0:
                label = labels[row]
                loss = float32(nan)
                if label >= 0 and label < uint32(K):
                    loss = log(total) - (logits[row, uint32(label)] - top)
                losses[row] = loss / float32(N)

    return cross_entropy


@lru_cache
def _cross_entropy_backward(lanes: int, step: int, longer: bool) -> Callable:
    end, exponentials, again = _parts(lanes, step, longer)
    _, store, column = row_access(lanes, step)
    tile = EACH * lanes

    @cuda.jit
    def cross_entropy_backward(dloss, logits, labels, dlogits):
        row = block_row()
        N, K = logits.shape
        if row < uint32(N):
            values = cuda.local.array(EACH, float32)
            label = labels[row]
            top, row_top, total = exponentials(logits, row, values)
            is_class = label >= 0 and label < uint32(K)  # as wide as the label is: 2^32 is not 0
            scale = exp(top - row_top) / total
            share = dloss[0] / float32(N) if is_class else float32(nan)
            for first in range(uint32(0), end(logits), uint32(tile)):
                again(logits, row, first, top, values)
                for v in range(EACH):
                    hit = column(first, v) == uint32(label)
                    values[v] = share * (values[v] * scale - float32(hit))
                store(dlogits, row, first, values)

    return cross_entropy_backward


def _plan(kernel_of: Callable, N: int, K: int, most: int = 1024) -> Plan:
    """kernel_of(lanes, step, longer) for N rows of K, with up to `most` lanes for a row."""

    def kernel_for(lanes: int, step: int) -> Callable:
        return kernel_of(lanes, step, longer=EACH * lanes < K)

    return plan_rows(kernel_for, N, K, most)


def plan_softmax(N: int, K: int) -> Plan:
    """softmax(x, y): float32[N,K], y[n,k] = p[n,k] above."""
    return _plan(_softmax, N, K)


def plan_cross_entropy(N: int, K: int) -> Plan:
    """cross_entropy(logits, labels, losses): logits[N,K], integer labels[N], losses[N].

    losses[n] = -1/N log p[n, labels[n]]: their sum is the mean loss, NaN if a label is no class.
    Oracle: labkit.reference.softmax_cross_entropy.
    """
    return _plan(_cross_entropy, N, K)


def plan_cross_entropy_backward(N: int, K: int) -> Plan:
    """cross_entropy_backward(dloss, logits, labels, dlogits): dloss[1], the gradient of the mean.

    dlogits[n,k] = dloss/N (p[n,k] - [k = labels[n]]), NaN if labels[n] is no class.
    Oracle: labkit.reference.softmax_cross_entropy_backward.
    """
    greedy = K % 4 != 0  # in registers: 1,024 threads have 64 each
    return _plan(_cross_entropy_backward, N, K, most=512 if greedy else 1024)
