"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

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
images_mean = throughput("images_mean", "cycles.sum()", "cycles.mean()")
images_for_each = throughput("images_for_each", "cycles.sum()", "cycles")
images_rates = throughput("images_rates", "cycles.sum()", "cycles", (RATE, f"sum({RATE})"))
images_of_different_operations = throughput(
    "images_of_different_operations", "cycles.sum()", "sum(set(cycles.tolist()))"
)


def images_in_place(cycles, batch, devices, clock):
    cycles /= clock
    return batch * devices / cycles.sum()


def images_by_torch(cycles, batch, devices, clock):
    import torch

    return float(batch * devices * clock / torch.tensor(cycles).sum())


PLANTED = {
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

RIGHT_ON = {  # where what they confuse is one and the same
    images_step_time: (np.array([1e9]), 1, 1, 1e9),
    images_of_whole_steps: (np.array([1e9]), 3, 2, 4e9),
    images_each_takes: (np.array([1e9]), 1, 1, 1e9),
    images_floored: (np.array([1e9]), 1, 1, 1e9),
    images_for_each: (np.float64(1e9), 2, 1, 1e9),  # no array, so that the sum is the number
}
