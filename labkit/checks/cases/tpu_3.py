"""The functions of lesson 02_tpu/3: tiled layouts, and what a compiler's cycles say."""

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from labkit.checks import lessons
from labkit.checks.cases.common import LIBRARIES
from labkit.checks.lessons import cases_of

exercise = partial(lessons.exercise, forbidden=(*LIBRARIES, "labkit.tpu"))


def ideas(compute: Callable[..., dict], *sample) -> dict[str, Callable]:
    """A function for each wrong idea, where `compute` gives the results of all by their names."""
    return {name: lambda *given, name=name: compute(*given)[name] for name in compute(*sample)}


def whole(n: int, tile: int) -> int:
    return -(-n // tile) * tile


def padded(shape, order, tile, itemsize, up=whole) -> int:
    """The bytes of a layout; `up` rounds one size to its tile."""
    size = list(map(int, shape))
    for axis, n in zip(order, tile[::-1], strict=False):
        size[axis] = up(size[axis], n)
    return prod(size) * itemsize


LAYOUTS = {  # sizes, axes from the fastest to the slowest, tile, bytes of an element
    "all sizes 1": ([1], (0,), (256,), 2),
    "[7, 131] in the order (1, 0)": ([7, 131], (1, 0), (8, 128), 2),
    "whole tiles": ([16, 256, 5], (1, 0, 2), (8, 128), 1),
    "[128, 10] in the order (0, 1)": ([128, 10], (0, 1), (8, 128), 2),
    "a filter": ([5, 3, 32, 65], (3, 2, 1, 0), (4, 128), 2),
    "the batch fastest": ([256, 30, 33, 3, 2], (0, 2, 3, 1, 4), (8, 128), 4),
    "several tiles": ([20, 300, 9], (1, 2, 0), (8, 128), 4),
}
BYTES = {
    "no_padding": lambda *given: padded(*given, lambda n, t: n),
    "as_written": lambda s, order, *rest: padded(s, range(len(s))[::-1], *rest),
    "first_axes": lambda s, order, *rest: padded(s, range(len(s)), *rest),
    "slowest_first": lambda s, order, *rest: padded(s, order[::-1], *rest),
    "tile_swapped": lambda s, o, tile, itemsize: padded(s, o, tile[::-1], itemsize),
    "fastest_only": lambda s, o, tile, itemsize: padded(s, o, tile[-1:], itemsize),
    "rounded_down": lambda *given: padded(*given, lambda n, t: n // t * t),
    "one_tile_more": lambda *given: padded(*given, lambda n, t: (n // t + 1) * t),
    "in_one_row": lambda s, o, tile, i: whole(prod(map(int, s)), prod(tile)) * i,
    "elements": lambda s, o, tile, itemsize: padded(s, o, tile, 1),
}


def products(rng: np.random.Generator, n: int, units: int, size: int) -> tuple:
    """M, K, N and cycles of n products; the last one fills its tiles."""
    M, K, N = rng.choice(np.arange(2, 8 * size), (3, n), replace=False)
    M[-1], K[-1], N[-1] = 9 * size, 10 * size, 11 * size
    return M, K, N, np.round(M * K * N / (units * size**2) * rng.uniform(2, 9, n)), units, size


def used(M, K, N, cycles, units, size):
    filled = K * N / (whole(K, size) * whole(N, size))
    return M * K * N / (cycles * units * size**2), filled


def misused(M, K, N, cycles, units, size) -> dict[str, tuple]:
    """What is too much in one of the two results: a factor, for each wrong idea."""
    share, filled = used(M, K, N, cycles, units, size)
    rows, columns = whole(K, size), whole(N, size)
    work = {"flop": 2, "one_unit": units, "one_side": size, "no_cycles": cycles}
    work |= {"padding_works": rows * columns / (K * N)}
    fill = {"rows_only": columns / N, "columns_only": rows / K, "of_all_units": 1 / units}
    fill |= {"stream_padded": M / whole(M, size), "unrounded": rows * columns / size**2}
    wrong = {name: (share * factor, filled) for name, factor in work.items()}
    wrong |= {name: (share, filled * factor) for name, factor in fill.items()}
    return wrong | {"swapped": (filled, share)}


# how many products, units, size of their arrays
PRODUCTS = {"one product": (1, 1, 8), "one unit": (3, 1, 128), "prime": (7, 4, 128)}
PRODUCTS |= {"large units": (5, 4, 256), "two products": (2, 2, 128), "many": (40, 8, 128)}


def step(rng: np.random.Generator, n: int, batch: int, devices: int) -> tuple:
    """The cycles of n operations, in one step of `batch` images on each device."""
    return np.floor(rng.uniform(1e4, 9e6, n)), batch, devices, rng.uniform(0.7e9, 1.8e9)


def rate(cycles, batch, devices, clock):
    return batch * devices * clock / cycles.sum()


def misrated(cycles, batch, devices, clock) -> dict[str, float]:
    """What each wrong idea gives."""
    right, total = rate(cycles, batch, devices, clock), cycles.sum()
    wrong = {"seconds": total / clock, "seconds_per_image": 1 / right, "whole": np.floor(right)}
    wrong |= {"longest": right * total / cycles.max(), "mean": right * len(cycles)}
    wrong |= {"rates_added": (right * total / cycles).sum(), "one_device": right / devices}
    wrong |= {"shared_batch": right / devices**2, "no_batch": right / batch}
    return wrong | {"steps": right / (batch * devices)}


# how many operations, images of a device, devices
STEPS = {"one device": (5, 256, 1), "all sizes 1": (1, 1, 1), "a board": (7, 128, 8)}
STEPS |= {"one image": (3, 1, 4), "a slice": (2, 64, 4), "many": (50, 256, 16)}

layouts = cases_of(LAYOUTS, lambda rng, sizes, *rest: (np.array(sizes), *rest))
MXU, RATES = ideas(misused, *6 * [1]), ideas(misrated, np.ones(1), 1, 1, 1)
two = "utilization", "filled"
EXERCISES = [
    exercise("tpu.padded_bytes", padded, layouts, BYTES, outputs=("bytes",)),
    exercise("tpu.mxu_utilization", used, cases_of(PRODUCTS, products), MXU, outputs=two),
    exercise("tpu.throughput", rate, cases_of(STEPS, step), RATES, outputs=("rate",)),
]
