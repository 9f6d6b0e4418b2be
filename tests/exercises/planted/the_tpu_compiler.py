"""Wrong solutions of lesson 02_tpu/3, written as a learner would, and what each must be told."""

import math

import numpy as np

# --- tpu.padded_bytes


def layout(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for i, t in enumerate(reversed(tile)):
        sizes[order[i]] = math.ceil(sizes[order[i]] / t) * t
    return math.prod(sizes) * itemsize


def layout_not_padded(shape, order, tile, itemsize):
    return int(np.prod(shape)) * itemsize


def layout_last_axes(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for i in range(1, min(len(tile), len(sizes)) + 1):
        sizes[-i] += -sizes[-i] % tile[-i]
    return math.prod(sizes) * itemsize


def layout_from_axis_0(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, t in zip(range(len(sizes)), tile[::-1], strict=False):
        sizes[axis] = math.ceil(sizes[axis] / t) * t
    return math.prod(sizes) * itemsize


def layout_order_reversed(shape, order, tile, itemsize):
    return layout(shape, order[::-1], tile, itemsize)


def layout_tile_from_the_front(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for i in range(min(len(tile), len(sizes))):
        sizes[order[i]] += -sizes[order[i]] % tile[i]
    return math.prod(sizes) * itemsize


def layout_inverse(shape, order, tile, itemsize):
    place = np.argsort(order)
    return layout(shape, [int(axis) for axis in place], tile, itemsize)


def layout_every_axis(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for i, axis in enumerate(order):
        t = tile[-1 - i] if i < len(tile) else tile[0]
        sizes[axis] += -sizes[axis] % t
    return math.prod(sizes) * itemsize


def layout_lanes_only(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    sizes[order[0]] += -sizes[order[0]] % tile[-1]
    return math.prod(sizes) * itemsize


def layout_floor(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, t in zip(order, reversed(tile), strict=False):
        sizes[axis] -= sizes[axis] % t
    return math.prod(sizes) * itemsize


def layout_nearest(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, t in zip(order, reversed(tile), strict=False):
        sizes[axis] = t * round(sizes[axis] / t)
    return math.prod(sizes) * itemsize


def layout_at_least_a_tile(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, t in zip(order, reversed(tile), strict=False):
        if sizes[axis] < t:
            sizes[axis] = t
    return math.prod(sizes) * itemsize


def layout_next_tile(shape, order, tile, itemsize):
    sizes = [int(n) for n in shape]
    for axis, t in zip(order, reversed(tile), strict=False):
        sizes[axis] += t - sizes[axis] % t
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


def layout_in_elements(shape, order, tile, itemsize):
    return layout(shape, order, tile, 1)


def layout_in_place(shape, order, tile, itemsize):
    for axis, t in zip(order, reversed(tile), strict=False):
        shape[axis] += -shape[axis] % t
    return int(shape.prod()) * itemsize


def layout_by_torch(shape, order, tile, itemsize):
    import torch

    return torch.tensor(layout(shape, order, tile, itemsize)).item()


# --- tpu.mxu_utilization


def _up(n, size):
    return np.ceil(n / size) * size


def mxu(M, K, N, cycles, units, size):
    return M * K * N / cycles / units / size / size, (K / _up(K, size)) * (N / _up(N, size))


def mxu_in_flop(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return 2 * utilization, filled


def mxu_single(M, K, N, cycles, units, size):
    return M * K * N / (cycles * size**2), mxu(M, K, N, cycles, units, size)[1]


def mxu_line(M, K, N, cycles, units, size):
    return M * K * N / (cycles * units * size), mxu(M, K, N, cycles, units, size)[1]


def mxu_with_padding(M, K, N, cycles, units, size):
    work = M * _up(K, size) * _up(N, size)
    return work / (cycles * units * size**2), mxu(M, K, N, cycles, units, size)[1]


def mxu_without_padding_twice(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return utilization * filled, filled


def mxu_at_most_filled(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return np.where(utilization > filled, filled, utilization), filled


def mxu_of_one_tile(M, K, N, cycles, units, size):
    filled = np.clip(K, 0, size) * np.clip(N, 0, size) / size**2
    return mxu(M, K, N, cycles, units, size)[0], filled


def mxu_next_tile(M, K, N, cycles, units, size):
    rows, columns = (K // size + 1) * size, (N // size + 1) * size
    return mxu(M, K, N, cycles, units, size)[0], K * N / rows / columns


def mxu_the_other_way(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return filled, utilization


def mxu_in_one_cycle(M, K, N, cycles, units, size):
    return M * K * N / (units * size**2), mxu(M, K, N, cycles, units, size)[1]


def mxu_over_one_array(M, K, N, cycles, units, size):
    return mxu(M, K, N, cycles, units, size)[0], K * N / size**2


def mxu_filled_by_all(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return utilization, filled / units


def mxu_rows(M, K, N, cycles, units, size):
    return mxu(M, K, N, cycles, units, size)[0], K / _up(K, size)


def mxu_columns(M, K, N, cycles, units, size):
    return mxu(M, K, N, cycles, units, size)[0], N / _up(N, size)


def mxu_stream(M, K, N, cycles, units, size):
    utilization, filled = mxu(M, K, N, cycles, units, size)
    return utilization, filled * M / _up(M, size)


def mxu_in_place(M, K, N, cycles, units, size):
    result = mxu(M, K, N, cycles, units, size)
    cycles *= units
    return result


def mxu_by_torch(M, K, N, cycles, units, size):
    import torch

    utilization, filled = mxu(M, K, N, cycles, units, size)
    return torch.from_numpy(utilization).numpy(), filled


# --- tpu.throughput


def images(cycles, batch, devices, clock):
    seconds = np.sum(cycles) / clock
    return batch / seconds * devices


def images_step_time(cycles, batch, devices, clock):
    return np.sum(cycles) / clock


def images_of_different_operations(cycles, batch, devices, clock):
    return batch * devices * clock / sum(set(cycles.tolist()))


def images_of_whole_steps(cycles, batch, devices, clock):
    return np.floor(clock / np.sum(cycles)) * batch * devices


def images_each_takes(cycles, batch, devices, clock):
    return np.sum(cycles) / clock / (batch * devices)


def images_floored(cycles, batch, devices, clock):
    return devices * batch // (np.sum(cycles) / clock)


def images_of_one(cycles, batch, devices, clock):
    return devices / (np.sum(cycles) / clock)


def images_longest(cycles, batch, devices, clock):
    return batch * devices / (np.max(cycles) / clock)


def images_mean(cycles, batch, devices, clock):
    return batch * devices / (np.mean(cycles) / clock)


def images_for_each(cycles, batch, devices, clock):
    return batch * devices / (cycles / clock)


def images_rates(cycles, batch, devices, clock):
    return sum(batch * devices * clock / c for c in cycles)


def images_one_device(cycles, batch, devices, clock):
    return batch * clock / np.sum(cycles)


def images_divided(cycles, batch, devices, clock):
    return batch / devices * clock / np.sum(cycles)


def images_steps(cycles, batch, devices, clock):
    return clock / np.sum(cycles)


def images_in_place(cycles, batch, devices, clock):
    cycles /= clock
    return batch * devices / cycles.sum()


def images_by_torch(cycles, batch, devices, clock):
    import torch

    return float(batch * devices * clock / torch.tensor(cycles).sum())


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
        (layout_in_elements, "These are elements"),
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
        (mxu_in_place, "changes its input"),
        (mxu_by_torch, "torch"),
    ],
    "tpu.throughput": [
        (images_step_time, "the seconds of one step"),
        (images_each_takes, "the time of one image"),
        (images_floored, "rounded down: a rate"),
        (images_of_one, "the steps of all devices"),
        (images_longest, "Only the longest operation"),
        (images_mean, "The mean of the operations"),
        (images_for_each, "One rate for each operation"),
        (images_rates, "The rates of the operations are added up"),
        (images_one_device, "One device is counted"),
        (images_of_different_operations, "Operations with equal cycles are counted once"),
        (images_of_whole_steps, "Only whole steps of a second are counted"),
        (images_divided, "divided by the devices"),
        (images_steps, "one device's steps"),
        (images_in_place, "changes its input"),
        (images_by_torch, "torch"),
    ],
}

SOLVED = {
    "tpu.padded_bytes": layout,
    "tpu.mxu_utilization": mxu,
    "tpu.throughput": images,
}

ONE = np.array([7.0])
TWO = np.array([3.0])
RIGHT_ON = {  # where what they confuse is one and the same
    images_step_time: (np.array([1e9]), 1, 1, 1e9),
    images_of_whole_steps: (np.array([1e9]), 3, 2, 4e9),
    images_each_takes: (np.array([1e9]), 1, 1, 1e9),
    images_floored: (np.array([1e9]), 1, 1, 1e9),
    images_for_each: (np.float64(1e9), 2, 1, 1e9),  # no array, so that the sum is the number
    mxu_next_tile: (ONE, ONE, TWO, TWO, 1, 8),
    mxu_the_other_way: (TWO, 8 * np.ones(1), 8 * np.ones(1), TWO, 1, 8),
    mxu_in_one_cycle: (ONE, ONE, TWO, np.ones(1), 1, 8),
    mxu_over_one_array: (ONE, ONE, TWO, TWO, 1, 8),
    mxu_in_flop: (np.zeros(1), ONE, ONE, TWO, 1, 8),
    mxu_line: (ONE, ONE, TWO, TWO, 4, 1),
}
