"""Exercise fpga.to_integer: numbers x [n] and their scale -> integers [n] that fit an int8."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.int8_from_the_formula.wrong import to_integer as wrong_integers


def numbers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, float]:
    """x [n] of both signs, some of them too large for an int8; and the scale, which varies.

    The last of several is the smallest that fits.
    """
    steps = rng.uniform(-200, 200, n)
    if n > 1:
        steps[-1] = -128
    scale = rng.uniform(0.1, 3)
    return steps * scale, scale


to_integer = exercise(
    "fpga.to_integer",
    oracle=lambda x, scale: np.clip(np.round(x / scale), -128, 127),
    cases=cases_of(
        {"prime": (7,), "one number": (1,), "two": (2,), "ragged": (33,), "many": (500,)},
        numbers,
    ),
    wrong={
        "not_rounded": wrong_integers.limited(lambda steps: steps),
        "cut_off": wrong_integers.limited(np.trunc),
        "downwards": wrong_integers.limited(np.floor),
        "upwards": wrong_integers.limited(np.ceil),
        "cut_after_half": wrong_integers.limited(lambda steps: np.trunc(steps + 0.5)),
        "not_limited": lambda x, scale: np.round(x / scale),
        "wraps": wrong_integers.wraps,
        "symmetric": wrong_integers.between(-127, 127),
        "up_to_128": wrong_integers.between(-128, 128),
        "no_sign": wrong_integers.between(0, 255),
        "above_alone": wrong_integers.between(-np.inf, 127),
        "below_alone": wrong_integers.between(-128, np.inf),
        **by_own_name(
            wrong_integers.multiplied,
            wrong_integers.no_scale,
            wrong_integers.rounded_first,
            wrong_integers.limited_first,
            wrong_integers.stand_for,
            wrong_integers.own_scale,
        ),
    },
    outputs=("q",),
    dtype="any",
    forbidden=(*LIBRARIES, "labkit.fpga"),
)
