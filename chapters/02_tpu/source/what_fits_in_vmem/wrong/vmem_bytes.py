"""Wrong ideas of tpu.vmem_bytes.

Dense: an idea is a row, to be held against the others.
"""

import numpy as np


def _blocks(bm, bk, bn, itemsize):
    """Bytes of one block of x, w, y, the bias and total."""
    return itemsize * bm * bk, itemsize * bk * bn, itemsize * bm * bn, 4 * bn, 4 * bm * bn


def one_place(bm, bk, bn, itemsize):
    return sum(_blocks(bm, bk, bn, itemsize))


def total_twice(bm, bk, bn, itemsize):
    return 2 * sum(_blocks(bm, bk, bn, itemsize))


def y_once(bm, bk, bn, itemsize):
    x, w, y, b, total = _blocks(bm, bk, bn, itemsize)
    return 2 * (x + w + b) + y + total


def no_bias(bm, bk, bn, itemsize):
    x, w, y, _, total = _blocks(bm, bk, bn, itemsize)
    return 2 * (x + w + y) + total


def bias_small(bm, bk, bn, itemsize):
    return no_bias(bm, bk, bn, itemsize) + 2 * itemsize * bn


def total_small(bm, bk, bn, itemsize):
    x, w, y, b, _ = _blocks(bm, bk, bn, itemsize)
    return 2 * (x + w + y + b) + y


def no_total(bm, bk, bn, itemsize):
    x, w, y, b, _ = _blocks(bm, bk, bn, itemsize)
    return 2 * (x + w + y + b)


def in_32_bits(bm, bk, bn, itemsize):
    right = no_total(bm, bk, bn, itemsize) + 4 * bm * bn
    return right.astype(np.int32).astype(np.int64)
