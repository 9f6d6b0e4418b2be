"""The plain function of lesson 01_gpu/3: what share of the peak a kernel's counts allow."""

import numpy as np

from labkit.checks.cases.common import LIBRARIES
from labkit.checks.lessons import cases_of, exercise

ISSUED = 4  # warp instructions that an SM starts per clock, and multiply-adds of warps that it does


def inputs(rng: np.random.Generator, n: int, ridge: float, busy: int) -> tuple:
    """Counts of n kernels; `busy` 0, 1, 2 makes traffic, passes or instructions bind."""
    scale = np.where(np.arange(3) == busy, 1, 0.05)
    intensity = ridge / (scale[0] * rng.uniform(5, 50, n))
    return intensity, scale[1] * rng.uniform(2, 9, n), scale[2] * rng.uniform(8, 99, n), ridge


def limits(intensity, passes, accesses, ridge):
    """What traffic, passes and instructions allow, each as a share of the peak."""
    return intensity / ridge, 1 / (ISSUED * passes), 1 / (1 + accesses)


def lowest(intensity, passes, accesses, ridge):
    return np.minimum.reduce(limits(intensity, passes, accesses, ridge))


EXERCISES = [
    exercise(
        "gpu.lowest_limit",
        oracle=lowest,
        cases=cases_of(  # kernels, ridge, which limit binds
            {"prime": (7, 50.4, 0), "all sizes 1": (1, 14.0, 0), "banks": (5, 50.4, 1)}
            | {"instructions": (6, 14.0, 2), "two kernels": (2, 25.3, 1)}
            | {"many kernels": (40, 14.0, 2)},
            inputs,
        ),
        wrong={
            "traffic_only": lambda *given: limits(*given)[0],
            "without_traffic": lambda *given: np.minimum(*limits(*given)[1:]),
            "without_passes": lambda *given: np.minimum(*limits(*given)[::2]),
            "without_instructions": lambda *given: np.minimum(*limits(*given)[:2]),
            "highest": lambda *given: np.maximum.reduce(limits(*given)),
            "product": lambda *given: np.prod(limits(*given), axis=0),
            "one_per_clock": lambda i, p, a, r: lowest(i, p / ISSUED, a, r),
        },
        outputs=("share",),
        forbidden=LIBRARIES,
    )
]
