"""The exercises of lesson 02_tpu/1, the systolic array: feeds, one cycle, a count, an address."""

import math
from collections.abc import Callable, Iterable

import numpy as np

from labkit.checks.exercise import Case
from labkit.checks.items import LIBRARIES, WINDOWS, cases_of, exercise
from labkit.convolutions import TELLING_SIZES, im2col, output_size

FORBIDDEN = (*LIBRARIES, WINDOWS, "labkit.tpu")
CLOSE = {"rtol": 1e-6, "atol": 1e-6}  # all of these may be computed in float32 as well

# tpu.skew: a[M,K] -> feeds[M+K-1,K]

MATRICES = {  # rows, columns, whole numbers?
    "prime": (7, 5, False),
    "all sizes 1": (1, 1, False),
    "wide": (3, 8, False),
    "square": (4, 4, False),
    "one row": (1, 6, False),
    "one column": (6, 1, False),
    "whole numbers": (5, 3, True),
    "larger": (40, 32, False),
}


def numbers(rng: np.random.Generator, shape: tuple[int, ...], whole: bool) -> np.ndarray:
    """Numbers of both signs, all different; whole ones as integers."""
    if not whole:
        return rng.normal(size=shape)
    size = int(np.prod(shape))
    return rng.permutation(np.arange(2 * size) - size)[:size].reshape(shape)


def staggered(a, late):
    """Column k of a[M,K], late[k] cycles late; zeros before and after: [M + max(late), K]."""
    last = max(late)
    columns = [np.pad(a[:, k], (n, last - n)) for k, n in enumerate(late)]
    return np.stack(columns, axis=1)


def at_once(a):
    return np.pad(a, ((0, a.shape[1] - 1), (0, 0)))


def filled(a, fill: Callable):
    """As the lesson's stub: `fill(feeds, a, k)` for each k. It may raise, as a learner's would."""
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K), a.dtype)
    for k in range(K):
        fill(feeds, a, k)
    return feeds


def row_for_column(feeds, a, k):
    feeds[k : k + len(a), k] = a[k]


def whole_rows(feeds, a, k):
    feeds[k : k + len(a)] = a[:, k]


def cut_off(feeds, a, k):
    feeds[k : len(a), k] = a[: max(0, len(a) - k), k]


def too_few_columns(feeds, a, k):
    if k < len(a):
        feeds[k : k + len(a), k] = a[:, k]


def early(a):
    padded = at_once(a)
    return np.stack([np.roll(column, -k) for k, column in enumerate(padded.T)], axis=1)


def come_round(a):
    """Twice as late, in a schedule that is too short for it: the rest begins again at the top."""
    padded = at_once(a)
    return np.stack([np.roll(column, 2 * k) for k, column in enumerate(padded.T)], axis=1)


skew = exercise(
    "tpu.skew",
    oracle=lambda a: staggered(a, range(a.shape[1])),
    cases=cases_of(MATRICES, lambda rng, M, K, whole: (numbers(rng, (M, K), whole),)),
    wrong={
        "together": at_once,
        "last_first": lambda a: staggered(a, range(a.shape[1])[::-1]),
        "turned": lambda a: staggered(a.T, range(len(a))),
        "row_for_column": lambda a: filled(a, row_for_column),
        "whole_rows": lambda a: filled(a, whole_rows),
        "cut_off": lambda a: filled(a, cut_off),
        "too_few_columns": lambda a: filled(a, too_few_columns),
        "early": early,
        "come_round": come_round,
        "one_cycle_late": lambda a: staggered(a, range(1, a.shape[1] + 1)),
        "twice_as_late": lambda a: staggered(a, range(0, 2 * a.shape[1], 2)),
        "open_end": lambda a: np.tril(np.broadcast_to(a, (sum(a.shape) - 1, a.shape[1]))),
    },
    outputs=("feeds",),
    forbidden=FORBIDDEN,
    **CLOSE,
)

# tpu.systolic_step: a, psum, w [rows,cols], feed [rows] -> a_next, psum_next [rows,cols]


def registers(rng: np.random.Generator, rows: int, cols: int, whole: bool) -> tuple:
    a, psum, w = numbers(rng, (3, rows, cols), whole)
    return a, psum, w, numbers(rng, (rows,), whole)


def moved_right(a, feed):
    return np.column_stack([feed, a[:, :-1]])


def moved_down(psum):
    return np.concatenate([0 * psum[:1], psum[:-1]])


def step(a, psum, w, feed):
    a_next = moved_right(a, feed)
    return a_next, moved_down(psum) + a_next * w


