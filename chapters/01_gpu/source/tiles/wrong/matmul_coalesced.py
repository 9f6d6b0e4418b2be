"""Wrong ideas of gpu.matmul_coalesced: a[M,K], b[K,N] -> c[M,N]."""

from collections.abc import Callable

import numpy as np

from labkit.gpu.judging.kernel_exercise import blocks
from labkit_lessons.gpu.tiles.wrong.shared import wide


def in_c(value: np.ndarray, a, b) -> np.ndarray:
    """`value`, cut or filled up with zeros to the shape of c."""
    M = a.shape[0]
    N = b.shape[1]
    c = np.zeros((M, N))
    rows = min(M, len(value))
    columns = min(N, value.shape[1])
    c[:rows, :columns] = value[:rows, :columns]
    return c


def over_columns_of_c(a, b):
    """The loop over k has N rounds. Where N is larger than K, it leaves the matrices."""
    N = b.shape[1]
    if len(b) < N:
        raise IndexError(f"k runs to {N - 1}")
    return wide(a[:, :N]) @ b[:N]


def one_block(rows: int, columns: int) -> Callable:
    """Only the first block of threads has a place of its own."""

    def wrong(a, b):
        c = wide(a) @ b
        block = c[:rows, :columns]
        return in_c(block, a, b)

    return wrong


def transposed(a, b):
    """c[n,m] for c[m,n], as far as it fits."""
    c = wide(a) @ b
    return in_c(c.T, a, b)


def x_for_the_row(a, b):
    """The launch has a thread in x for each column, and one in y for each row."""
    M = a.shape[0]
    N = b.shape[1]
    threads_along_x = 32 * blocks(N, 32)
    threads_along_y = 8 * blocks(M, 8)
    c = wide(a) @ b
    reached = c[:threads_along_x, :threads_along_y]
    return in_c(reached, a, b)


def sums_for_products(a, b):
    """a[m,k] + b[k,n] where a product belongs, as sums over K that do not depend on each other."""
    of_rows = a.sum(axis=1, dtype=np.float64)
    of_columns = b.sum(axis=0, dtype=np.float64)
    return of_rows[:, None] + of_columns


def without_last(rows: int, columns: int) -> Callable:
    """The product without its last rows and columns, as a guard leaves it that is too strict."""

    def wrong(a, b):
        c = wide(a) @ b
        M, N = c.shape
        written = c[: M - rows, : N - columns]
        return in_c(written, a, b)

    return wrong


# Which k have a product: parts of K


def last_k(K):
    """The last one alone."""
    return slice(K - 1, K)


def all_but_last_k(K):
    """The loop ends one too early."""
    return slice(K - 1)


def all_but_first_k(K):
    """The loop begins at 1."""
    return slice(1, K)


def first_k(K):
    """The first one alone."""
    return slice(1)
