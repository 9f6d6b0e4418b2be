"""Exercise fpga.quantize_weights: w [K, D] -> q [K, D] int8, scale [K]."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.int8_from_the_formula.wrong import quantize_weights as wrong_weights

WEIGHTS = {  # channels, inputs, and the sign of the largest weight in channel 0
    "prime sizes": (7, 13, 1),
    "one weight": (1, 1, -1),
    "one channel": (1, 7, 1),
    "one input": (5, 1, -1),
    "square": (8, 8, -1),
    "conv1's sizes": (32, 27, 1),
    "many": (10, 128, -1),
}


def weights(rng: np.random.Generator, K: int, D: int, sign: int) -> tuple[np.ndarray]:
    """w[K,D] whose rows have sizes of their own; the largest of each has the sign in turn."""
    w = rng.uniform(-0.9, 0.9, (K, D))
    place = rng.integers(0, D, K)
    signs = np.where(np.arange(K) % 2 == 0, sign, -sign)
    w[np.arange(K), place] = signs
    sizes = rng.uniform(0.01, 3, K)
    return (w * sizes[:, None],)


def in_bytes(w):
    """The nearest steps of each channel's scale, which makes its largest weight 127 steps."""
    scale = np.abs(w).max(axis=1) / 127
    steps = w / scale[:, None]
    return np.floor(steps + 0.5).astype(np.int8), scale


quantize_weights = exercise(
    "fpga.quantize_weights",
    oracle=in_bytes,
    cases=cases_of(WEIGHTS, weights),
    wrong={
        **by_own_name(
            wrong_weights.one_scale,
            wrong_weights.each_input,
            wrong_weights.sign_kept,
            wrong_weights.smallest,
        ),
        "cut_off": wrong_weights.rounded_by(np.trunc),
        "downwards": wrong_weights.rounded_by(np.floor),
        "upwards": wrong_weights.rounded_by(np.ceil),
        "cut_after_half": wrong_weights.rounded_by(lambda steps: np.trunc(steps + 0.5)),
        "a_whole_one": wrong_weights.rounded_by(lambda steps: np.floor(steps + 1)),
        "average": wrong_weights.average,
        "first_row": wrong_weights.first_row,
        "limited_128": wrong_weights.limited(128),
        "limited_127": wrong_weights.limited(127.5),
        "by_128": wrong_weights.steps_of(128),
        "by_255": wrong_weights.steps_of(255),
        "by_1": wrong_weights.steps_of(1),
        **by_own_name(
            wrong_weights.from_end_to_end,
            wrong_weights.no_column,
            wrong_weights.abs_outside,
            wrong_weights.root,
            wrong_weights.inverse_scale,
            wrong_weights.times_scale,
        ),
    },
    outputs=("q", "scale"),
    dtype=("int8", None),
    forbidden=(*LIBRARIES, "labkit.fpga"),
)
