"""The exercises of lesson what_stays_in_float32: a mixed step, rounding by chance, a scale for fp8.

A bfloat16 is a float32 whose lower 16 bits are 0, and an e4m3 number is held as a float32, too.
"""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise, with_a_repeat
from labkit.tpu.bfloat16 import round_to_bfloat16 as nearest
from labkit_lessons.tpu.what_stays_in_float32.formats import to_e4m3
from labkit_lessons.tpu.what_stays_in_float32.wrong import mixed_precision_step as wrong_step
from labkit_lessons.tpu.what_stays_in_float32.wrong import scale_to_fp8 as wrong_scale
from labkit_lessons.tpu.what_stays_in_float32.wrong import stochastic_round as wrong_chance
from labkit_lessons.tpu.what_stays_in_float32.wrong.shared import cut, float16

FORBIDDEN = (*LIBRARIES, "ml_dtypes")
LARGEST = 448  # of e4m3


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 numbers around 0."""
    return rng.standard_normal(shape, np.float32)


# tpu.mixed_precision_step: master, gradient, any shape, lr -> master, copy

STEPS = {  # shape, learning rate, and how large the numbers are at least, where they are large
    "prime": ((7,), 0.1),
    "all sizes 1": ((1,), 0.5),
    "ragged": ((5, 3), 0.01),
    "small step": ((4, 6), 0.0004),
    "one row": ((1, 9), 0.03),
    "prime, large step": ((7,), 3.0),
    "large weights": ((6, 5), 0.02, 1e6),
    "many": ((30, 20), 0.01),
}


def step(master, gradient, lr):
    """The master is never rounded; its copy is."""
    master = master - np.float32(lr) * gradient
    return master, nearest(master)


def near_halfway(x: np.ndarray) -> np.ndarray:
    """Where x lies so near to the middle of two bfloat16 numbers that its last bits decide."""
    lower = x.view(np.uint32).astype(np.int64) & 0xFFFF
    return abs(lower - 0x8000) < 64


def weights(rng: np.random.Generator, shape: tuple[int, ...], lr: float, size: float = 0) -> tuple:
    """A master and a gradient, one of whose entries is 0.

    The new master stays clear of the middle between two bfloat16 numbers: there, the last bit of
    a right answer, which may compute in another order, would decide about its copy.
    """

    def numbers(*shape: int) -> np.ndarray:
        some = normal(rng, *shape)
        return np.float32(size) * (some + np.sign(some)) if size else some

    master = numbers(*shape)
    gradient = numbers(*shape)
    if gradient.size > 1:
        gradient.flat[-1] = 0
    while True:
        new_master, _ = step(master, gradient, lr)
        near = near_halfway(new_master)
        if not near.any():
            return master, gradient, lr
        master[near] = numbers(np.count_nonzero(near))


mixed_precision_step = exercise(
    "tpu.mixed_precision_step",
    oracle=step,
    cases=cases_of(STEPS, weights),
    wrong={
        # first those whose master is right
        "copy": wrong_step.with_copy(np.copy),
        "copy_cut": wrong_step.with_copy(cut),
        "copy_in_float16": wrong_step.with_copy(float16),
        "old_copy": wrong_step.old_copy,
        "gradient_copied": wrong_step.gradient_copied,
        "copy_steps": wrong_step.copy_steps,
        "copy_by_rounded_update": wrong_step.copy_by_rounded_update,
        "in_bfloat16": wrong_step.rounded("old", "gradient", "rate", "update", "new"),
        "master_in_bfloat16": wrong_step.rounded("old", "new"),
        "from_the_copy": wrong_step.rounded("old"),
        "master": wrong_step.rounded("new"),
        "update": wrong_step.rounded("update"),
        "slope": wrong_step.rounded("gradient"),
        "rate": wrong_step.rounded("rate"),
        "operands": wrong_step.rounded("old", "gradient"),
        "slope_and_update": wrong_step.rounded("gradient", "update"),
        "uphill": lambda master, gradient, lr: step(master, -gradient, lr),
        "first_rate": wrong_step.with_first_rate(*STEPS["prime"]),
        "no_rate": lambda master, gradient, lr: step(master, gradient, 1),
    },
    outputs=("master", "copy"),
    forbidden=FORBIDDEN,
    dtype="float32",
    rtol=1e-6,
    atol=1e-6,
)

# tpu.stochastic_round: x, noise, any shape -> rounded, of the same shape

NOISES = {  # what the lower half of x and the noise are, and the shape
    "prime": ("any", "any", (7,)),
    "all sizes 1": ("any", "any", (1,)),
    "ragged": ("any", "any", (5, 3)),
    "equal noise of 0": ("any", 0, (4, 2)),
    "equal noise, the most": ("any", 0xFFFF, (3, 4)),
    "exact numbers": (0, "any", (2, 3, 2)),
    "just enough noise": ("any", "enough", (3, 2, 3)),
    "one too little": ("any", "too little", (2, 2, 5)),
    "many": ("any", "any", (20, 9)),
}


def numbers_and_noise(rng: np.random.Generator, lower: str, noise: str, shape: tuple) -> tuple:
    """Numbers of both signs and of all sizes, and 16 random bits for each."""
    upper = rng.choice(np.arange(0x0100, 0x7E00), shape, replace=False)
    sign = rng.integers(2, size=shape)
    below = np.zeros(shape, int)
    if lower == "any":
        below = rng.choice(np.arange(1, 0xFFFF), shape, replace=False)
    added = rng.choice(0x10000, shape, replace=False)
    if isinstance(noise, int):
        added = np.full(shape, noise)
    elif noise != "any":
        added = 0x10000 - below - (noise == "too little")
    bits = (sign << 31 | upper << 16 | below).astype(np.uint32)
    return bits.view(np.float32), added.astype(np.uint32)


def by_chance(x, noise):
    """Up, away from 0, if the lower half and the noise together reach a step."""
    bits = x.view(np.uint32).astype(np.int64)
    up = (bits & 0xFFFF) + noise.astype(np.int64) >= 0x10000
    upper = (bits >> 16) + up
    return (upper << 16).astype(np.uint32).view(np.float32)


stochastic_round = exercise(
    "tpu.stochastic_round",
    oracle=by_chance,
    cases=with_a_repeat(cases_of(NOISES, numbers_and_noise)),
    wrong={
        "to_nearest": lambda x, noise: nearest(x),
        "noise_ignored": lambda x, noise: cut(x),
        **by_own_name(
            wrong_chance.not_cut,
            wrong_chance.half_a_step_too,
            wrong_chance.subtracted,
            wrong_chance.noise_above,
            wrong_chance.noise_shifted_down,
            wrong_chance.combined_by_xor,
            wrong_chance.cut_first,
            wrong_chance.in_the_lower_half,
            wrong_chance.up_by_half,
            wrong_chance.up_if_below,
            wrong_chance.up_with_little_noise,
            wrong_chance.up_is_greater,
            wrong_chance.added_as_a_number,
            wrong_chance.converted,
        ),
    },
    outputs=("rounded",),
    forbidden=FORBIDDEN,
    dtype="float32",
    rtol=0,
    atol=0,
)

# tpu.scale_to_fp8: x, any shape, amaxes [steps] -> q, of x's shape, and the scale

HISTORIES = {  # shape of x, steps that are remembered, the largest and where it is, x's share of it
    "prime": ((7,), 5, 0.03, 2, 0.9),
    "all sizes 1": ((1,), 1, 2.0, 0, 0.7),
    "ragged": ((5, 3), 3, 1e-4, 0, 0.8),
    "grown above": ((4, 6), 4, 900.0, 1, 3.0),
    "grown below": ((6, 5), 7, 700.0, 6, -2.5),
    "equal steps, all 0": ((3, 2), 3, 0.0, 0, 0.5),
    "tiny numbers": ((9,), 2, 1e-6, 1, 0.95),
    "three axes": ((2, 3, 2), 5, 60.0, 3, 1.2),
    "three axes, wide": ((3, 2, 5), 6, 0.4, 0, 0.6),
    "many": ((4, 5, 3), 16, 50.0, 9, 1.4),
}


def histories(
    rng: np.random.Generator, shape: tuple, steps: int, size: float, place: int, grown: float
) -> tuple:
    """x, with 0 among its numbers where it has several, and the largest of each earlier step.

    `grown` is x's first number / the largest of all steps: beyond 1 it has to be cut off, above or
    below. No number lies so near the middle of two that the last bit of a quotient decides.
    """
    size *= rng.uniform(0.95, 1.05)
    amaxes = np.float32(size * rng.uniform(0.2, 0.6, steps))
    amaxes[place] = size
    size = size or LARGEST
    scale = scaled(np.zeros(1, np.float32), amaxes)[1]
    x = np.float32(size * rng.uniform(-0.9, 0.9, shape) * min(1, abs(grown)))
    x.flat[0] = size * grown
    if x.size > 1:
        x.flat[-1] = 0
    while (near := _near_the_middle(x / scale)).any():  # never the first: it is cut off, or clear
        x[near] = size * rng.uniform(-0.9, 0.9, np.count_nonzero(near)) * min(1, abs(grown))
    return x, amaxes


def _near_the_middle(steps: np.ndarray) -> np.ndarray:
    """Where a last bit more or less would round to another number."""
    within = np.clip(steps, -LARGEST, LARGEST)
    return to_e4m3(within * np.float32(1 - 1e-5)) != to_e4m3(within * np.float32(1 + 1e-5))


def scaled(x, amaxes):
    """The largest number that was seen lands on 448."""
    largest = amaxes.max()
    scale = largest / np.float32(LARGEST) if largest > 0 else np.float32(1)
    return to_e4m3(np.clip(x / scale, -LARGEST, LARGEST)), scale


scale_to_fp8 = exercise(
    "tpu.scale_to_fp8",
    oracle=scaled,
    cases=cases_of(HISTORIES, histories),
    wrong=by_own_name(
        wrong_scale.not_cut_off,
        wrong_scale.cut_off_above,
        wrong_scale.scale_of_x,
        wrong_scale.this_step_too,
        wrong_scale.last_step,
        wrong_scale.first_step,
        wrong_scale.mean_of_steps,
        wrong_scale.smallest_step,
        wrong_scale.inverted,
        wrong_scale.multiplied,
        wrong_scale.scaled_back,
        wrong_scale.not_rounded,
        wrong_scale.not_divided,
        wrong_scale.cut_off_before,
        wrong_scale.range_of_e5m2,
        wrong_scale.range_of_int8,
        wrong_scale.largest_as_scale,
        wrong_scale.nothing_seen_is_nothing,
        wrong_scale.divided_by_0,
        wrong_scale.whole_numbers,
    ),
    outputs=("q", "scale"),
    forbidden=FORBIDDEN,
    rtol=1e-6,
    atol=0,
)

EXERCISES = [mixed_precision_step, stochastic_round, scale_to_fp8]