def with_sums(sums: Callable) -> Callable:
    """The activations are right; `sums(psum, product)` stands for the new sums."""

    def wrong(a, psum, w, feed):
        a_next = moved_right(a, feed)
        return a_next, sums(psum, a_next * w)

    return wrong


def with_activations(activations: Callable) -> Callable:
    """`activations(a, feed)` stands for the new ones; the sums are right for these."""

    def wrong(a, psum, w, feed):
        a_next = activations(a, feed)
        return a_next, moved_down(psum) + a_next * w

    return wrong


def old_activations(a, psum, w, feed):
    return moved_right(a, feed), moved_down(psum) + a * w


def matrix_product(a, psum, w, feed):
    a_next = moved_right(a, feed)
    return a_next, moved_down(psum) + a_next @ w


one_step = exercise(
    "tpu.systolic_step",
    oracle=step,
    cases=cases_of(MATRICES, registers),
    wrong={
        "old_activations": old_activations,
        "sums_stay": with_sums(lambda psum, product: psum + product),
        "sums_come_round": with_sums(lambda psum, product: np.roll(psum, 1, axis=0) + product),
        "first_sums_stay": with_sums(
            lambda psum, product: psum[[0, *range(len(psum) - 1)]] + product
        ),
        "no_sum": with_sums(lambda psum, product: product),
        "no_product": with_sums(lambda psum, product: moved_down(psum)),
        "both_sums": with_sums(lambda psum, product: psum + moved_down(psum) + product),
        "sums_run_through": with_sums(lambda psum, product: np.cumsum(product, axis=0)),
        "matrix_product": matrix_product,
        "broadcast": with_activations(lambda a, feed: 0 * a + feed[:, None]),
        "adds_first": with_sums(lambda psum, product: moved_down(psum + product)),
        "sums_up": with_sums(lambda psum, product: moved_down(psum[::-1])[::-1] + product),
        "sums_right": with_sums(lambda psum, product: moved_down(psum.T).T + product),
        "numbers_left": with_activations(lambda a, feed: np.column_stack([a[:, 1:], feed])),
        "numbers_come_round": with_activations(lambda a, feed: np.roll(a, 1, axis=1)),
        "numbers_down": with_activations(lambda a, feed: np.vstack([feed, a[:-1]])),
        "activations_stay": with_activations(lambda a, feed: np.column_stack([feed, a[:, 1:]])),
        "nothing_enters": with_activations(lambda a, feed: a),
    },
    outputs=("a_next", "psum_next"),
    forbidden=FORBIDDEN,
    **CLOSE,
)

# tpu.cycles: M, K, N [n], rows, cols -> cycles [n]

GRIDS = {  # how many products, rows, columns
    "prime": (7, 7, 5),
    "wide grid": (5, 3, 8),
    "square grid": (4, 4, 4),
    "one row of cells": (6, 1, 6),
    "one column of cells": (3, 6, 1),
    "many products": (40, 40, 32),
}
LARGE = 700_000_000, 20, 15  # on 7 x 5 cells: more cycles than an int32 can count


def products(rng: np.random.Generator, n: int, rows: int, cols: int) -> tuple:
    """Sizes M[n], K[n], N[n] of products, each size once; the first ones stand on the borders.

    They are one of whole tiles, one a row and a column above whole tiles, one below, and a large
    one. All others are random.
    """
    sizes = [
        (9, 2 * rows, 4 * cols),
        (33, 3 * rows + 1, 5 * cols + 1),
        (2, 6 * rows - 1, 8 * cols - 1),
        LARGE,
    ]
    free = np.setdiff1d(np.arange(10, 400), np.array(sizes))
    sizes += rng.choice(free, (n, 3), replace=False).tolist()
    M, K, N = rng.permutation(sizes[:n]).T
    return M, K, N, rows, cols


def cycle_cases(rng: np.random.Generator) -> Iterable[Case]:
    """First a product that one can count by hand, with its sizes in the case's name."""
    by_hand = np.array([20]), np.array([11]), np.array([6])
    yield Case("M[0] = 20, K[0] = 11, N[0] = 6", (*by_hand, 7, 5))
    ones = np.array([1]), np.array([1]), np.array([1])
    yield Case("all sizes 1", (*ones, 1, 1))
    yield from cases_of(GRIDS, products)(rng)


