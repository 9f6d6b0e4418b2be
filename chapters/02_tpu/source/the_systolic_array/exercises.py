"""The exercises of lesson the_systolic_array: feeds, one cycle, a count, an address."""

import math
from collections.abc import Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, WINDOWS, cases_of, exercise
from labkit.convolutions import SAME_SHAPES, SQUARE_IMAGE, TELLING_SIZES, im2col
from labkit_lessons.tpu.the_systolic_array.wrong import cycles as wrong_count
from labkit_lessons.tpu.the_systolic_array.wrong import implicit_rows as wrong_address
from labkit_lessons.tpu.the_systolic_array.wrong import skew as wrong_feeds
from labkit_lessons.tpu.the_systolic_array.wrong import systolic_step as wrong_step

FORBIDDEN = (*LIBRARIES, WINDOWS, "labkit.tpu")
CLOSE = {"rtol": 1e-6, "atol": 1e-6}  # all of these may be computed in float32 as well

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
    size = math.prod(shape)
    candidates = np.arange(2 * size) - size
    return rng.permutation(candidates)[:size].reshape(shape)


# tpu.skew: a[M,K] -> feeds[M+K-1,K]


def matrix(rng: np.random.Generator, M: int, K: int, whole: bool) -> tuple[np.ndarray]:
    """a[M,K]."""
    return (numbers(rng, (M, K), whole),)


def staggered(a):
    """Column k of a, k cycles late; zeros before and after."""
    K = a.shape[1]
    latest = K - 1
    columns = [np.pad(a[:, k], (k, latest - k)) for k in range(K)]
    return np.stack(columns, axis=1)


skew = exercise(
    "tpu.skew",
    oracle=staggered,
    cases=cases_of(MATRICES, matrix),
    wrong={
        "together": wrong_feeds.together,
        "last_first": wrong_feeds.last_first,
        "turned": lambda a: staggered(a.T),
        "row_for_column": wrong_feeds.filled(wrong_feeds.row_for_column),
        "whole_rows": wrong_feeds.filled(wrong_feeds.whole_rows),
        "cut_off": wrong_feeds.filled(wrong_feeds.cut_off),
        "too_few_columns": wrong_feeds.filled(wrong_feeds.too_few_columns),
        "early": lambda a: wrong_feeds.rolled(a, -1),
        "come_round": lambda a: wrong_feeds.rolled(a, 2),
        "one_cycle_late": wrong_feeds.one_cycle_late,
        "twice_as_late": wrong_feeds.twice_as_late,
        "open_end": wrong_feeds.filled(wrong_feeds.open_end),
    },
    outputs=("feeds",),
    forbidden=FORBIDDEN,
    **CLOSE,
)

# tpu.systolic_step: a, psum, w [rows,cols], feed [rows] -> a_next, psum_next [rows,cols]


def registers(rng: np.random.Generator, rows: int, cols: int, whole: bool) -> tuple:
    """a, psum, w and feed, before a step."""
    a, psum, w = numbers(rng, (3, rows, cols), whole)
    feed = numbers(rng, (rows,), whole)
    return a, psum, w, feed


def one_step(a, psum, w, feed):
    """Activations move right, sums move down, and each cell adds its product."""
    from_left = a[:, :-1]
    a_next = np.column_stack([feed, from_left])
    zeros = np.zeros_like(psum[:1])
    from_above = np.vstack([zeros, psum[:-1]])
    product = a_next * w
    return a_next, from_above + product


