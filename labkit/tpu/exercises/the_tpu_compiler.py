"""The exercises of lesson 02_tpu/3: tiled layouts, and what a compiler's cycles say."""

from collections.abc import Iterable
from math import prod

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.tpu.exercises.wrong import padded_bytes as wrong_layout
from labkit.tpu.exercises.wrong import the_tpu_compiler as wrong

FORBIDDEN = (*LIBRARIES, "labkit.tpu")

# tpu.padded_bytes: sizes of the axes, axes from the fastest to the slowest, tile, B -> B

LAYOUTS = {  # sizes, axes from the fastest to the slowest, tile, bytes of an element
    "all sizes 1": ([1], (0,), (256,), 2),
    "[7, 131] in the order (1, 0)": ([7, 131], (1, 0), (8, 128), 2),
    "whole tiles": ([16, 256, 5], (1, 0, 2), (8, 128), 1),
    "[128, 10] in the order (0, 1)": ([128, 10], (0, 1), (8, 128), 2),
    "one below and one above": ([129, 7], (0, 1), (8, 128), 4),
    "a filter": ([5, 3, 32, 65], (3, 2, 1, 0), (4, 128), 2),
    "the batch fastest": ([256, 30, 33, 3, 2], (0, 2, 3, 1, 4), (8, 128), 4),
    "several tiles": ([20, 300, 9], (1, 2, 0), (8, 128), 4),
    "a larger tile": ([37, 11, 200], (2, 0, 1), (16, 64), 1),
    "a long vector": ([1000, 3], (0, 1), (256,), 4),
}


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


padded_bytes = exercise(
    "tpu.padded_bytes",
    oracle=padded,
    cases=cases_of(LAYOUTS, layout),
    wrong={
        "no_padding": wrong_layout.with_rounding(wrong_layout.no_padding),
        "as_written": wrong_layout.with_order(wrong_layout.as_written),
        "first_axes": wrong_layout.with_order(wrong_layout.first_axes),
        "slowest_first": wrong_layout.with_order(wrong_layout.slowest_first),
        "inverse_order": wrong_layout.with_order(wrong_layout.inverse),
        "tile_swapped": wrong_layout.with_tile(wrong_layout.tile_swapped),
        "fastest_only": wrong_layout.with_tile(wrong_layout.fastest_only),
        "fastest_kept": wrong_layout.with_tile(wrong_layout.fastest_kept),
        "always_8_128": wrong_layout.with_tile(wrong_layout.always_8_128),
        "all_axes": wrong_layout.all_axes,
        "tile_axes_alone": wrong_layout.tile_axes_alone,
        "two_axes_always": wrong_layout.with_tile(wrong_layout.two_sizes_always),
        "rows_in_pairs": wrong_layout.rows_in_pairs,
        "padding_alone": wrong_layout.padding_alone,
        "tiles": wrong_layout.with_rounding(wrong_layout.tiles_of),
        "rounded_down": wrong_layout.with_rounding(wrong_layout.down),
        "to_the_nearest": wrong_layout.with_rounding(wrong_layout.to_the_nearest),
        "one_tile_more": wrong_layout.with_rounding(wrong_layout.one_tile_more),
        "one_tile": wrong_layout.with_rounding(max),
        "in_one_row": wrong_layout.in_one_row,
        "rounded_in_bytes": wrong_layout.rounded_in_bytes,
        "elements": wrong_layout.elements,
    },
    outputs=("bytes",),
    forbidden=FORBIDDEN,
)

# tpu.mxu_utilization: M, K, N, cycles [n], units, size -> utilization [n], filled [n]

PRODUCTS = {  # how many products, units, size of their arrays
    "one product": (1, 1, 8),
    "one unit": (3, 1, 128),
    "prime": (7, 4, 128),
    "large units": (5, 4, 256),
    "two products": (2, 2, 128),
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
        "flop": wrong.times(lambda given: 2),
        "one_unit": wrong.times(lambda given: given.units),
        "one_side": wrong.times(lambda given: given.size),
        "no_cycles": wrong.times(lambda given: given.cycles),
        "padding_works": wrong.times(lambda given: 1 / wrong.filled_share(given)),
        "padding_twice": wrong.times(wrong.filled_share),
        "always_128": wrong.always_128,
        "never_above_filled": wrong.never_above_filled,
        "rows_only": wrong.with_filled(wrong.rows_only),
        "columns_only": wrong.with_filled(wrong.columns_only),
        "of_all_units": wrong.with_filled(wrong.of_all_units),
        "stream_padded": wrong.with_filled(wrong.stream_padded),
        "product_rounded": wrong.with_filled(wrong.product_rounded),
        "unrounded": wrong.with_filled(wrong.unrounded),
        "one_tile": wrong.with_filled(wrong.one_tile),
        "empty": wrong.with_filled(lambda given: 1 - wrong.filled_share(given)),
        "last_tile": wrong.with_filled(wrong.last_tile),
        "rounded_down": wrong.with_filled(wrong.sides_rounded_down),
        "one_tile_more": wrong.with_filled(wrong.sides_one_tile_more),
        "swapped": wrong.swapped,
    },
    outputs=("utilization", "filled"),
    forbidden=FORBIDDEN,
)

# tpu.throughput: cycles [n] of a step's operations, images of a device, devices, Hz -> images/s

STEPS = {  # how many operations, images of a device, devices
    "one device": (5, 256, 1),
    "all sizes 1": (1, 1, 1),
    "a board": (7, 128, 8),
    "one image": (3, 1, 4),
    "a slice": (2, 64, 4),
    "many": (50, 512, 16),
}


def step_of(rng: np.random.Generator, n: int, batch: int, devices: int) -> tuple:
    """The cycles of n operations, in one step of `batch` images on each device."""
    cycles = np.floor(rng.uniform(1e4, 9e6, n))
    clock = rng.uniform(0.7e9, 1.8e9)
    return cycles, batch, devices, clock


def steps_of(rng: np.random.Generator) -> Iterable[Case]:
    """The last ones have operations of equal cycles, and a sum that no int32 holds."""
    yield from cases_of(STEPS, step_of)(rng)
    cycles, batch, devices, clock = step_of(rng, 6, 32, 2)
    four_of_them_twice = np.append(cycles, cycles[:4])
    yield Case("equal operations", (four_of_them_twice, batch, devices, clock))
    long = np.array([2_000_000_001, 1_999_999_999])
    yield Case("a step of seconds", (long, 128, 8, 0.94e9))


def rate(cycles, batch, devices, clock):
    """All images of a step over its seconds."""
    return batch * devices * clock / cycles.sum()


throughput = exercise(
    "tpu.throughput",
    oracle=rate,
    cases=steps_of,
    wrong={
        "seconds": wrong.seconds,
        "seconds_per_image": wrong.seconds_per_image,
        "upside_down": wrong.upside_down,
        "whole": lambda *step: np.floor(rate(*step)),
        "whole_steps": wrong.whole_steps,
        "equal_ones_once": wrong.equal_ones_once,
        "in_32_bits": wrong.in_32_bits,
        "longest": wrong.longest,
        "mean": wrong.mean,
        "one_for_each": wrong.one_for_each,
        "rates_added": wrong.rates_added,
        "one_device": wrong.one_device,
        "shared_batch": wrong.shared_batch,
        "no_batch": wrong.no_batch,
        "steps": wrong.steps,
    },
    outputs=("rate",),
    forbidden=FORBIDDEN,
)

EXERCISES = [padded_bytes, mxu_utilization, throughput]
