"""Exercise gpu.relu_backward: dy[N,K], x[N,K] -> dx[N,K]."""

import numpy as np

from labkit import reference
from labkit.checks.lesson_files import FLOAT64, LIBRARIES, by_own_name, cases_of, costs, exercise
from labkit_lessons.gpu.gradients.wrong import relu_backward as wrong_relu


def gated(rng: np.random.Generator, N: int, K: int, step: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """dy and x of both signs; one x is exactly 0, or every one in `step`."""
    dy = rng.normal(size=(N, K))
    x = rng.normal(size=(N, K))
    x.flat[:: step or x.size] = 0
    return dy, x


relu_backward = exercise(
    "gpu.relu_backward",
    oracle=reference.relu_backward,
    cases=cases_of(
        {  # N, K
            "prime": (7, 5),
            "all sizes 1": (1, 1),
            "one image": (1, 6),
            "one feature": (5, 1),
            "square": (4, 4),
            "ragged": (9, 17),
            "larger": (32, 20),
            "equal zeros": (6, 8, 3),
        },
        gated,
    ),
    wrong=by_own_name(
        wrong_relu.always_open,
        wrong_relu.open_at_zero,
        wrong_relu.half_at_zero,
        wrong_relu.gate_turned_round,
        wrong_relu.gate_of_dy,
        wrong_relu.relu_of_dy,
        wrong_relu.relu_of_x,
        wrong_relu.gate_alone,
        wrong_relu.times_output,
        wrong_relu.sign_of_x,
        wrong_relu.leaking,
    ),
    outputs=("dx",),
    forbidden=LIBRARIES,
    cost=costs(("relu3 of 32 images, backwards", 32 * 128, "FLOP", "one for each number")),
    dtype="float64",
    **FLOAT64,
)
