"""Wrong ideas of tpu.synchronised_moments: means[R,C], variances[R,C] -> mean[C], variance[C].

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np


def with_between(between: Callable) -> Callable:
    """The mean is right; `between(means)` stands where their variance belongs."""

    def wrong(means, variances):
        inside = variances.mean(axis=0)
        mean = means.mean(axis=0)
        variance = inside + between(means)
        return mean, variance

    return wrong


def with_inside(inside: Callable) -> Callable:
    """The mean is right; `inside(variances)` stands where their mean belongs."""

    def wrong(means, variances):
        between = means.var(axis=0)
        mean = means.mean(axis=0)
        variance = inside(variances) + between
        return mean, variance

    return wrong


def deviations_averaged(variances):
    """The square of the mean deviation."""
    deviation = np.sqrt(variances).mean(axis=0)
    return deviation**2


def distances(means):
    """How far the means lie away, not squared."""
    return abs(means - means.mean(axis=0)).mean(axis=0)


def larger_of_both(means, variances):
    """Inside or between, whichever is more."""
    inside = variances.mean(axis=0)
    return means.mean(axis=0), np.maximum(inside, means.var(axis=0))


def over_channels(means, variances):
    """Along the other axis."""
    inside = variances.mean(axis=1)
    between = means.var(axis=1)
    return means.mean(axis=1), inside + between


def one_number(means, variances):
    """Along both axes."""
    inside = variances.mean()
    between = means.var()
    return means.mean(), inside + between


def each_with_the_next(means, variances):
    """Replica after replica is joined with all before it, as two equal halves."""
    mean = means[0]
    variance = variances[0]
    for m, v in zip(means[1:], variances[1:], strict=True):
        inside = (variance + v) / 2
        between = ((mean - m) / 2) ** 2
        variance = inside + between
        mean = (mean + m) / 2
    return mean, variance


def not_squared(means, variances):
    """The mean square, without the mean."""
    mean = means.mean(axis=0)
    mean_square = (variances + means**2).mean(axis=0)
    return mean, mean_square - mean


def swapped(means, variances):
    """The variance comes first."""
    inside = variances.mean(axis=0)
    between = means.var(axis=0)
    return inside + between, means.mean(axis=0)
