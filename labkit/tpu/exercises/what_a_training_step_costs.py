"""The exercises of the lesson: from a compiler's cycles to images per second."""

from collections.abc import Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.tpu.exercises.wrong import throughput as wrong_rate

FORBIDDEN = (*LIBRARIES, "labkit.tpu")

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
        "seconds": wrong_rate.seconds,
        "seconds_per_image": wrong_rate.seconds_per_image,
        "upside_down": wrong_rate.upside_down,
        "whole": lambda *step: np.floor(rate(*step)),
        "whole_steps": wrong_rate.whole_steps,
        "equal_ones_once": wrong_rate.equal_ones_once,
        "in_32_bits": wrong_rate.in_32_bits,
        "longest": wrong_rate.longest,
        "mean": wrong_rate.mean,
        "one_for_each": wrong_rate.one_for_each,
        "rates_added": wrong_rate.rates_added,
        "one_device": wrong_rate.one_device,
        "shared_batch": wrong_rate.shared_batch,
        "no_batch": wrong_rate.no_batch,
        "steps": wrong_rate.steps,
    },
    outputs=("rate",),
    forbidden=FORBIDDEN,
)

EXERCISES = [throughput]
