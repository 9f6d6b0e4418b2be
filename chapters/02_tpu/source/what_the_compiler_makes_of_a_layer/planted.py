"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

import math
from functools import partial

import numpy as np

from tests.exercises.edits import edit, solution

# --- tpu.padded_bytes

layout = solution("tpu.padded_bytes")
edited = partial(edit, "tpu.padded_bytes")
ROUNDED = "round_up(size[axis], side)"
layout_not_padded = edited("layout_not_padded", "prod(size)", "prod(shape)")
layout_last_axes = edited("layout_last_axes", "order[i]", "-1 - i")
layout_from_axis_0 = edited("layout_from_axis_0", "order[i]", "i")
layout_order_reversed = edited("layout_order_reversed", "order[i]", "order[-1 - i]")
layout_inverse = edited("layout_inverse", "order[i]", "order.index(i)")
layout_tile_from_the_front = edited("layout_tile_from_the_front", "tile[::-1]", "tile")
layout_lanes_only = edited("layout_lanes_only", "tile[::-1]", "tile[-1:]")
layout_floor = edited("layout_floor", ROUNDED, "size[axis] // side * side")
layout_nearest = edited("layout_nearest", ROUNDED, "round(size[axis] / side) * side")
layout_at_least_a_tile = edited("layout_at_least_a_tile", ROUNDED, "max(size[axis], side)")
layout_next_tile = edited("layout_next_tile", ROUNDED, "(size[axis] // side + 1) * side")
layout_in_32_bits = edited(
    "layout_in_32_bits",
    "int(prod(size)) * itemsize",
    "int(np.int64(prod(size) * itemsize).astype(np.int32))",
)
layout_in_elements = edited("layout_in_elements", " * itemsize", "")
layout_in_place = edited("layout_in_place", "list(shape)", "shape")


