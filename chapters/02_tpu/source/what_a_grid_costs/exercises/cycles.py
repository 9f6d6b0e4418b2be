"""Exercise tpu.cycles: M, K, N [n], rows, cols -> cycles [n]."""

from collections.abc import Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_a_grid_costs.wrong import cycles as wrong_count

FORBIDDEN = (*LIBRARIES, "labkit.tpu")
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
        **by_own_name(
            wrong_count.no_load,
            wrong_count.load_by_columns,
            wrong_count.no_fill,
            wrong_count.fill_without_rows,
            wrong_count.fill_without_columns,
            wrong_count.load_by_cells,
            wrong_count.stream_one_short,
            wrong_count.fill_too_long,
            wrong_count.fill_one_too_long,
            made=wrong_count.with_tile,
        ),
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
        **by_own_name(
            wrong_count.m_cut,
            wrong_count.loads_once,
            wrong_count.fill_once,
            wrong_count.both_once,
            wrong_count.longer_of_both,
            wrong_count.two_registers,
        ),
        "square_by_rows": lambda M, K, N, rows, cols: count(M, K, N, rows, rows),
        "square_by_columns": lambda M, K, N, rows, cols: count(M, K, N, cols, cols),
        "in_32_bits": lambda *sizes: count(*sizes).astype(np.int32),
        "all_cells_busy": wrong_count.all_cells_busy,
    },
    outputs=("cycles",),
    forbidden=FORBIDDEN,
)
