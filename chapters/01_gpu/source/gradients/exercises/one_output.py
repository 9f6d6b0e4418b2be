"""Exercise gpu.one_output: features x[D], weights w[D], bias b -> one number."""

import numpy as np

from labkit.checks.lesson_files import FLOAT64, LIBRARIES, by_own_name, cases_of, costs, exercise
from labkit_lessons.gpu.gradients.wrong import one_output as wrong_output


def telling(rng: np.random.Generator, size: int) -> np.ndarray:
    """Numbers of both signs, none of them near 0, so that each one shows."""
    return rng.uniform(0.5, 3, size) * rng.choice([-1, 1], size)


def features(rng: np.random.Generator, D: int) -> tuple[np.ndarray, np.ndarray, float]:
    """x, w, b."""
    x = telling(rng, D)
    w = telling(rng, D)
    [b] = telling(rng, 1)
    return x, w, float(b)


one_output = exercise(
    "gpu.one_output",
    oracle=lambda x, w, b: np.sum(x * w) + b,
    cases=cases_of(
        {"prime": (7,), "one feature": (1,), "two": (2,), "ragged": (33,), "many": (500,)},
        features,
    ),
    wrong=by_own_name(
        wrong_output.no_bias,
        wrong_output.bias_each_time,
        wrong_output.bias_subtracted,
        wrong_output.bias_first,
        wrong_output.mean,
        wrong_output.not_added_up,
        wrong_output.sums_multiplied,
        wrong_output.added,
        wrong_output.every_pair,
        wrong_output.whole_numbers,
    ),
    outputs=("y",),
    forbidden=LIBRARIES,
    cost=costs(("an output of 4,096 features", 4096, "multiply-adds", "one per feature")),
    **FLOAT64,
)
