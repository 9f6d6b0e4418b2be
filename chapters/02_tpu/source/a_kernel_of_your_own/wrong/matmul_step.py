"""Wrong ideas of tpu.matmul_step, in NumPy: what each leaves of the products of the blocks.

Dense: an idea is a row, to be held against the others.
"""

import numpy as np


def _parts(x, w, blocks):
    """The product of each block along K, [steps, M, N]."""
    bk = blocks[1]
    starts = range(0, x.shape[1], bk)
    return np.array([x[:, s : s + bk] @ w[s : s + bk] for s in starts])


def last_product(x, w, blocks):
    return _parts(x, w, blocks)[-1]


def first_product(x, w, blocks):
    return _parts(x, w, blocks)[0]


def last_left_out(x, w, blocks):
    return _parts(x, w, blocks)[:-1].sum(axis=0).astype(np.float32)


def first_left_out(x, w, blocks):
    return _parts(x, w, blocks)[1:].sum(axis=0).astype(np.float32)


def first_twice(x, w, blocks):
    parts = _parts(x, w, blocks)
    return parts.sum(axis=0) + parts[0]


def last_twice(x, w, blocks):
    parts = _parts(x, w, blocks)
    return parts.sum(axis=0) + parts[-1]


def elementwise(x, w, blocks):
    """x * w where the shapes allow it."""
    bm, bk, bn = blocks
    total = np.zeros((bm, bn), np.float32)
    for s in range(0, x.shape[1], bk):
        total = total + x[:bm, s : s + bk] * w[s : s + bk, :bn]
    if total.shape != (x.shape[0], w.shape[1]):
        raise ValueError("only in one block of y")
    return total
