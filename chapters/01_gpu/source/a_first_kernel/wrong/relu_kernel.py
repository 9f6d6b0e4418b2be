"""Wrong ideas of gpu.relu_kernel: x[n] -> y[i] = max(x[i], 0)."""

import numpy as np

from labkit.gpu.judging.kernel_exercise import blocks
from labkit_lessons.gpu.a_first_kernel.wrong.shared import THREADS


def relu_of_first(x, n):
    """ReLU of the first n elements; the others are not written."""
    written = np.arange(x.size) < n
    every_element = np.maximum(x, 0)
    return np.where(written, every_element, 0)


def relu_of_grid_for_block(x):
    """In front of block b lie b times as many places as the grid has blocks."""
    size_of_grid = blocks(x.size, THREADS)
    block, thread = np.ogrid[:size_of_grid, :THREADS]
    place = block * size_of_grid + thread
    written = np.isin(np.arange(x.size), place)
    return np.where(written, np.maximum(x, 0), 0)


def relu_of_summed_numbers(x):
    """The block's number plus the thread's counts only so far."""
    last_block = blocks(x.size, THREADS) - 1
    return relu_of_first(x, last_block + THREADS)