def layout_by_ceil(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, t in zip(order, reversed(tile), strict=False):
        sizes[axis] = math.ceil(sizes[axis] / t) * t
    return math.prod(sizes) * itemsize


def layout_every_axis(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for i, axis in enumerate(order):
        t = tile[-1 - i] if i < len(tile) else tile[0]
        sizes[axis] += -sizes[axis] % t
    return math.prod(sizes) * itemsize


def layout_total(shape, order, tile, itemsize):
    tiles = math.ceil(math.prod(int(n) for n in shape) / math.prod(tile))
    return tiles * math.prod(tile) * itemsize


def layout_lanes_of_bytes(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    sizes[order[0]] = math.ceil(sizes[order[0]] * itemsize / tile[-1]) * tile[-1]
    if len(tile) > 1:
        sizes[order[1]] = math.ceil(sizes[order[1]] / tile[0]) * tile[0]
    return math.prod(sizes)


KEPT = {}  # what answers keep from call to call


def layout_remembered(shape, order, tile, itemsize):
    return KEPT.setdefault(tuple(shape), layout(shape, order, tile, itemsize))


def layout_one_size_of_all(shape, order, tile, itemsize):
    if len(tile) == 1:
        return -(-math.prod(int(n) for n in shape) // tile[0]) * tile[0] * itemsize
    return layout(shape, order, tile, itemsize)


def layout_by_mask(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, side in zip(order, tile[::-1], strict=False):
        sizes[axis] = (sizes[axis] + side - 1) & -side
    return math.prod(sizes) * itemsize


def layout_by_reciprocals(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, side in zip(order, tile[::-1], strict=False):
        sizes[axis] = math.ceil(sizes[axis] * (1 / side)) * side
    return math.prod(sizes) * itemsize


def layout_of_eight_rows(shape, order, tile, itemsize):
    tile = (8, tile[1]) if len(tile) == 2 else tile
    return layout(shape, order, tile, itemsize)


def layout_by_length(shape, order, tile, itemsize):
    return layout(shape, np.argsort(-shape, kind="stable"), tile, itemsize)


def layout_in_float32(shape, order, tile, itemsize):
    return np.float32(layout(shape, order, tile, itemsize))


def layout_in_numpy(shape, order, tile, itemsize):
    sizes = shape.copy()
    for place, axis in enumerate(order[: len(tile)]):
        sizes[axis] += -sizes[axis] % tile[-1 - place]
    return np.prod(sizes) * itemsize


def layout_by_torch(shape, order, tile, itemsize):
    import torch

    return torch.tensor(layout(shape, order, tile, itemsize)).item()


# --- tpu.mxu_utilization

mxu = solution("tpu.mxu_utilization")
edited = partial(edit, "tpu.mxu_utilization")
FILLED = "K * N / (rows * columns)"
BOTH = "utilization, filled"
mxu_in_flop = edited("mxu_in_flop", "= M * K", "= 2 * M * K")
mxu_single = edited("mxu_single", " * units", "")
mxu_line = edited("mxu_line", "size**2", "size")
mxu_in_one_cycle = edited("mxu_in_one_cycle", "cycles * ", "")
mxu_with_padding = edited(
    "mxu_with_padding", BOTH, "M * rows * columns / (cycles * units * size**2), filled"
)
mxu_without_padding_twice = edited(
    "mxu_without_padding_twice", BOTH, "utilization * filled, filled"
)
mxu_at_most_filled = edited("mxu_at_most_filled", BOTH, "utilization.clip(max=filled), filled")
mxu_the_other_way = edited("mxu_the_other_way", BOTH, "filled, utilization")
mxu_filled_by_all = edited("mxu_filled_by_all", BOTH, "utilization, filled / units")
mxu_next_tile = edited(
    "mxu_next_tile",
    "round_up(K, size)",
    "(K // size + 1) * size",
    ("round_up(N, size)", "(N // size + 1) * size"),
)
mxu_over_one_array = edited("mxu_over_one_array", FILLED, "K * N / size**2")
mxu_rows = edited("mxu_rows", FILLED, "K / rows")
mxu_columns = edited("mxu_columns", FILLED, "N / columns")
mxu_stream = edited("mxu_stream", FILLED, "M * K * N / (round_up(M, size) * rows * columns)")


def mxu_by_ceil(M, K, N, cycles, units, size):
    rows = np.ceil(K / size) * size
    columns = np.ceil(N / size) * size
    return M * K * N / cycles / units / size / size, (K / rows) * (N / columns)


def mxu_of_one_tile(M, K, N, cycles, units, size):
    filled = np.clip(K, 0, size) * np.clip(N, 0, size) / size**2
    return mxu(M, K, N, cycles, units, size)[0], filled


def mxu_remembers_filled(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return utilization, KEPT.setdefault((len(M), units, size), filled).copy()


def mxu_by_reciprocals(M, K, N, cycles, units, size):
    tiles = np.ceil(K * (1 / size)) * np.ceil(N * (1 / size))
    return M * K * N / (cycles * units * size**2), K * N / (tiles * size**2)


def mxu_whole(M, K, N, cycles, units, size):
    return M * K * N // (cycles * units * size**2), mxu(M, K, N, cycles, units, size)[1]


def mxu_in_float32(M, K, N, cycles, units, size):
    return [share.astype(np.float32) for share in mxu(M, K, N, cycles, units, size)]


def mxu_in_place(M, K, N, cycles, units, size):
    result = mxu(M, K, N, cycles, units, size)
    cycles *= units
    return result


def mxu_by_torch(M, K, N, cycles, units, size):
    import torch

    utilization, filled = mxu(M, K, N, cycles, units, size)
    return torch.from_numpy(utilization).numpy(), filled


PLANTED = {
    "tpu.padded_bytes": [
        (layout_not_padded, "the bytes without padding"),
        (layout_last_axes, "The last axes as written"),
        (layout_from_axis_0, "The first axes as written"),
        (layout_order_reversed, "read from its slow end"),
        (layout_tile_from_the_front, "read from its first size"),
        (layout_inverse, "read the wrong way round"),
        (layout_every_axis, "All axes are rounded"),
        (layout_lanes_only, "Only the fastest axis is rounded"),
        (layout_floor, "rounded down"),
        (layout_nearest, "rounded to the nearest tile"),
        (layout_at_least_a_tile, "a larger one stays as it is"),
        (layout_next_tile, "gets one tile more"),
        (layout_total, "rounded up as a whole"),
        (layout_lanes_of_bytes, "is rounded in bytes"),
        (layout_one_size_of_all, "it should be 45056"),
        (layout_in_32_bits, "counted in 32 bits"),
        (layout_in_elements, "These are elements"),
        (layout_remembered, "The bytes of an earlier call"),
        (layout_by_mask, "The bits below the tile's size are cleared"),
        (layout_by_reciprocals, "by a hair more than a whole number"),
        (layout_of_eight_rows, "always has 8 rows"),
        (layout_by_length, "The longest axes are rounded"),
        (layout_in_float32, "kept in float32"),
        (layout_in_place, "changes its input"),
        (layout_by_torch, "torch"),
    ],
    "tpu.mxu_utilization": [
        (mxu_in_flop, "twice too high"),
        (mxu_single, "The number of units is missing"),
        (mxu_line, "size x size cells"),
        (mxu_with_padding, "Multiplications by padding"),
        (mxu_without_padding_twice, "The padding is taken off twice"),
        (mxu_at_most_filled, "cut off at filled"),
        (mxu_of_one_tile, "filled counts weights of one tile or more"),
        (mxu_next_tile, "get one tile more here"),
        (mxu_the_other_way, "The two results are swapped"),
        (mxu_in_one_cycle, "The cycles are missing"),
        (mxu_over_one_array, "divides by one array's cells"),
        (mxu_filled_by_all, "filled is divided by the units"),
        (mxu_rows, "looks at the rows only"),
        (mxu_columns, "looks at the columns only"),
        (mxu_stream, "M is padded here"),
        (mxu_remembers_filled, "something is kept from one call"),
        (mxu_by_reciprocals, "by a hair more than a whole number"),
        (mxu_whole, "cut off to a whole number"),
        (mxu_in_place, "changes its input"),
        (mxu_by_torch, "torch"),
    ],
}

ONE = np.array([7.0])
TWO = np.array([3.0])
RIGHT_ON = {  # where what they confuse is one and the same
    layout_remembered: (np.array([5]), (0,), (4,), 2),
    mxu_remembers_filled: (TWO, TWO, ONE, ONE, 1, 8),
    mxu_whole: (0 * ONE, ONE, ONE, TWO, 1, 8),
    mxu_next_tile: (ONE, ONE, TWO, TWO, 1, 8),
    mxu_the_other_way: (TWO, 8 * np.ones(1), 8 * np.ones(1), TWO, 1, 8),
    mxu_in_one_cycle: (ONE, ONE, TWO, np.ones(1), 1, 8),
    mxu_over_one_array: (ONE, ONE, TWO, TWO, 1, 8),
    mxu_in_flop: (np.zeros(1), ONE, ONE, TWO, 1, 8),
    mxu_line: (ONE, ONE, TWO, TWO, 4, 1),
}

ALSO_RIGHT = {
    "tpu.padded_bytes": [layout_by_ceil, layout_in_numpy],
    "tpu.mxu_utilization": [mxu_by_ceil, mxu_in_float32],
}
