"""Wrong ideas of a matrix product, whatever kernel computes it, made of the right `product`."""

from collections.abc import Callable

import numpy as np

from labkit.gpu.kernel_exercise import blocks

STEP = 32  # a tile's share of K


def product(a, b):
    """The right one, a[M,K] @ b[K,N] -> c[M,N], in float64."""
    return a.astype(np.float64) @ b


def in_c(value: np.ndarray, a, b) -> np.ndarray:
    """`value`, cut or filled up with zeros to the shape of c."""
    M = a.shape[0]
    N = b.shape[1]
    c = np.zeros((M, N))
    rows = min(M, len(value))
    columns = min(N, value.shape[1])
    c[:rows, :columns] = value[:rows, :columns]
    return c


def over(terms: Callable[[int], slice | np.ndarray]) -> Callable:
    """The product summed over terms(K) only, a part of K."""

    def wrong(a, b):
        K = len(b)
        kept = terms(K)
        return product(a[:, kept], b[kept])

    return wrong


def over_columns_of_c(a, b):
    """The loop over k has N rounds. Where N is larger than K, it leaves the matrices."""
    N = b.shape[1]
    if len(b) < N:
        raise IndexError(f"k runs to {N - 1}")
    return product(a[:, :N], b[:N])


def one_block(rows: int, columns: int) -> Callable:
    """Only the first block of threads has a place of its own."""

    def wrong(a, b):
        c = product(a, b)
        block = c[:rows, :columns]
        return in_c(block, a, b)

    return wrong


def transposed(a, b):
    """c[n,m] for c[m,n], as far as it fits."""
    c = product(a, b)
    return in_c(c.T, a, b)


def x_for_the_row(a, b):
    """The launch has a thread in x for each column, and one in y for each row."""
    M = a.shape[0]
    N = b.shape[1]
    threads_along_x = 32 * blocks(N, 32)
    threads_along_y = 8 * blocks(M, 8)
    c = product(a, b)
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
        c = product(a, b)
        M, N = c.shape
        written = c[: M - rows, : N - columns]
        return in_c(written, a, b)

    return wrong


def first_step_repeated(a, b):
    """Every step adds the products of the first one."""
    K = len(b)
    steps = blocks(K, STEP)
    first = product(a[:, :STEP], b[:STEP])
    return steps * first


def last_of_last_step(a, b):
    """What a sum with `=` for `+=` leaves: 0 where K is no multiple of 32."""
    last = product(a[:, -1:], b[-1:])
    ends_with_step = a.shape[1] % STEP == 0
    return last * ends_with_step


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
