"""The exercises of lesson 02_tpu/7. TO WRITE: what they are about."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise


def numbers(rng: np.random.Generator, size: int) -> tuple[np.ndarray]:
    """TO WRITE: data that part every two ideas. Here x [size], float64 of both signs."""
    return (rng.normal(size=size),)


double = exercise(
    "tpu.what_fits_in_vmem_double",
    oracle=lambda x: 2 * x,
    cases=cases_of(
        {"prime": (7,), "one element": (1,), "two": (2,), "ragged": (33,), "more": (64,)},
        numbers,
    ),
    wrong={  # TO WRITE: at least four, each right on some shape or on special data
        "unchanged": lambda x: x,
    },
    forbidden=LIBRARIES,
    outputs=("doubled",),
)

EXERCISES = [double]
