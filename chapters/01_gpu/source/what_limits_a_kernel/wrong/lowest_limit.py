"""Wrong ideas of gpu.lowest_limit: the share of the peak that three counts of a kernel leave.

`counts` stands for intensity [n], passes [n], accesses [n] of n kernels, and the machine's ridge.
"""

from collections.abc import Callable

import numpy as np

ISSUED = 4  # warp instructions that an SM starts per clock, and multiply-adds of warps that it does
RIDGE_OF_THE_TEXT = 50


# The three estimates


def estimates(intensity, passes, accesses, ridge) -> dict[str, np.ndarray]:
    """What traffic, passes and instructions leave, each as a share of the peak."""
    return {
        "traffic": intensity / ridge,
        "passes": 1 / (ISSUED * passes),
        "instructions": 1 / (1 + accesses),
    }


def smallest(shares: dict[str, np.ndarray]) -> np.ndarray:
    """The smallest of several estimates, kernel by kernel."""
    return np.minimum.reduce([*shares.values()])


# Another choice among the three


def traffic_only(*counts):
    """The roofline alone."""
    shares = estimates(*counts)
    return shares["traffic"]


def lowest_without(name: str) -> Callable:
    """The smallest of the other two estimates."""

    def wrong(*counts):
        shares = estimates(*counts)
        del shares[name]
        return smallest(shares)

    return wrong


def ties_lost(*counts):
    """What a chain of `if` finds that asks for "smaller than both others", and takes the rest."""
    shares = estimates(*counts)
    traffic = shares["traffic"]
    passes = shares["passes"]
    instructions = shares["instructions"]
    tied = traffic == passes
    taken_for_rest = tied & (traffic < instructions)
    return np.where(taken_for_rest, instructions, smallest(shares))


# The three combined, [3, n] -> [n]


def of_all(combine: Callable) -> Callable:
    """`combine` of the three estimates in place of the smallest."""

    def wrong(*counts):
        shares = estimates(*counts)
        table = np.array([*shares.values()])
        return combine(table)

    return wrong


def highest(shares):
    """The largest of the three."""
    return shares.max(axis=0)


def product(shares):
    """Each takes its share of what the others leave."""
    return shares.prod(axis=0)


def capped_product(shares):
    """The same, where none leaves more than the peak."""
    capped = np.minimum(shares, 1)
    return product(capped)


def mean(shares):
    """The mean of the three."""
    return shares.mean(axis=0)


def one_after_the_other(shares):
    """The times add up, as if nothing overlapped."""
    times = 1 / shares
    total = times.sum(axis=0)
    return 1 / total


# One of the three from a wrong formula


def lowest_with(name: str, estimate: Callable) -> Callable:
    """The smallest of the three, of which one is estimate(intensity, passes, accesses, ridge)."""
    of_others = lowest_without(name)

    def wrong(*counts):
        others = of_others(*counts)
        return np.minimum(others, estimate(*counts))

    return wrong


def ridge_of_the_text(intensity, passes, accesses, ridge):
    """Traffic: the ridge is not the one that is given."""
    return intensity / RIDGE_OF_THE_TEXT


def traffic_upside_down(intensity, passes, accesses, ridge):
    """Traffic: the quotient is the other way round."""
    return ridge / intensity


def without_ridge(intensity, passes, accesses, ridge):
    """Traffic: the intensity is no share."""
    return intensity


def halved_for_each_pass(intensity, passes, accesses, ridge):
    """Passes: 1/4 for one pass, and half of it for each further one."""
    halvings = passes + 1
    return 0.5**halvings


def one_plus_three_passes(intensity, passes, accesses, ridge):
    """Passes: 1/4 for one pass, but by another formula."""
    clocks = 1 + 3 * passes
    return 1 / clocks


def passes_and_one(intensity, passes, accesses, ridge):
    """Passes: the multiply-add itself counts as one."""
    return 1 / (ISSUED * (1 + passes))


def one_per_clock(intensity, passes, accesses, ridge):
    """Passes: the SM does one multiply-add per clock."""
    return 1 / passes


def passes_upside_down(intensity, passes, accesses, ridge):
    """Passes: more of them leave more."""
    return passes / ISSUED


def four_over_passes(intensity, passes, accesses, ridge):
    """Passes: the four multiplies instead of dividing."""
    return ISSUED / passes


def along_a_line(intensity, passes, accesses, ridge):
    """Instructions: a line through the text's two points for the accesses, 1/2 and 1/4."""
    line = 0.625 - 0.125 * accesses
    return np.clip(line, 0, 1)


def accesses_alone(intensity, passes, accesses, ridge):
    """Instructions: the multiply-add itself is not counted."""
    return 1 / accesses


def half_per_access(intensity, passes, accesses, ridge):
    """Instructions: half of the peak for one access, and less in proportion."""
    return 0.5 / accesses


def share_of_accesses(intensity, passes, accesses, ridge):
    """Instructions: the share of the accesses, not of the multiply-adds."""
    instructions = 1 + accesses
    return accesses / instructions


ESTIMATES = {
    "traffic_only": traffic_only,
    "without_traffic": lowest_without("traffic"),
    "without_passes": lowest_without("passes"),
    "without_instructions": lowest_without("instructions"),
    "highest": of_all(highest),
    "product": of_all(product),
    "capped_product": of_all(capped_product),
    "ridge_of_the_text": lowest_with("traffic", ridge_of_the_text),
    "halved_for_each_pass": lowest_with("passes", halved_for_each_pass),
    "along_a_line": lowest_with("instructions", along_a_line),
    "one_plus_three_passes": lowest_with("passes", one_plus_three_passes),
    "passes_and_one": lowest_with("passes", passes_and_one),
    "mean": of_all(mean),
    "one_after_the_other": of_all(one_after_the_other),
    "one_per_clock": lowest_with("passes", one_per_clock),
    "traffic_upside_down": lowest_with("traffic", traffic_upside_down),
    "without_ridge": lowest_with("traffic", without_ridge),
    "passes_upside_down": lowest_with("passes", passes_upside_down),
    "four_over_passes": lowest_with("passes", four_over_passes),
    "accesses_alone": lowest_with("instructions", accesses_alone),
    "half_per_access": lowest_with("instructions", half_per_access),
    "share_of_accesses": lowest_with("instructions", share_of_accesses),
    "ties_lost": ties_lost,
}