def up(size, side):
    return -(-size // side)


def nearest(size, side):
    return np.rint(size / side)


def one_tile(M, rows, cols):
    return rows + M + rows + cols - 2


def count(M, K, N, rows, cols):
    return one_tile(M, rows, cols) * up(K, rows) * up(N, cols)


def with_tile(more: Callable) -> Callable:
    """A tile takes `more(rows, cols)` cycles more than it should, or fewer."""
    return lambda M, K, N, rows, cols: count(M + more(rows, cols), K, N, rows, cols)


def with_tiles(tiles: Callable) -> Callable:
    """`tiles(M, K, N, rows, cols)` stands for their number."""
    return lambda M, K, N, rows, cols: one_tile(M, rows, cols) * tiles(M, K, N, rows, cols)


def tile_as_grid(M, K, N, rows, cols):
    return (rows + M + K + N - 2) * up(K, rows) * up(N, cols)


def loads_once(M, K, N, rows, cols):
    return rows + (M + rows + cols - 2) * up(K, rows) * up(N, cols)


def fill_once(M, K, N, rows, cols):
    return (rows + M) * up(K, rows) * up(N, cols) + rows + cols - 2


def two_registers(M, K, N, rows, cols):
    tiles = up(K, rows) * up(N, cols)
    return one_tile(M, rows, cols) + (tiles - 1) * np.maximum(M, rows)


cycles = exercise(
    "tpu.cycles",
    oracle=count,
    cases=cycle_cases,
    wrong={
        "no_load": with_tile(lambda rows, cols: -rows),
        "load_by_columns": with_tile(lambda rows, cols: cols - rows),
        "no_fill": with_tile(lambda rows, cols: 2 - rows - cols),
        "fill_too_long": with_tile(lambda rows, cols: 2),
        "fill_one_too_long": with_tile(lambda rows, cols: 1),
        "one_tile": with_tiles(lambda M, K, N, rows, cols: 1),
        "whole_tiles": with_tiles(lambda M, K, N, rows, cols: (K // rows) * (N // cols)),
        "to_the_nearest": with_tiles(
            lambda M, K, N, rows, cols: nearest(K, rows) * nearest(N, cols)
        ),
        "by_area": with_tiles(lambda M, K, N, rows, cols: up(K * N, rows * cols)),
        "one_tile_more": with_tiles(lambda M, K, N, rows, cols: (K // rows + 1) * (N // cols + 1)),
        "part_of_a_tile": with_tiles(lambda M, K, N, rows, cols: (K / rows) * (N / cols)),
        "tiles_added": with_tiles(lambda M, K, N, rows, cols: up(K, rows) + up(N, cols)),
        "sides_swapped": with_tiles(lambda M, K, N, rows, cols: up(K, cols) * up(N, rows)),
        "tile_as_grid": tile_as_grid,
        "n_whole": with_tiles(lambda M, K, N, rows, cols: up(K, rows)),
        "k_whole": with_tiles(lambda M, K, N, rows, cols: up(N, cols)),
        "m_cut": with_tiles(lambda M, K, N, rows, cols: up(M, rows) * up(K, rows) * up(N, cols)),
        "loads_once": loads_once,
        "fill_once": fill_once,
        "two_registers": two_registers,
        "in_32_bits": lambda *sizes: count(*sizes).astype(np.int32),
        "all_cells_busy": lambda M, K, N, rows, cols: M * K * N / (rows * cols),
    },
    outputs=("cycles",),
    forbidden=FORBIDDEN,
)

# tpu.implicit_rows: x[N,C,H,W], m[i], R, S, stride, padding -> rows[i, C R S]


LARGE_IMAGE = {  # whose matrix is nine times as large, and not needed for a few of its rows
    "a few rows of a large matrix": ((1, 4, 100, 80), (4, 4, 3, 3), (1, 4, 100, 80), 1, 1),
}


def some_rows(rng: np.random.Generator, x: tuple, w: tuple, y: tuple, *how: int) -> tuple:
    """An image, and the numbers of at most seven rows of the matrix of its windows, in disorder."""
    rows = x[0] * y[2] * y[3]
    m = rng.permutation(rows)[:7]
    pixels = math.prod(x)
    image = 4 * rng.permutation(pixels) / pixels - 2  # no two pixels alike
    return image.astype(np.float32).reshape(x), m, *w[2:], *how


def window_of(m, N, P, Q):
    """Row number -> image, and row and column of the output."""
    return np.unravel_index(m, (N, P, Q))


def pixel_of(p, q, r, s, stride, padding):
    """Output position and tap -> row and column of the image in its frame."""
    return p * stride + r, q * stride + s


def addressed(x, m, R, S, stride=1, padding=0, window=window_of, pixel=pixel_of, framed=True):
    """As in the lesson, with other addresses; it may raise, as a learner's would.

    framed   False: the pixels are read from x itself
    """
    N, C, _, _ = x.shape
    P, Q = output_size(x.shape, R, S, stride, padding)
    frame = (padding, padding)
    image = np.pad(x, ((0, 0), (0, 0), frame, frame)) if framed else x
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = window(m[:, None], N, P, Q)
    row, column = pixel(p, q, r, s, stride, padding)
    return image[n, c, row, column]


def with_window(window: Callable) -> Callable:
    return lambda *inputs: addressed(*inputs, window=window)


def with_pixel(pixel: Callable) -> Callable:
    return lambda *inputs: addressed(*inputs, pixel=pixel)


def columns_first(m, N, P, Q):
    n, q, p = np.unravel_index(m, (N, Q, P))
    return n, p, q


def images_fastest(m, N, P, Q):
    p, q, n = np.unravel_index(m, (P, Q, N))
    return n, p, q


def p_runs_on(m, N, P, Q):
    n, _, q = np.unravel_index(m, (N, P, Q))
    return n, m // Q, q


def with_taps(change: Callable) -> Callable:
    """The right pixels of each row, [i,C,R,S], in the order that `change` gives them."""

    def wrong(x, m, R, S, stride=1, padding=0):
        rows = addressed(x, m, R, S, stride, padding)
        pixels = rows.reshape(len(m), x.shape[1], R, S)
        return change(pixels).reshape(rows.shape)

    return wrong


def with_distance(first: Callable) -> Callable:
    """The window of output (p, q) begins in pixel first(p, R, stride), and so along the columns."""

    def wrong(x, m, R, S, stride=1, padding=0):
        def pixel(p, q, r, s, stride, padding):
            return first(p, R, stride) + r, first(q, S, stride) + s

        return addressed(x, m, R, S, stride, padding, pixel=pixel)

    return wrong


def no_column(x, m, R, S, stride=1, padding=0):
    """n, p and q are rows beside the rows c, r and s: they fit by chance alone."""
    taps = np.arange(x.shape[1] * R * S)
    m, _ = np.broadcast_arrays(m, taps)
    rows = addressed(x, m, R, S, stride, padding)
    return rows[np.arange(len(m)), taps]


def pixels_for_windows(x, m, R, S, stride=1, padding=0):
    """H and W of the image in its frame stand for P and Q."""
    H, W = (n + 2 * padding for n in x.shape[2:])
    window = lambda m, N, P, Q: np.unravel_index(m, (N, H, W))  # noqa: E731
    return addressed(x, m, R, S, stride, padding, window=window)


WRONG_PIXELS = {
    "taps_swapped": lambda p, q, r, s, stride, padding: (p * stride + s, q * stride + r),
    "positions_swapped": lambda p, q, r, s, stride, padding: (q * stride + r, p * stride + s),
    "stride_one": lambda p, q, r, s, stride, padding: (p + r, q + s),
    "stride_on_taps": lambda p, q, r, s, stride, padding: (p + r * stride, q + s * stride),
    "stride_on_both": lambda p, q, r, s, stride, padding: ((p + r) * stride, (q + s) * stride),
    "padding_subtracted": lambda p, q, r, s, stride, padding: (
        p * stride + r - padding,
        q * stride + s - padding,
    ),
}

rows = exercise(
    "tpu.implicit_rows",
    oracle=lambda x, m, R, S, stride=1, padding=0: im2col(x, R, S, stride, padding)[m],
    cases=cases_of(TELLING_SIZES | LARGE_IMAGE, some_rows),
    memory=lambda x, m, *how: 4 * x.nbytes + 200_000,
    wrong={
        "channels_last": with_taps(lambda pixels: pixels.transpose(0, 2, 3, 1)),
        "taps_backwards": with_taps(lambda pixels: pixels[:, :, ::-1, ::-1]),
        "no_column": no_column,
        "columns_first": with_window(columns_first),
        "sizes_swapped": with_window(lambda m, N, P, Q: np.unravel_index(m, (N, Q, P))),
        "images_fastest": with_window(images_fastest),
        "p_runs_on": with_window(p_runs_on),
        "pixels_for_windows": pixels_for_windows,
        "unpadded": lambda *inputs: addressed(*inputs, framed=False),
        "centred": with_distance(lambda p, size, stride: p * stride - size // 2),
        "kernel_as_stride": with_distance(lambda p, size, stride: p * size),
        "all_rows": lambda x, m, *how: im2col(x, *how),
        "first_rows": lambda x, m, *how: im2col(x, *how)[: len(m)],
        "in_rising_order": lambda x, m, *how: im2col(x, *how)[np.sort(m)],
    }
    | {name: with_pixel(pixel) for name, pixel in WRONG_PIXELS.items()},
    outputs=("rows",),
    forbidden=FORBIDDEN,
    **CLOSE,
)

EXERCISES = [skew, one_step, cycles, rows]
