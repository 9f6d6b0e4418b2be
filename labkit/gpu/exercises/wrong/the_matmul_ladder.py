"""Wrong ideas of a matrix product, of its tiles, and of the estimate of a kernel's speed.

Each is made of the right function, `product` or `lowest`, which the exercises take from here.
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.kernel_exercise import blocks

STEP = 32  # a tile's share of K
ISSUED = 4  # warp instructions that an SM starts per clock, and multiply-adds of warps that it does


def product(a, b):
    """The right one, a[M,K] @ b[K,N] -> c[M,N], in float64."""
    return a.astype(np.float64) @ b


# Of any product


def in_c(value: np.ndarray, a, b) -> np.ndarray:
    """`value`, cut or filled up with zeros to the shape of c."""
    c = np.zeros((a.shape[0], b.shape[1]))
    rows = min(len(c), len(value))
    columns = min(c.shape[1], value.shape[1])
    c[:rows, :columns] = value[:rows, :columns]
    return c


def over(terms: Callable[[int], slice]) -> Callable:
    """The product summed over terms(K) only, a part of K."""

    def wrong(a, b):
        kept = terms(len(b))
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
    return lambda a, b: in_c(product(a, b)[:rows, :columns], a, b)


def x_for_the_row(a, b):
    """The launch has a thread in x for each column, and one in y for each row."""
    threads_along_x = 32 * blocks(b.shape[1], 32)
    threads_along_y = 8 * blocks(len(a), 8)
    c = product(a, b)
    return in_c(c[:threads_along_x, :threads_along_y], a, b)


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
        return in_c(c[: M - rows, : N - columns], a, b)

    return wrong


def first_step_repeated(a, b):
    """Every step adds the products of the first one."""
    return blocks(len(b), STEP) * product(a[:, :STEP], b[:STEP])


def last_of_last_step(a, b):
    """What a sum with `=` for `+=` leaves: 0 where K is no multiple of 32."""
    last = product(a[:, -1:], b[-1:])
    ends_with_step = a.shape[1] % STEP == 0
    return last * ends_with_step


# Of a tile: which element of a, and which of b, goes into each product


def element(m: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """m[row, column] as `fetch` gives it: 0 outside of the matrix."""
    rows, columns = m.shape
    inside = (row < rows) & (column < columns)
    row_inside = np.where(inside, row, 0)
    column_inside = np.where(inside, column, 0)
    found = np.where(inside, m[row_inside, column_inside], 0)
    return found.astype(np.float64)


def right_a(m, n, start, k):
    """Row and column of a in the product k of a step, for the result (m, n)."""
    return m, start + k


def right_b(m, n, start, k):
    """Row and column of b in the product k of a step, for the result (m, n)."""
    return start + k, n


def products(of_a: Callable = right_a, of_b: Callable = right_b) -> Callable:
    """The sum of the products of `of_a(m, n, start, k)` and `of_b(...)`, places in a and in b."""

    def wrong(a, b):
        M, K = a.shape
        N = b.shape[1]
        steps = blocks(K, STEP)
        m, n, step, k = np.ogrid[:M, :N, :steps, :STEP]
        start = STEP * step
        from_a = element(a, *of_a(m, n, start, k))
        from_b = element(b, *of_b(m, n, start, k))
        terms = np.broadcast_to(from_a * from_b, (M, N, steps, STEP))
        return terms.sum(axis=(2, 3))

    return wrong


def thread_of(place: np.ndarray) -> np.ndarray:
    """tx of a column or ty of a row, where a thread makes one result of a tile of 32 x 32."""
    return place % 32


def begin_of(place: np.ndarray) -> np.ndarray:
    """Where the tile of 32 begins that has this row or column."""
    return place - place % 32


TILE_SLIPS = {
    "a_without_start": products(of_a=lambda m, n, start, k: (m, k)),
    "b_without_start": products(of_b=lambda m, n, start, k: (k, n)),
    "a_at_ty": products(of_a=lambda m, n, start, k: (m, start + thread_of(m))),
    "b_at_tx": products(of_b=lambda m, n, start, k: (start + thread_of(n), n)),
    "a_at_col": products(of_a=lambda m, n, start, k: (m, begin_of(n) + k)),
    "b_at_row": products(of_b=lambda m, n, start, k: (begin_of(m) + k, n)),
    "a_tile_turned": products(of_a=lambda m, n, start, k: (begin_of(m) + k, start + thread_of(m))),
    "b_tile_turned": products(of_b=lambda m, n, start, k: (start + thread_of(n), begin_of(n) + k)),
    "own_elements": products(
        of_a=lambda m, n, start, k: (m, start + thread_of(n)),
        of_b=lambda m, n, start, k: (start + thread_of(m), n),
    ),
}


# Of a tile in registers: 64 x 64 results, rows ty + 8 i and columns tx + 32 j


def rows_read(change: Callable) -> Callable:
    """Where row ty + 8 * i of the tile belongs, the kernel reads row change(ty, i)."""

    def of_a(m, n, start, k):
        row = m % 64
        return m - row + change(row % 8, row // 8), start + k

    return products(of_a=of_a)


def columns_read(change: Callable) -> Callable:
    """Where column tx + 32 * j of the tile belongs, the kernel reads column change(tx, j)."""

    def of_b(m, n, start, k):
        column = n % 64
        return start + k, n - column + change(column % 32, column // 32)

    return products(of_b=of_b)


def tiles_of_c(change: Callable) -> Callable:
    """The product with every tile of c, [..., 64, 64], changed."""

    def wrong(a, b):
        c = product(a, b)
        M, N = c.shape
        whole = np.pad(c, ((0, -M % 64), (0, -N % 64)))
        tiles = whole.reshape(len(whole) // 64, 64, -1, 64).swapaxes(1, 2)
        changed = change(tiles).swapaxes(1, 2)
        return changed.reshape(whole.shape)[:M, :N]

    return wrong


REGISTER_SLIPS = {
    "first_rows_only": tiles_of_c(lambda tile: tile * (np.arange(64) < 8)[:, None]),
    "last_rows_missing": tiles_of_c(lambda tile: tile * (np.arange(64) < 56)[:, None]),
    "left_half_only": tiles_of_c(lambda tile: tile * (np.arange(64) < 32)),
    "right_half_only": tiles_of_c(lambda tile: tile * (np.arange(64) >= 32)),
    "left_half_twice": columns_read(lambda tx, j: tx),
    "right_half_twice": columns_read(lambda tx, j: tx + 32),
    "halves_swapped": columns_read(lambda tx, j: tx + 32 * (1 - j)),
    "neighbouring_columns": columns_read(lambda tx, j: tx + j),
    "pairs_of_columns": columns_read(lambda tx, j: 2 * tx + j),
    "last_product_only": last_of_last_step,
    "first_rows_everywhere": rows_read(lambda ty, i: ty),
    "neighbouring_rows": rows_read(lambda ty, i: ty + i),
    "blocks_of_rows": rows_read(lambda ty, i: 8 * ty + i),
}


# Of the share of the peak that three counts of a kernel leave; arrays of one number per kernel


def estimates(intensity, passes, accesses, ridge) -> dict[str, np.ndarray]:
    """What traffic, passes and instructions leave, each as a share of the peak."""
    return {
        "traffic": intensity / ridge,
        "passes": 1 / (ISSUED * passes),
        "instructions": 1 / (1 + accesses),
    }


def lowest(*counts):
    """The right share: the smallest of the three estimates."""
    return np.minimum.reduce([*estimates(*counts).values()])


def lowest_without(name: str) -> Callable:
    """The smallest of the other two estimates."""

    def wrong(*counts):
        return np.minimum.reduce([e for key, e in estimates(*counts).items() if key != name])

    return wrong


def lowest_with(name: str, estimate: Callable) -> Callable:
    """The smallest of the three, of which one is estimate(intensity, passes, accesses, ridge)."""

    def wrong(*counts):
        right = lowest_without(name)(*counts)
        return np.minimum(right, estimate(*counts))

    return wrong


def of_all(combine: Callable) -> Callable:
    """`combine` of the three estimates, [3, n], in place of the smallest."""
    return lambda *counts: combine(np.array([*estimates(*counts).values()]))


def ties_lost(*counts):
    """What a chain of `if` finds that asks for "smaller than both others", and takes the rest."""
    traffic, passes, instructions = estimates(*counts).values()
    tied = (traffic == passes) & (traffic < instructions)
    return np.where(tied, instructions, lowest(*counts))


ESTIMATES = {
    "traffic_only": lambda intensity, passes, accesses, ridge: intensity / ridge,
    "without_traffic": lowest_without("traffic"),
    "without_passes": lowest_without("passes"),
    "without_instructions": lowest_without("instructions"),
    "highest": of_all(lambda shares: shares.max(axis=0)),
    "product": of_all(lambda shares: shares.prod(axis=0)),
    "capped_product": of_all(lambda shares: np.minimum(shares, 1).prod(axis=0)),
    "ridge_of_the_text": lowest_with("traffic", lambda i, p, a, ridge: i / 50),
    "halved_for_each_pass": lowest_with("passes", lambda i, passes, a, r: 0.5 ** (passes + 1)),
    "along_a_line": lowest_with(  # through the text's two points for the accesses, 1/2 and 1/4
        "instructions", lambda i, p, accesses, r: np.clip(0.625 - 0.125 * accesses, 0, 1)
    ),
    "one_plus_three_passes": lowest_with("passes", lambda i, passes, a, r: 1 / (1 + 3 * passes)),
    "mean": of_all(lambda shares: shares.mean(axis=0)),
    "one_after_the_other": of_all(lambda shares: 1 / (1 / shares).sum(axis=0)),
    "one_per_clock": lowest_with("passes", lambda i, passes, a, r: 1 / passes),
    "traffic_upside_down": lowest_with("traffic", lambda intensity, p, a, r: r / intensity),
    "without_ridge": lowest_with("traffic", lambda intensity, p, a, r: intensity),
    "passes_upside_down": lowest_with("passes", lambda i, passes, a, r: passes / ISSUED),
    "four_over_passes": lowest_with("passes", lambda i, passes, a, r: ISSUED / passes),
    "accesses_alone": lowest_with("instructions", lambda i, p, accesses, r: 1 / accesses),
    "half_per_access": lowest_with("instructions", lambda i, p, accesses, r: 0.5 / accesses),
    "share_of_accesses": lowest_with("instructions", lambda i, p, a, r: a / (1 + a)),
    "ties_lost": ties_lost,
}
