"""The exercises of the lesson: how fast a kernel can be, from what it counts."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.gpu.exercises.wrong.lowest_limit import ESTIMATES, ISSUED

# share [n] of intensity [n], passes [n], accesses [n], ridge: the smallest of three estimates


def counts(rng: np.random.Generator, n: int, ridge: float, first: int) -> tuple:
    """Counts of n kernels. Which of the three estimates is smallest changes along the array.

    `first` is the one that is smallest in the first kernel. The other two leave from 2 % more to
    many times as much, also more than the whole peak.
    """
    smallest = (first + np.arange(n)) % 3
    shares = rng.uniform(0.02, 0.6, n)
    traffic = shares * np.exp(rng.uniform(0.02, 3, n))
    passes = shares * np.exp(rng.uniform(0.02, 3, n))
    instructions = shares + (1 - shares) * rng.uniform(0.02, 0.95, n)  # never above 1
    for number, estimate in enumerate((traffic, passes, instructions)):
        estimate[smallest == number] = shares[smallest == number]
    if n >= 5:  # two ties, each with a third that leaves more
        traffic[0], passes[0], instructions[0] = 0.25, 0.25, 0.8
        traffic[1], passes[1], instructions[1] = 0.9, 0.5, 0.5
    return ridge * traffic, 1 / (ISSUED * passes), 1 / instructions - 1, ridge


def lowest(*counts):
    """What traffic, passes and instructions leave, each as a share of the peak: the smallest."""
    intensity, passes, accesses, ridge = counts
    of_traffic = intensity / ridge
    of_passes = 1 / (ISSUED * passes)
    of_instructions = 1 / (1 + accesses)
    return np.minimum.reduce([of_traffic, of_passes, of_instructions])


lowest_limit = exercise(
    "gpu.lowest_limit",
    oracle=lowest,
    cases=cases_of(  # kernels, ridge, which estimate is smallest in the first
        {
            "one of each": (3, 50.4, 0),
            "all sizes 1": (1, 14.0, 1),
            "prime": (7, 50.4, 2),
            "two kernels": (2, 25.3, 1),
            "another ridge": (5, 153.0, 0),
            "many kernels": (40, 2.5, 2),
        },
        counts,
    ),
    wrong=ESTIMATES,
    outputs=("share",),
    forbidden=LIBRARIES,
)

EXERCISES = [lowest_limit]
