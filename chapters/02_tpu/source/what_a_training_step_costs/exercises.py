"""The exercises of the lesson: when memory is the limit, and from cycles to images per second."""

from collections.abc import Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_a_training_step_costs.wrong import critical_batch as wrong_batch
from labkit_lessons.tpu.what_a_training_step_costs.wrong import throughput as wrong_rate

FORBIDDEN = (*LIBRARIES, "labkit.tpu")

# tpu.critical_batch: K, N [n], FLOP/s, B/s, B of a number -> images [n]

LAYERS = {  # how many layers, B of a number
    "three layers": (3, 2),
    "one layer": (1, 2),
    "numbers of one byte": (5, 1),
    "numbers of four bytes": (4, 4),
    "prime": (7, 2),
    "many": (33, 1),
}
NEVER = [(0.8, 7), (9, 0.7), (1.5, 1.7)]  # sides, in units of the batch that weights alone need


def layers_of(rng: np.random.Generator, n: int, itemsize: int) -> tuple:
    """n layers' weights [K, N], the first large enough, and of the next three none.

    The last of the three has two sides that would each be enough beside an endless one.
    """
    bandwidth = rng.uniform(0.4e12, 3e12)
    ridge = rng.uniform(90, 700)
    for_weights = itemsize * ridge / 2
    sides = rng.uniform(2.5, 40, (2, n)) * for_weights
    few = min(n - 1, len(NEVER))
    if few > 0:
        sides[:, 1 : 1 + few] = for_weights * np.transpose(NEVER[:few])
    K, N = np.round(sides)
    return K, N, ridge * bandwidth, bandwidth, itemsize


def layers(rng: np.random.Generator) -> Iterable[Case]:
    """The first weights have no batch, and the next are so large that only they count."""
    others = list(cases_of(LAYERS, layers_of)(rng))
    K, N, peak, bandwidth, itemsize = layers_of(rng, 2, 4)
    yield Case("one small layer", (K[1:], N[1:], peak, bandwidth, itemsize))
    yield Case("huge layers", (1e9 * K[:1], 1e9 * N[:1], peak, bandwidth, itemsize))
    yield from others


def critical(K, N, peak, bandwidth, itemsize):
    """FLOP / bytes = 2 / itemsize / (1/B + 1/K + 1/N), which must be peak / bandwidth."""
    images = []
    for k, n in zip(K, N, strict=True):
        weights = 2 * k * n / peak  # seconds of arithmetic that an image adds
        around = itemsize * (k + n) / bandwidth  # seconds of traffic that an image adds
        once = itemsize * k * n / bandwidth  # seconds for the weights
        images.append(once / (weights - around) if weights > around else np.inf)
    return np.array(images)


critical_batch = exercise(
    "tpu.critical_batch",
    oracle=critical,
    cases=layers,
    wrong={
        "weights_only": wrong_batch.weights_only,
        "images_free": wrong_batch.with_inverse(lambda left, K, N, *rest: left + 1 / N),
        "results_free": wrong_batch.with_inverse(lambda left, K, N, *rest: left + 1 / K),
        "sides_added": wrong_batch.with_inverse(lambda left, K, N, *rest: left + 2 / K + 2 / N),
        "multiply_adds": wrong_batch.with_inverse(
            lambda left, K, N, ridge, itemsize: left - 1 / (itemsize * ridge)
        ),
        **by_own_name(
            wrong_batch.two_bytes,
            wrong_batch.one_byte,
            wrong_batch.upside_down,
            wrong_batch.negative,
        ),
        "turned_round": wrong_batch.with_inverse(lambda left, *rest: -left),
        "never_is_zero": wrong_batch.never_is_zero,
        "never_is_nan": wrong_batch.never_is_nan,
        "absolute": wrong_batch.absolute,
        "twice": wrong_batch.times(2),
        "half": wrong_batch.times(0.5),
        "not_inverted": wrong_batch.not_inverted,
        "whole": wrong_batch.whole,
    },
    outputs=("batch",),
    forbidden=FORBIDDEN,
)

# tpu.throughput: cycles [n] of a step's operations, images of a device, devices, Hz -> images/s

STEPS = {  # how many operations, images of a device, devices
    "one device": (5, 256, 1),
    "all sizes 1": (1, 1, 1),
    "a board": (7, 128, 8),
    "one image": (3, 1, 3),
    "a slice": (5, 64, 6),
    "many": (50, 512, 16),
}


def step_of(rng: np.random.Generator, n: int, batch: int, devices: int) -> tuple:
    """The cycles of n operations, in one step of `batch` images on each device."""
    cycles = np.floor(rng.uniform(1e4, 9e6, n))
    clock = rng.uniform(0.7e9, 1.8e9)
    return cycles, batch, devices, clock


def steps_of(rng: np.random.Generator) -> Iterable[Case]:
    """The first ones have operations of equal cycles, a sum beyond 32 bits, and next to no time."""
    cycles, batch, devices, clock = step_of(rng, 6, 32, 2)
    four_of_them_twice = np.append(cycles, cycles[:4])
    yield Case("equal operations", (four_of_them_twice, batch, devices, clock))
    long = np.array([2_000_000_001, 1_999_999_999, 1_000_000_003, 500_000_001])
    yield Case("a step of seconds", (long, 128, 8, 0.94e9))
    yield Case("a step of a microsecond", (np.array([611.0, 902.0]), 6, 5, 1.3e9))
    yield from cases_of(STEPS, step_of)(rng)


def rate(cycles, batch, devices, clock):
    """All images of a step over its seconds."""
    return batch * devices * clock / cycles.sum()


FIRST = {}  # how many operations -> images of a device and devices, in the first such case
for n, *sizes in STEPS.values():
    FIRST.setdefault(n, sizes)

throughput = exercise(
    "tpu.throughput",
    oracle=rate,
    cases=steps_of,
    wrong={
        "seconds": wrong_rate.seconds,
        "seconds_per_image": wrong_rate.seconds_per_image,
        "upside_down": wrong_rate.upside_down,
        "whole": lambda *step: np.floor(rate(*step)),
        **by_own_name(
            wrong_rate.whole_steps,
            wrong_rate.equal_ones_once,
            wrong_rate.in_32_bits,
            wrong_rate.longest,
            wrong_rate.shortest,
            wrong_rate.mean,
            wrong_rate.one_for_each,
            wrong_rate.rates_added,
            wrong_rate.one_device,
            wrong_rate.shared_batch,
            wrong_rate.no_batch,
            wrong_rate.steps,
        ),
        "remembered": lambda cycles, batch, devices, clock: rate(
            cycles, *FIRST.get(len(cycles), (batch, devices)), clock
        ),
    },
    outputs=("rate",),
    forbidden=FORBIDDEN,
)

EXERCISES = [critical_batch, throughput]
