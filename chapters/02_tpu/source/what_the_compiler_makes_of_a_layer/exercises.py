"""The exercises of the lesson: tiled layouts, and how busy the matrix units are.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from math import prod

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer.wrong import mxu_utilization as wrong_use
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer.wrong import padded_bytes as wrong_layout
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer.wrong import shared as wrong_size

FORBIDDEN = (*LIBRARIES, "labkit.tpu")

# tpu.padded_bytes: sizes of the axes, axes from the fastest to the slowest, tile, B -> B

LAYOUTS = {  # sizes, axes from the fastest to the slowest, tile, bytes of an element
    "all sizes 1": ([1], (0,), (256,), 2),
    "[7, 131] in the order (1, 0)": ([7, 131], (1, 0), (8, 128), 2),
    "whole tiles": ([16, 256, 5], (1, 0, 2), (8, 128), 1),
    "[7, 131] in the order (0, 1)": ([7, 131], (0, 1), (8, 128), 4),
    "one below and one above": ([129, 7], (0, 1), (8, 128), 4),
    "a filter": ([5, 3, 32, 65], (3, 2, 1, 0), (4, 128), 2),
    "the batch fastest": ([256, 30, 33, 3, 2], (0, 2, 3, 1, 4), (8, 128), 4),
    "several tiles": ([20, 300, 9], (1, 2, 0), (8, 128), 4),
    "a larger tile": ([367, 109, 525], (2, 0, 1), (15, 75), 1),  # 525 * (1 / 75) is more than 7
    "a large array": ([5000, 4096, 300], (0, 2, 1), (8, 128), 4),  # more than 32 bits count
    "a tile of one size": ([1000, 11], (0, 1), (256,), 4),  # not as all 11,000 in one row
    "a tile of one size, the last axis fastest": ([7, 3, 300], (2, 0, 1), (256,), 2),
}
LAYOUTS = {f"{name} in tiles {given[2]}": given for name, given in LAYOUTS.items()}


def layout(
    rng: np.random.Generator, sizes: list[int], order: tuple, tile: tuple, itemsize: int
) -> tuple:
    """The sizes as an array, so that it shows if an answer changes them."""
    return np.array(sizes), order, tile, itemsize


def padded(shape, order, tile, itemsize) -> int:
    """The bytes of a layout whose fastest axes are filled up to whole tiles."""
    sizes = [int(n) for n in shape]
    fastest_side_first = tile[::-1]
    for axis, side in zip(order, fastest_side_first, strict=False):
        tiles = -(-sizes[axis] // side)
        sizes[axis] = tiles * side
    return prod(sizes) * itemsize


FIRST_BYTES = {}  # sizes -> bytes in the first case that has them
for sizes, *how in LAYOUTS.values():
    FIRST_BYTES.setdefault(tuple(sizes), padded(sizes, *how))

padded_bytes = exercise(
    "tpu.padded_bytes",
    oracle=padded,
    cases=cases_of(LAYOUTS, layout),
    wrong={
        "no_padding": wrong_layout.with_rounding(wrong_layout.no_padding),
        "as_written": wrong_layout.with_order(wrong_layout.as_written),
        "first_axes": wrong_layout.with_order(wrong_layout.first_axes),
        "longest_first": wrong_layout.longest_first,
        "slowest_first": wrong_layout.with_order(wrong_layout.slowest_first),
        "inverse_order": wrong_layout.with_order(wrong_layout.inverse),
        **by_own_name(
            wrong_layout.tile_swapped,
            wrong_layout.fastest_only,
            wrong_layout.fastest_kept,
            wrong_layout.always_8_128,
            wrong_layout.eight_rows,
            made=wrong_layout.with_tile,
        ),
        "all_axes": wrong_layout.all_axes,
        "tile_axes_alone": wrong_layout.tile_axes_alone,
        "two_axes_always": wrong_layout.with_tile(wrong_layout.two_sizes_always),
        "rows_in_pairs": wrong_layout.rows_in_pairs,
        "padding_alone": wrong_layout.padding_alone,
        "tiles": wrong_layout.with_rounding(wrong_size.tiles_of),
        "rounded_down": wrong_layout.with_rounding(wrong_size.down),
        "to_the_nearest": wrong_layout.with_rounding(wrong_layout.to_the_nearest),
        "by_mask": wrong_layout.with_rounding(wrong_layout.by_mask),
        "by_reciprocals": wrong_layout.with_rounding(wrong_size.up_by_reciprocals),
        "one_tile_more": wrong_layout.with_rounding(wrong_size.one_tile_more),
        "one_tile": wrong_layout.with_rounding(max),
        "in_one_row": wrong_layout.in_one_row,
        "rounded_in_bytes": wrong_layout.rounded_in_bytes,
        "elements": wrong_layout.elements,
        "remembered": lambda shape, *rest: FIRST_BYTES[tuple(shape)],
        "in_32_bits": lambda *given: int(np.int64(padded(*given)).astype(np.int32)),
        "in_float32": lambda *given: int(np.float32(padded(*given))),
    },
    outputs=("bytes",),
    forbidden=FORBIDDEN,
)

# tpu.mxu_utilization: M, K, N, cycles [n], units, size -> utilization [n], filled [n]

PRODUCTS = {  # how many products, units, size of their arrays
    "prime": (7, 3, 128),
    "one product": (1, 1, 7),
    "one unit": (3, 1, 128),
    "large units": (5, 4, 256),
    "two units": (3, 2, 105),  # 1050 * (1 / 105) is more than 10
    "many": (40, 8, 128),
}


def products(rng: np.random.Generator, n: int, units: int, size: int) -> tuple:
    """M, K, N and cycles of n products: the first one small, the last one of whole tiles.

    The small one fills a corner of its tile, and yet uses more of the cells than that: a compiler
    may lay it out in another way, as it does with conv1 on a v2.
    """
    small = 8 * size + 1, size // 4, size // 8 + 1
    whole_tiles = 9 * size, 10 * size, 11 * size
    free = np.setdiff1d(np.arange(2, 8 * size), small)
    sizes = rng.choice(free, (3, n), replace=False)
    sizes[:, 0] = small
    sizes[:, -1] = whole_tiles
    M, K, N = sizes
    utilization = 1 / rng.uniform(2, 9, n)
    cells = units * size**2
    cycles = np.round(M * K * N / (cells * utilization))
    return M, K, N, cycles, units, size


def used(M, K, N, cycles, units, size):
    """Multiply-adds over those possible, and weights over the cells of their tiles."""
    cells = units * size**2
    tiles_down = -(-K // size)
    tiles_across = -(-N // size)
    rows = tiles_down * size
    columns = tiles_across * size
    utilization = M * K * N / (cycles * cells)
    filled = K * N / (rows * columns)
    return utilization, filled


mxu_utilization = exercise(
    "tpu.mxu_utilization",
    oracle=used,
    cases=cases_of(PRODUCTS, products),
    wrong={
        "flop": wrong_use.times(lambda given: 2),
        "one_unit": wrong_use.times(lambda given: given.units),
        "one_side": wrong_use.times(lambda given: given.size),
        "no_cycles": wrong_use.times(lambda given: given.cycles),
        "padding_works": wrong_use.times(lambda given: 1 / wrong_use.filled_share(given)),
        "padding_twice": wrong_use.times(wrong_use.filled_share),
        "always_128": wrong_use.always_128,
        "never_above_filled": wrong_use.never_above_filled,
        "whole": wrong_use.whole,
        **by_own_name(
            wrong_use.rows_only,
            wrong_use.columns_only,
            wrong_use.of_all_units,
            wrong_use.stream_padded,
            wrong_use.product_rounded,
            wrong_use.unrounded,
            wrong_use.one_tile,
            made=wrong_use.with_filled,
        ),
        "empty": wrong_use.with_filled(lambda given: 1 - wrong_use.filled_share(given)),
        "last_tile": wrong_use.with_filled(wrong_use.last_tile),
        "rounded_down": wrong_use.with_filled(wrong_use.sides_rounded_down),
        "by_reciprocals": wrong_use.with_filled(wrong_use.sides_by_reciprocals),
        "one_tile_more": wrong_use.with_filled(wrong_use.sides_one_tile_more),
        "swapped": wrong_use.swapped,
    },
    outputs=("utilization", "filled"),
    forbidden=FORBIDDEN,
)

EXERCISES = [padded_bytes, mxu_utilization]
