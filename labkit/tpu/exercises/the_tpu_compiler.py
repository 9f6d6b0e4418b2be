"""The exercises of lesson 02_tpu/3: tiled layouts, and what a compiler's cycles say."""

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from labkit.checks.exercise import Case
from labkit.checks.items import LIBRARIES, cases_of, exercise

FORBIDDEN = (*LIBRARIES, "labkit.tpu")


def whole(n: int, tile: int) -> int:
    """n filled up to whole tiles; an array of sizes as well."""
    return -(-n // tile) * tile


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


def padded(shape, order, tile, itemsize, up: Callable = whole) -> int:
    """The bytes of a layout; `up` fills one size up to its tile."""
    size = list(map(int, shape))
    for axis, n in zip(order, tile[::-1], strict=False):
        size[axis] = up(size[axis], n)
    return prod(size) * itemsize


def with_rounding(up: Callable) -> Callable:
    return lambda *layout: padded(*layout, up)


def with_order(change: Callable) -> Callable:
    """The axes in `change(order)` instead."""
    return lambda shape, order, *rest: padded(shape, change(order), *rest)


def with_tile(change: Callable) -> Callable:
    return lambda shape, order, tile, itemsize: padded(shape, order, change(tile), itemsize)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """At place i not the axis that lies there, but the place of axis i."""
    return tuple(order.index(axis) for axis in range(len(order)))


def all_axes(shape, order, tile, itemsize):
    slower = len(order) - len(tile)
    return padded(shape, order, (tile[0],) * slower + tuple(tile), itemsize)


def tile_axes_alone(shape, order, tile, itemsize):
    axes = order[: len(tile)]
    inside = [shape[axis] for axis in axes]
    return padded(inside, range(len(inside)), tile, itemsize)


def two_axes_always(shape, order, tile, itemsize):
    """A tile of one size is laid over two axes."""
    return padded(shape, order, tile if len(tile) > 1 else 2 * tuple(tile), itemsize)


def rows_in_pairs(shape, order, tile, itemsize):
    """Narrow elements share a row of the tile, so that more rows fill one."""
    rows = [n * max(1, 4 // itemsize) for n in tile[:-1]]
    return padded(shape, order, (*rows, tile[-1]), itemsize)


def padding_alone(shape, order, tile, itemsize):
    return padded(shape, order, tile, itemsize) - prod(map(int, shape)) * itemsize


def in_one_row(shape, order, tile, itemsize):
    return whole(prod(map(int, shape)), prod(tile)) * itemsize


def rounded_in_bytes(shape, order, tile, itemsize):
    """The fastest axis is filled up as if the tile counted bytes."""
    size = list(map(int, shape))
    for axis, n in zip(order[1:], tile[-2::-1], strict=False):
        size[axis] = whole(size[axis], n)
    fastest = size[order[0]]
    return prod(size) // fastest * whole(fastest * itemsize, tile[-1])


def elements(shape, order, tile, itemsize):
    return padded(shape, order, tile, 1)


layout = exercise(
    "tpu.padded_bytes",
    oracle=padded,
    cases=cases_of(LAYOUTS, lambda rng, sizes, *rest: (np.array(sizes), *rest)),
    wrong={
        "no_padding": with_rounding(lambda n, tile: n),
        "as_written": with_order(lambda order: range(len(order))[::-1]),
        "first_axes": with_order(lambda order: range(len(order))),
        "slowest_first": with_order(lambda order: order[::-1]),
        "inverse_order": with_order(inverse),
        "tile_swapped": with_tile(lambda tile: tile[::-1]),
        "fastest_only": with_tile(lambda tile: tile[-1:]),
        "fastest_kept": with_tile(lambda tile: (*tile[:-1], 1)),
        "always_8_128": with_tile(lambda tile: (8, 128)),
        "all_axes": all_axes,
        "tile_axes_alone": tile_axes_alone,
        "two_axes_always": two_axes_always,
        "rows_in_pairs": rows_in_pairs,
        "padding_alone": padding_alone,
        "tiles": with_rounding(lambda n, tile: -(-n // tile)),
        "rounded_down": with_rounding(lambda n, tile: n // tile * tile),
        "to_the_nearest": with_rounding(lambda n, tile: round(n / tile) * tile),
        "one_tile_more": with_rounding(lambda n, tile: (n // tile + 1) * tile),
        "one_tile": with_rounding(max),
        "in_one_row": in_one_row,
        "rounded_in_bytes": rounded_in_bytes,
        "elements": elements,
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
    M, K, N = rng.choice(np.setdiff1d(np.arange(2, 8 * size), small), (3, n), replace=False)
    M[0], K[0], N[0] = small
    M[-1], K[-1], N[-1] = 9 * size, 10 * size, 11 * size
    share = 1 / rng.uniform(2, 9, n)
    return M, K, N, np.round(M * K * N / (units * size**2 * share)), units, size


def used(M, K, N, cycles, units, size):
    return M * K * N / (cycles * units * size**2), filled_share(M, K, N, size)


def filled_share(M, K, N, size):
    return K * N / (whole(K, size) * whole(N, size))


def with_work(factor: Callable) -> Callable:
    """The utilization is too large by `factor(M, K, N, cycles, units, size)`; filled is right."""

    def wrong(*given):
        utilization, filled = used(*given)
        return utilization * factor(*given), filled

    return wrong


def with_filled(share: Callable) -> Callable:
    """The utilization is right; `share(M, K, N, units, size)` stands for filled."""

    def wrong(M, K, N, cycles, units, size):
        utilization, _ = used(M, K, N, cycles, units, size)
        return utilization, share(M, K, N, units, size)

    return wrong


def always_128(M, K, N, cycles, units, size):
    return used(M, K, N, cycles, units, 128)


def never_above_filled(*given):
    utilization, filled = used(*given)
    return np.minimum(utilization, filled), filled


def swapped(*given):
    utilization, filled = used(*given)
    return filled, utilization


mxu = exercise(
    "tpu.mxu_utilization",
    oracle=used,
    cases=cases_of(PRODUCTS, products),
    wrong={
        "flop": with_work(lambda M, K, N, cycles, units, size: 2),
        "one_unit": with_work(lambda M, K, N, cycles, units, size: units),
        "one_side": with_work(lambda M, K, N, cycles, units, size: size),
        "no_cycles": with_work(lambda M, K, N, cycles, units, size: cycles),
        "padding_works": with_work(
            lambda M, K, N, cycles, units, size: 1 / filled_share(M, K, N, size)
        ),
        "padding_twice": with_work(
            lambda M, K, N, cycles, units, size: filled_share(M, K, N, size)
        ),
        "always_128": always_128,
        "never_above_filled": never_above_filled,
        "rows_only": with_filled(lambda M, K, N, units, size: K / whole(K, size)),
        "columns_only": with_filled(lambda M, K, N, units, size: N / whole(N, size)),
        "of_all_units": with_filled(
            lambda M, K, N, units, size: filled_share(M, K, N, size) / units
        ),
        "stream_padded": with_filled(
            lambda M, K, N, units, size: filled_share(M, K, N, size) * M / whole(M, size)
        ),
        "product_rounded": with_filled(lambda M, K, N, units, size: K * N / whole(K * N, size**2)),
        "unrounded": with_filled(lambda M, K, N, units, size: K * N / size**2),
        "one_tile": with_filled(
            lambda M, K, N, units, size: np.minimum(K / size, 1) * np.minimum(N / size, 1)
        ),
        "empty": with_filled(lambda M, K, N, units, size: 1 - filled_share(M, K, N, size)),
        "last_tile": with_filled(lambda M, K, N, units, size: (K % size) * (N % size) / size**2),
        "rounded_down": with_filled(
            lambda M, K, N, units, size: K * N / ((K // size) * (N // size) * size**2)
        ),
        "one_tile_more": with_filled(
            lambda M, K, N, units, size: K * N / ((K // size + 1) * (N // size + 1) * size**2)
        ),
        "swapped": swapped,
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
    return np.floor(rng.uniform(1e4, 9e6, n)), batch, devices, rng.uniform(0.7e9, 1.8e9)


def cases_of_steps(rng: np.random.Generator) -> Iterator[Case]:
    """The last one has operations of equal cycles: each of them takes its own time."""
    yield from cases_of(STEPS, step_of)(rng)
    cycles, *rest = step_of(rng, 6, 32, 2)
    yield Case("equal operations", (np.append(cycles, cycles[:4]), *rest))
    yield Case("a step of seconds", (np.array([2_000_000_001, 1_999_999_999]), 128, 8, 0.94e9))


def rate(cycles, batch, devices, clock):
    return batch * devices * clock / cycles.sum()


def seconds(cycles, batch, devices, clock):
    return cycles.sum() / clock


def seconds_per_image(cycles, batch, devices, clock):
    return cycles.sum() / clock / (batch * devices)


def upside_down(cycles, batch, devices, clock):
    return batch * devices * cycles.sum() / clock


def whole_steps(cycles, batch, devices, clock):
    return clock // cycles.sum() * batch * devices


def in_32_bits(cycles, batch, devices, clock):
    return batch * devices * clock / cycles.astype(np.int32).sum(dtype=np.int32)


def equal_ones_once(cycles, batch, devices, clock):
    return rate(np.unique(cycles), batch, devices, clock)


def rounded_down(cycles, batch, devices, clock):
    return np.floor(rate(cycles, batch, devices, clock))


def longest(cycles, batch, devices, clock):
    return batch * devices * clock / cycles.max()


def mean(cycles, batch, devices, clock):
    return batch * devices * clock / cycles.mean()


def one_for_each(cycles, batch, devices, clock):
    return batch * devices * clock / cycles


def rates_added(cycles, batch, devices, clock):
    return np.sum(one_for_each(cycles, batch, devices, clock))


def one_device(cycles, batch, devices, clock):
    return batch * clock / cycles.sum()


def shared_batch(cycles, batch, devices, clock):
    return batch / devices * clock / cycles.sum()


def no_batch(cycles, batch, devices, clock):
    return devices * clock / cycles.sum()


def steps(cycles, batch, devices, clock):
    return clock / cycles.sum()


throughput = exercise(
    "tpu.throughput",
    oracle=rate,
    cases=cases_of_steps,
    wrong={
        "seconds": seconds,
        "seconds_per_image": seconds_per_image,
        "upside_down": upside_down,
        "whole": rounded_down,
        "whole_steps": whole_steps,
        "equal_ones_once": equal_ones_once,
        "in_32_bits": in_32_bits,
        "longest": longest,
        "mean": mean,
        "one_for_each": one_for_each,
        "rates_added": rates_added,
        "one_device": one_device,
        "shared_batch": shared_batch,
        "no_batch": no_batch,
        "steps": steps,
    },
    outputs=("rate",),
    forbidden=FORBIDDEN,
)

EXERCISES = [layout, mxu, throughput]
