"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

# --- tpu.critical_batch

batch = partial(edit, "tpu.critical_batch")
bytes_in_the_arithmetic = batch(
    "bytes_in_the_arithmetic", "2 * K * N / peak", "itemsize * K * N / peak"
)
never_for_one_never_for_all = batch(
    "never_for_one_never_for_all",
    "np.where(gain > 0, weights / gain, np.inf)",
    "np.where(gain.min() > 0, weights / gain, np.inf)",
)
one_image_short = batch("one_image_short", "weights / gain", "weights / gain - 1")
WHERE = "np.where(gain > 0, weights / gain, np.inf)"
ONCE = "itemsize * K * N / bandwidth"
ADDED = "itemsize * (K + N) / bandwidth"
batch_of_weights = batch("batch_of_weights", "arithmetic - data", "arithmetic")
batch_absolute = batch("batch_absolute", WHERE, "abs(weights / gain)")
batch_doubled = batch("batch_doubled", WHERE, "np.where(gain > 0, 2 * weights / gain, np.inf)")
batch_without_images = batch("batch_without_images", "(K + N)", "N")
batch_without_results = batch("batch_without_results", "(K + N)", "K")
batch_with_plus = batch("batch_with_plus", "arithmetic - data", "arithmetic + data")
batch_of_multiply_adds = batch("batch_of_multiply_adds", "2 * K * N", "K * N")
batch_in_numbers = batch(
    "batch_in_numbers", ONCE, "K * N / bandwidth", (ADDED, "(K + N) / bandwidth")
)
batch_exchanged = batch(
    "batch_exchanged",
    "2 * K * N / peak",
    "2 * K * N / bandwidth",
    (ONCE, "itemsize * K * N / peak"),
    (ADDED, "itemsize * (K + N) / peak"),
)
batch_below_zero = batch("batch_below_zero", WHERE, "weights / gain")
batch_none = batch("batch_none", "np.inf", "0")
batch_one_over = batch("batch_one_over", "weights / gain, np", "gain / weights, np")
batch_rounded = batch("batch_rounded", "weights / gain, np", "np.ceil(weights / gain), np")


KEPT = {}  # what answers keep from call to call


def batch_of_kept_layers(K, N, peak, bandwidth, itemsize):
    if len(K) > 1:
        K, N = KEPT.setdefault((len(K), itemsize), (K.copy(), N.copy()))
    return batch_by_layer(K, N, peak, bandwidth, itemsize)


def batch_by_layer(K, N, peak, bandwidth, itemsize):
    left = 2 * bandwidth / (itemsize * peak) - 1 / K - 1 / N
    return np.array([1 / one if one > 0 else np.inf for one in left])


def batch_in_float32(K, N, peak, bandwidth, itemsize):
    return batch_by_layer(K, N, peak, bandwidth, itemsize).astype(np.float32)


def batch_nan(K, N, peak, bandwidth, itemsize):
    found = batch_by_layer(K, N, peak, bandwidth, itemsize)
    return np.where(np.isfinite(found), found, np.nan)


def batch_in_whole_numbers(K, N, peak, bandwidth, itemsize):
    return np.trunc(batch_by_layer(K, N, peak, bandwidth, itemsize))


def batch_in_place(K, N, peak, bandwidth, itemsize):
    left = 2 * bandwidth / (itemsize * peak) - 1 / K - 1 / N
    K[:] = np.where(left > 0, 1 / left, np.inf)
    return K


def batch_by_torch(K, N, peak, bandwidth, itemsize):
    import torch

    left = 2 * bandwidth / (itemsize * peak) - 1 / torch.tensor(K) - 1 / torch.tensor(N)
    return np.where(left > 0, 1 / left, np.inf)


# --- tpu.throughput

throughput = partial(edit, "tpu.throughput")
RATE = "devices * batch / seconds"
images_step_time = throughput("images_step_time", RATE, "seconds")
images_each_takes = throughput("images_each_takes", RATE, "seconds / (batch * devices)")
images_floored = throughput("images_floored", RATE, "devices * batch // seconds")
images_of_whole_steps = throughput(
    "images_of_whole_steps", RATE, "devices * batch * (1 // seconds)"
)
images_of_one = throughput("images_of_one", RATE, "devices / seconds")
images_one_device = throughput("images_one_device", RATE, "batch / seconds")
images_divided = throughput("images_divided", RATE, "batch / devices / seconds")
images_steps = throughput("images_steps", RATE, "1 / seconds")
images_longest = throughput("images_longest", "cycles.sum()", "cycles.max()")
images_shortest = throughput("images_shortest", "cycles.sum()", "cycles.min()")
images_in_int32 = throughput(
    "images_in_int32", "cycles.sum()", "cycles.astype('i4').sum(dtype='i4')"
)
images_in_whole_microseconds = throughput(
    "images_in_whole_microseconds", "cycles.sum() / clock", "round(cycles.sum() / clock, 6)"
)
images_mean = throughput("images_mean", "cycles.sum()", "cycles.mean()")
images_for_each = throughput("images_for_each", "cycles.sum()", "cycles")
images_rates = throughput("images_rates", "cycles.sum()", "cycles", (RATE, f"sum({RATE})"))
images_of_different_operations = throughput(
    "images_of_different_operations", "cycles.sum()", "sum(set(cycles.tolist()))"
)