systolic_step = exercise(
    "tpu.systolic_step",
    oracle=one_step,
    cases=cases_of(MATRICES, registers),
    wrong={
        "old_activations": wrong_step.old_activations,
        "sums_stay": wrong_step.with_sums(wrong_step.sums_stay),
        "sums_come_round": wrong_step.with_sums(wrong_step.sums_come_round),
        "first_sums_stay": wrong_step.with_sums(wrong_step.first_sums_stay),
        "no_sum": wrong_step.with_sums(wrong_step.no_sum),
        "no_product": wrong_step.with_sums(wrong_step.no_product),
        "both_sums": wrong_step.with_sums(wrong_step.both_sums),
        "factors_added": wrong_step.factors_added,
        "sums_run_through": wrong_step.with_sums(wrong_step.sums_run_through),
        "matrix_product": wrong_step.matrix_product,
        "broadcast": wrong_step.with_activations(wrong_step.broadcast),
        "adds_first": wrong_step.with_sums(wrong_step.adds_first),
        "sums_up": wrong_step.with_sums(wrong_step.sums_up),
        "sums_right": wrong_step.with_sums(wrong_step.sums_right),
        "numbers_left": wrong_step.with_activations(wrong_step.numbers_left),
        "numbers_come_round": wrong_step.with_activations(wrong_step.numbers_come_round),
        "numbers_down": wrong_step.with_activations(wrong_step.numbers_down),
        "activations_stay": wrong_step.with_activations(wrong_step.activations_stay),
        "nothing_enters": wrong_step.with_activations(wrong_step.nothing_enters),
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
    "many products": (40, 91, 32),  # 3 * 91 * (1 / 91) is more than 3
}
LARGE = 700_000_000, 20, 15  # on 7 x 5 cells: more cycles than an int32 can count


def products(rng: np.random.Generator, n: int, rows: int, cols: int) -> tuple:
    """Sizes M[n], K[n], N[n] of products, each size once; the first ones stand on the borders.

    They are one of whole tiles, one a row and a column above whole tiles, one below, and a large
    one. All others are random.
    """
    borders = [
        (9, 3 * rows, 4 * cols),
        (33, 3 * rows + 1, 5 * cols + 1),
        (2, 6 * rows - 1, 8 * cols - 1),
        LARGE,
    ]
    free = np.setdiff1d(np.arange(10, 400), np.array(borders))
    others = rng.choice(free, (n, 3), replace=False)
    sizes = np.concatenate([borders, others])[:n]
    M, K, N = rng.permutation(sizes).T
    return M, K, N, rows, cols


def one_product(name: str, M: int, K: int, N: int, rows: int, cols: int) -> Case:
    """A case whose arrays of sizes have one element each."""
    return Case(name, (np.array([M]), np.array([K]), np.array([N]), rows, cols))


def cycle_cases(rng: np.random.Generator) -> Iterable[Case]:
    """First a product that one can count by hand, with its sizes in the case's name."""
    yield one_product("M[0] = 20, K[0] = 11, N[0] = 6", 20, 11, 6, rows=7, cols=5)
    yield one_product("all sizes 1", 1, 1, 1, rows=1, cols=1)
    yield from cases_of(GRIDS, products)(rng)


def count(M, K, N, rows, cols):
    """Load, stream and fill of a tile, times the number of tiles."""
    load = rows
    fill = rows + cols - 2
    tiles_down = -(-K // rows)
    tiles_across = -(-N // cols)
    return (load + M + fill) * tiles_down * tiles_across


cycles = exercise(
    "tpu.cycles",
    oracle=count,
    cases=cycle_cases,
    wrong={
        "no_load": wrong_count.with_tile(wrong_count.no_load),
        "load_by_columns": wrong_count.with_tile(wrong_count.load_by_columns),
        "no_fill": wrong_count.with_tile(wrong_count.no_fill),
        "fill_without_rows": wrong_count.with_tile(wrong_count.fill_without_rows),
        "fill_without_columns": wrong_count.with_tile(wrong_count.fill_without_columns),
        "load_by_cells": wrong_count.with_tile(wrong_count.load_by_cells),
        "stream_one_short": wrong_count.with_tile(wrong_count.stream_one_short),
        "fill_too_long": wrong_count.with_tile(wrong_count.fill_too_long),
        "fill_one_too_long": wrong_count.with_tile(wrong_count.fill_one_too_long),
        "one_tile": wrong_count.with_pieces(wrong_count.one_piece),
        "whole_tiles": wrong_count.with_pieces(wrong_count.full_pieces),
        "one_piece_at_least": wrong_count.with_pieces(wrong_count.one_piece_at_least),
        "to_the_nearest": wrong_count.with_pieces(wrong_count.nearest_pieces),
        "by_reciprocals": wrong_count.with_pieces(wrong_count.by_reciprocals),
        "by_area": wrong_count.with_tiles(wrong_count.by_area),
        "one_tile_more": wrong_count.with_pieces(wrong_count.one_piece_more),
        "part_of_a_tile": wrong_count.with_pieces(wrong_count.part_of_a_piece),
        "tiles_added": wrong_count.with_tiles(wrong_count.tiles_added),
        "sides_swapped": wrong_count.with_tiles(wrong_count.sides_swapped),
        "tile_as_grid": wrong_count.tile_as_grid,
        "small_tile_alone": wrong_count.small_tile_alone,
        "n_whole": wrong_count.with_tiles(wrong_count.n_whole),
        "k_whole": wrong_count.with_tiles(wrong_count.k_whole),
        "m_cut": wrong_count.m_cut,
        "loads_once": wrong_count.loads_once,
        "fill_once": wrong_count.fill_once,
        "both_once": wrong_count.both_once,
        "longer_of_both": wrong_count.longer_of_both,
        "two_registers": wrong_count.two_registers,
        "square_by_rows": lambda M, K, N, rows, cols: count(M, K, N, rows, rows),
        "square_by_columns": lambda M, K, N, rows, cols: count(M, K, N, cols, cols),
        "in_32_bits": lambda *sizes: count(*sizes).astype(np.int32),
        "all_cells_busy": wrong_count.all_cells_busy,
    },
    outputs=("cycles",),
    forbidden=FORBIDDEN,
)

# tpu.implicit_rows: x[N,C,H,W], m[i], R, S, stride, padding -> rows[i, C R S]

LARGE_IMAGE = (1, 4, 100, 80)  # its matrix is nine times as large
IMAGES = {  # shapes of x [N,C,H,W], w [K,C,R,S] and y [N,K,P,Q], stride, padding
    **TELLING_SIZES,
    **SQUARE_IMAGE,
    "like the network": ((3, 4, 6, 6), (3, 4, 3, 3), (3, 3, 6, 6), 1, 1),
    "prime sizes, stride and padding": ((2, 5, 13, 9), (3, 5, 3, 3), (2, 3, 7, 5), 2, 1),
    "a few rows of a large matrix": (LARGE_IMAGE, (4, 4, 3, 3), LARGE_IMAGE, 1, 1),
    **SAME_SHAPES,
}


FIRST_STRIDE = {}  # x.shape, R, S -> stride of the first case that has these shapes
for x, w, _, stride, _ in IMAGES.values():
    FIRST_STRIDE.setdefault((x, *w[2:]), stride)


def some_rows(rng: np.random.Generator, x: tuple, w: tuple, y: tuple, *how: int) -> tuple:
    """An image, and the numbers of a few rows of the matrix of its windows, in disorder."""
    N, _, P, Q = y
    some = 4 + x[1]  # more of them for more channels
    R, S = w[2:]
    all_rows = rng.permutation(N * P * Q)
    m = all_rows[:some]
    size = math.prod(x)
    from_0_to_4 = 4 * rng.permutation(size) / size  # no two pixels alike
    pixels = from_0_to_4 - 2
    image = pixels.astype(np.float32).reshape(x)
    return image, m, R, S, *how


def rows_of_the_matrix(x, m, R, S, stride=1, padding=0):
    """The matrix is written, and its rows are taken from it."""
    matrix = im2col(x, R, S, stride, padding)
    return matrix[m]


def enough_memory(x, m, *how) -> int:
    """Bytes for the image in its frame and the rows asked for, but not for the whole matrix."""
    return 4 * x.nbytes + 200_000


implicit_rows = exercise(
    "tpu.implicit_rows",
    oracle=rows_of_the_matrix,
    cases=cases_of(IMAGES, some_rows),
    memory=enough_memory,
    wrong={
        "channels_last": wrong_address.with_tap(wrong_address.channels_last),
        "taps_backwards": wrong_address.with_tap(wrong_address.taps_backwards),
        "no_column": wrong_address.with_window(wrong_address.no_column),
        "columns_first": wrong_address.with_window(wrong_address.columns_first),
        "sizes_swapped": wrong_address.with_window(wrong_address.sizes_swapped),
        "rows_for_columns": wrong_address.with_window(wrong_address.rows_for_columns),
        "consecutive": wrong_address.consecutive,
        "images_fastest": wrong_address.with_window(wrong_address.images_fastest),
        "p_runs_on": wrong_address.with_window(wrong_address.p_runs_on),
        "pixels_for_windows": wrong_address.pixels_for_windows,
        "unpadded": wrong_address.unpadded,
        "centred": wrong_address.with_line(wrong_address.centred),
        "kernel_as_stride": wrong_address.with_line(wrong_address.kernel_as_stride),
        "all_rows": wrong_address.all_rows,
        "first_rows": wrong_address.first_rows,
        "in_rising_order": wrong_address.in_rising_order,
        "taps_swapped": wrong_address.with_tap(wrong_address.taps_swapped),
        "positions_swapped": wrong_address.with_window(wrong_address.positions_swapped),
        "stride_one": wrong_address.with_line(wrong_address.stride_one),
        "first_stride": wrong_address.with_stride_of(FIRST_STRIDE),
        "stride_on_taps": wrong_address.with_line(wrong_address.stride_on_taps),
        "stride_on_both": wrong_address.with_line(wrong_address.stride_on_both),
        "padding_subtracted": wrong_address.with_line(wrong_address.padding_subtracted),
    },
    outputs=("rows",),
    forbidden=FORBIDDEN,
    **CLOSE,
)

EXERCISES = [skew, systolic_step, cycles, implicit_rows]
