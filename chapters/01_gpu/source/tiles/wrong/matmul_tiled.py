"""Wrong ideas of gpu.matmul_tiled: tiles of a and b in shared memory, a step of K after the other.

A place, (m, n, start, k) -> row and column that are read, is explained in tiles.py.
"""

import numpy as np

from labkit.gpu.judging.kernel_exercise import blocks
from labkit_lessons.gpu.tiles.wrong.shared import (
    STEP,
    last_of_last_step,
    over,
    products,
    wide,
)

TILE = 32  # rows, and columns, of a tile of c


# Which k have a product: parts of K


def first_step(K):
    """Those of the first step."""
    return slice(STEP)


def last_step(K):
    """Those of the last step, which may have fewer than 32."""
    last = K - 1
    begin = last // STEP * STEP
    return slice(begin, K)


def whole_steps(K):
    """A step with fewer than 32 is left out."""
    steps = K // STEP
    return slice(steps * STEP)


def all_but_last_of_step(K):
    """The loop in each step ends one too early."""
    k = np.arange(K) % STEP
    return k != STEP - 1


def all_but_first_of_step(K):
    """The loop in each step begins at 1."""
    k = np.arange(K) % STEP
    return k != 0


def first_step_repeated(a, b):
    """Every step adds the products of the first one."""
    K = len(b)
    steps = blocks(K, STEP)
    first = wide(a[:, :STEP]) @ b[:STEP]
    return steps * first


# Where the thread and the tile of a result are


def thread_of(place: np.ndarray) -> np.ndarray:
    """tx of a column or ty of a row, where a thread makes one result of a tile of 32 x 32."""
    return place % TILE


def begin_of(place: np.ndarray) -> np.ndarray:
    """Where the tile of 32 begins that has this row or column."""
    return place - thread_of(place)


# Places in a


def a_without_start(m, n, start, k):
    """Every step reads the first tile of a."""
    return m, k


def a_at_ty(m, n, start, k):
    """a_tile[ty, ty] for a_tile[ty, k]."""
    ty = thread_of(m)
    return m, start + ty


def a_at_tx(m, n, start, k):
    """The element of a that the thread itself fetched, a_tile[ty, tx]."""
    tx = thread_of(n)
    return m, start + tx


def a_at_col(m, n, start, k):
    """The tile of a begins where that of c does along the columns."""
    column = begin_of(n) + k
    return m, column


def a_tile_turned(m, n, start, k):
    """a_tile[k, ty] for a_tile[ty, k]."""
    ty = thread_of(m)
    row = begin_of(m) + k
    return row, start + ty


# Places in b


def b_without_start(m, n, start, k):
    """Every step reads the first tile of b."""
    return k, n


def b_at_tx(m, n, start, k):
    """b_tile[tx, tx] for b_tile[k, tx]."""
    tx = thread_of(n)
    return start + tx, n


def b_at_ty(m, n, start, k):
    """The element of b that the thread itself fetched, b_tile[ty, tx]."""
    ty = thread_of(m)
    return start + ty, n


def b_at_row(m, n, start, k):
    """The tile of b begins where that of c does along the rows."""
    row = begin_of(m) + k
    return row, n


def b_tile_turned(m, n, start, k):
    """b_tile[tx, k] for b_tile[k, tx]."""
    tx = thread_of(n)
    column = begin_of(n) + k
    return start + tx, column


def a_at_tx_along_k(m, n, start, k):
    """a_tile[tx, k] for a_tile[ty, k]."""
    row = begin_of(m) + thread_of(n)
    return row, start + k


def b_at_ty_along_k(m, n, start, k):
    """b_tile[k, ty] for b_tile[k, tx]."""
    column = begin_of(n) + thread_of(m)
    return start + k, column


TILE_SLIPS = {
    "first_step_only": over(first_step),
    "last_step_only": over(last_step),
    "last_step_missing": over(whole_steps),
    "last_product_missing": over(all_but_last_of_step),
    "first_product_missing": over(all_but_first_of_step),
    "first_step_repeated": first_step_repeated,
    "last_product_only": last_of_last_step,
    "a_without_start": products(of_a=a_without_start),
    "b_without_start": products(of_b=b_without_start),
    "a_at_ty": products(of_a=a_at_ty),
    "b_at_tx": products(of_b=b_at_tx),
    "a_at_col": products(of_a=a_at_col),
    "b_at_row": products(of_b=b_at_row),
    "a_tile_turned": products(of_a=a_tile_turned),
    "b_tile_turned": products(of_b=b_tile_turned),
    "tile_of_c_turned": products(of_a=a_at_tx_along_k, of_b=b_at_ty_along_k),
    "own_elements": products(of_a=a_at_tx, of_b=b_at_ty),
}