def images_of_a_kept_step(cycles, batch, devices, clock):
    batch, devices = KEPT.setdefault(len(cycles), (batch, devices))
    return devices * batch * clock / cycles.sum()


def images_by_devices(cycles, batch, devices, clock):
    return sum(batch / (sum(cycles.tolist()) / clock) for _ in range(devices))


def images_in_numpy(cycles, batch, devices, clock):
    return np.float32(np.float64(clock) / np.sum(cycles, dtype=float) * np.int64(batch * devices))


def images_in_place(cycles, batch, devices, clock):
    cycles /= clock
    return batch * devices / cycles.sum()


def images_by_torch(cycles, batch, devices, clock):
    import torch

    return float(batch * devices * clock / torch.tensor(cycles).sum())


PLANTED = {
    "tpu.critical_batch": [
        (batch_of_weights, "Only the weights' bytes are counted"),
        (batch_without_images, "The images [B, K] are missing"),
        (batch_without_results, "The results [B, N] are missing"),
        (batch_with_plus, "A sign is wrong"),
        (batch_of_multiply_adds, "A multiply-add is counted as one FLOP"),
        (bytes_in_the_arithmetic, "The result is that of numbers of two bytes"),
        (batch_in_numbers, "Numbers are counted, not bytes"),
        (batch_exchanged, "Peak and bandwidth are exchanged"),
        (batch_below_zero, "A negative batch means"),
        (batch_none, "0 would say that every batch is"),
        (batch_one_over, "This is one over the batch"),
        (batch_rounded, "rounded up to whole images"),
        (batch_of_kept_layers, "something is kept from one call"),
        (batch_nan, "NaN would say"),
        (batch_absolute, "The sign of what an image gains"),
        (batch_doubled, "The batch is twice too large"),
        (batch_in_whole_numbers, "cut off to whole numbers"),
        (batch_in_place, "changes its input"),
        (batch_by_torch, "torch"),
        (one_image_short, "every value is too small by 1"),
        (never_for_one_never_for_all, "each of them is to be found by itself"),
    ],
    "tpu.throughput": [
        (images_step_time, "the seconds of one step"),
        (images_each_takes, "the time of one image"),
        (images_floored, "rounded down: a rate"),
        (images_of_one, "the steps of all devices"),
        (images_longest, "Only the longest operation"),
        (images_in_whole_microseconds, "rate is 3e+07; it should be"),
        (images_mean, "The mean of the operations"),
        (images_for_each, "One rate for each operation"),
        (images_rates, "The rates of the operations are added up"),
        (images_one_device, "One device is counted"),
        (images_of_different_operations, "Operations with equal cycles are counted once"),
        (images_of_whole_steps, "Only whole steps of a second are counted"),
        (images_divided, "divided by the devices"),
        (images_steps, "one device's steps"),
        (images_shortest, "Only the shortest operation"),
        (images_in_int32, "added in 32 bits"),
        (images_of_a_kept_step, "The images and devices of an earlier call"),
        (images_in_place, "changes its input"),
        (images_by_torch, "torch"),
    ],
}

NO_BATCH = np.array([0.1]), np.array([0.1]), 1.0, 1.0, 2  # so small that none is enough
RIGHT_ON = {  # where what they confuse is one and the same
    batch_of_kept_layers: (np.array([90.0, 80.0]), np.array([70.0, 60.0]), 12.0, 2.0, 2),
    batch_doubled: NO_BATCH,
    images_of_a_kept_step: (np.full(9, 1e9), 1, 7, 1e9),
    batch_with_plus: (np.array([1e9]), np.array([1e9]), 12.0, 2.0, 2),
    batch_of_multiply_adds: NO_BATCH,
    batch_exchanged: NO_BATCH,
    batch_one_over: NO_BATCH,
    batch_rounded: NO_BATCH,
    images_step_time: (np.array([1e9]), 1, 1, 1e9),
    images_of_whole_steps: (np.array([1e9]), 3, 2, 4e9),
    images_each_takes: (np.array([1e9]), 1, 1, 1e9),
    images_floored: (np.array([1e9]), 1, 1, 1e9),
    images_for_each: (np.float64(1e9), 2, 1, 1e9),  # no array, so that the sum is the number
}

ALSO_RIGHT = {
    "tpu.critical_batch": [batch_by_layer, batch_in_float32],
    "tpu.throughput": [images_by_devices, images_in_numpy],
}
