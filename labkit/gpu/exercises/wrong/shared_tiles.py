"""Wrong ideas of a tile in shared memory: which element of a, and which of b, meet in a product.

A place is a function of (m, n, start, k): of the result c[m, n], of where the step begins in K, and
of the number k of the product in this step. It gives the row and the column that are read.
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.exercises.wrong.the_matmul_ladder import STEP
from labkit.gpu.kernel_exercise import blocks

TILE = 32  # rows, and columns, of a tile of c


def element(matrix: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """matrix[row, column] as `fetch` gives it: 0 outside of the matrix."""
    rows, columns = matrix.shape
    row_exists = row < rows
    column_exists = column < columns
    inside = row_exists & column_exists
    row_inside = np.where(inside, row, 0)
    column_inside = np.where(inside, column, 0)
    values = matrix[row_inside, column_inside]
    found = np.where(inside, values, 0)
    return found.astype(np.float64)


def right_a(m, n, start, k):
    """The right place in a."""
    return m, start + k


def right_b(m, n, start, k):
    """The right place in b."""
    return start + k, n


def products(of_a: Callable = right_a, of_b: Callable = right_b) -> Callable:
    """The sum of the products of the elements in these places of a and of b."""

    def wrong(a, b):
        M, K = a.shape
        N = b.shape[1]
        steps = blocks(K, STEP)
        m, n, step, k = np.ogrid[:M, :N, :steps, :STEP]
        start = STEP * step
        place_in_a = of_a(m, n, start, k)
        place_in_b = of_b(m, n, start, k)
        factors_of_a = element(a, *place_in_a)
        factors_of_b = element(b, *place_in_b)
        terms = factors_of_a * factors_of_b
        all_terms = np.broadcast_to(terms, (M, N, steps, STEP))
        return all_terms.sum(axis=(2, 3))

    return wrong


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


TILE_SLIPS = {
    "a_without_start": products(of_a=a_without_start),
    "b_without_start": products(of_b=b_without_start),
    "a_at_ty": products(of_a=a_at_ty),
    "b_at_tx": products(of_b=b_at_tx),
    "a_at_col": products(of_a=a_at_col),
    "b_at_row": products(of_b=b_at_row),
    "a_tile_turned": products(of_a=a_tile_turned),
    "b_tile_turned": products(of_b=b_tile_turned),
    "own_elements": products(of_a=a_at_tx, of_b=b_at_ty),
}
