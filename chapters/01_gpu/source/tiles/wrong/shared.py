"""What wrong ideas of several matrix products share: parts of K, and places in a and b.

A place is a function of (m, n, start, k): of the result c[m, n], of where the step begins in K, and
of the number k of the product in this step. It gives the row and the column that are read.
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.judging.kernel_exercise import blocks

STEP = 32  # a tile's share of K


def wide(matrix):
    """The matrix in float64."""
    return matrix.astype(np.float64)


def over(terms: Callable[[int], slice | np.ndarray]) -> Callable:
    """The product summed over terms(K) only, a part of K."""

    def wrong(a, b):
        K = len(b)
        kept = terms(K)
        return wide(a[:, kept]) @ b[kept]

    return wrong


def last_of_last_step(a, b):
    """What a sum with `=` for `+=` leaves: 0 where K is no multiple of 32."""
    last = wide(a[:, -1:]) @ b[-1:]
    ends_with_step = a.shape[1] % STEP == 0
    return last * ends_with_step


def element(matrix: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """matrix[row, column] as `fetch_or_zero` gives it: 0 outside of the matrix."""
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
