"""The plain function of lesson 01_gpu/3: what share of the peak a kernel's counts let us expect."""

import numpy as np

from labkit.checks.items import LIBRARIES, cases_of, exercise

ISSUED = 4  # warp instructions that an SM starts per clock, and multiply-adds of warps that it does


def inputs(rng: np.random.Generator, n: int, ridge: float, first: int) -> tuple:
    """Counts of n kernels. Which of the three estimates is smallest changes along the array.

    `first` is the one that is smallest in the first kernel. The other two leave from 2 % more to
    many times as much, also more than the whole peak.
    """
    kernels = np.arange(n)
    smallest = (first + kernels) % 3
    shares = rng.uniform(0.02, 0.6, n)
    traffic = shares * np.exp(rng.uniform(0.02, 3, n))
    passes = shares * np.exp(rng.uniform(0.02, 3, n))
    instructions = shares + (1 - shares) * rng.uniform(0.02, 0.95, n)  # never above 1
    traffic[smallest == 0] = shares[smallest == 0]
    passes[smallest == 1] = shares[smallest == 1]
    instructions[smallest == 2] = shares[smallest == 2]
    if n >= 5:  # two ties, each with a third that leaves more
        traffic[0], passes[0], instructions[0] = 0.25, 0.25, 0.8
        traffic[1], passes[1], instructions[1] = 0.9, 0.5, 0.5
    return ridge * traffic, 1 / (ISSUED * passes), 1 / instructions - 1, ridge


def estimates(intensity, passes, accesses, ridge):
    """What traffic, passes and instructions leave, each as a share of the peak."""
    return intensity / ridge, 1 / (ISSUED * passes), 1 / (1 + accesses)


def smallest(*three):
    return np.minimum.reduce(three)


def lowest(intensity, passes, accesses, ridge):
    return smallest(*estimates(intensity, passes, accesses, ridge))


def traffic_only(intensity, passes, accesses, ridge):
    return intensity / ridge


def without_traffic(*given):
    _, passes, instructions = estimates(*given)
    return smallest(passes, instructions)


def without_passes(*given):
    traffic, _, instructions = estimates(*given)
    return smallest(traffic, instructions)


def without_instructions(*given):
    traffic, passes, _ = estimates(*given)
    return smallest(traffic, passes)


def highest(*given):
    return np.maximum.reduce(estimates(*given))


def product(*given):
    return np.prod(estimates(*given), axis=0)


def capped_product(intensity, passes, accesses, ridge):
    """The product of the three, none of them above 1."""
    return np.prod(np.minimum(estimates(intensity, passes, accesses, ridge), 1), axis=0)


def ridge_of_the_text(intensity, passes, accesses, ridge):
    return lowest(intensity, passes, accesses, 50)


def halved_for_each_pass(intensity, passes, accesses, ridge):
    traffic, _, instructions = estimates(intensity, passes, accesses, ridge)
    return smallest(traffic, 0.5 ** (passes + 1), instructions)


def along_a_line(intensity, passes, accesses, ridge):
    """The line through the text's two points for the accesses, 1/2 and 1/4."""
    traffic, banks, _ = estimates(intensity, passes, accesses, ridge)
    return smallest(traffic, banks, np.clip(0.625 - 0.125 * accesses, 0, 1))


def one_plus_three_passes(intensity, passes, accesses, ridge):
    traffic, _, instructions = estimates(intensity, passes, accesses, ridge)
    return smallest(traffic, 1 / (1 + 3 * passes), instructions)


def mean(*given):
    return np.mean(estimates(*given), axis=0)


def one_after_the_other(*given):
    return 1 / sum(1 / share for share in estimates(*given))


def one_per_clock(intensity, passes, accesses, ridge):
    return lowest(intensity, passes / ISSUED, accesses, ridge)


def traffic_upside_down(intensity, passes, accesses, ridge):
    _, banks, instructions = estimates(intensity, passes, accesses, ridge)
    return smallest(ridge / intensity, banks, instructions)


def without_ridge(intensity, passes, accesses, ridge):
    return lowest(intensity, passes, accesses, 1)


def passes_upside_down(intensity, passes, accesses, ridge):
    traffic, _, instructions = estimates(intensity, passes, accesses, ridge)
    return smallest(traffic, passes / ISSUED, instructions)


def four_over_passes(intensity, passes, accesses, ridge):
    traffic, _, instructions = estimates(intensity, passes, accesses, ridge)
    return smallest(traffic, ISSUED / passes, instructions)


def accesses_alone(intensity, passes, accesses, ridge):
    return lowest(intensity, passes, accesses - 1, ridge)


def half_per_access(intensity, passes, accesses, ridge):
    return lowest(intensity, passes, 2 * accesses - 1, ridge)


def share_of_accesses(intensity, passes, accesses, ridge):
    traffic, banks, instructions = estimates(intensity, passes, accesses, ridge)
    return smallest(traffic, banks, 1 - instructions)


def ties_lost(*given):
    """What a chain of `if` finds that asks for "smaller than both others", and takes the rest."""
    traffic, passes, instructions = estimates(*given)
    tied = (traffic == passes) & (traffic < instructions)
    return np.where(tied, instructions, smallest(traffic, passes, instructions))


EXERCISES = [
    exercise(
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
            inputs,
        ),
        wrong={
            "traffic_only": traffic_only,
            "without_traffic": without_traffic,
            "without_passes": without_passes,
            "without_instructions": without_instructions,
            "highest": highest,
            "product": product,
            "capped_product": capped_product,
            "ridge_of_the_text": ridge_of_the_text,
            "halved_for_each_pass": halved_for_each_pass,
            "along_a_line": along_a_line,
            "one_plus_three_passes": one_plus_three_passes,
            "mean": mean,
            "one_after_the_other": one_after_the_other,
            "one_per_clock": one_per_clock,
            "traffic_upside_down": traffic_upside_down,
            "without_ridge": without_ridge,
            "passes_upside_down": passes_upside_down,
            "four_over_passes": four_over_passes,
            "accesses_alone": accesses_alone,
            "half_per_access": half_per_access,
            "share_of_accesses": share_of_accesses,
            "ties_lost": ties_lost,
        },
        outputs=("share",),
        forbidden=LIBRARIES,
    )
]
