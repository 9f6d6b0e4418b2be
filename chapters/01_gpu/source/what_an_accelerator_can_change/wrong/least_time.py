"""Wrong ideas of gpu.least_time: flops[L], moved[L], peak, bandwidth -> seconds.

Dense: each wrong idea is one line, to be compared with those around it.
"""

import numpy as np


def right(flops, moved, peak, bandwidth):
    """For each layer the longer of computing and fetching, added up."""
    return np.sum(np.maximum(flops / peak, moved / bandwidth))


def totals_first(flops, moved, peak, bandwidth):
    """The longer of all computing and all fetching."""
    return max(np.sum(flops) / peak, np.sum(moved) / bandwidth)


def pythons_max(flops, moved, peak, bandwidth):
    """`max` of two arrays: raises where they have more than one place."""
    return np.sum(max(flops / peak, moved / bandwidth))


def one_after_the_other(flops, moved, peak, bandwidth):
    """First fetching, then computing."""
    return np.sum(flops / peak + moved / bandwidth)


def the_shorter(flops, moved, peak, bandwidth):
    """The shorter of both."""
    return np.sum(np.minimum(flops / peak, moved / bandwidth))


def arithmetic_alone(flops, moved, peak, bandwidth):
    """No byte takes any time."""
    return np.sum(flops / peak)


def memory_alone(flops, moved, peak, bandwidth):
    """No FLOP takes any time."""
    return np.sum(moved / bandwidth)


def not_added_up(flops, moved, peak, bandwidth):
    """A time for each layer."""
    return np.maximum(flops / peak, moved / bandwidth)


def longest_layer(flops, moved, peak, bandwidth):
    """The longest of all."""
    return np.max(np.maximum(flops / peak, moved / bandwidth))


def mean_of_layers(flops, moved, peak, bandwidth):
    """The mean for the sum."""
    return np.mean(np.maximum(flops / peak, moved / bandwidth))


def roofs_changed_over(flops, moved, peak, bandwidth):
    """FLOP by bandwidth, bytes by peak."""
    return np.sum(np.maximum(flops / bandwidth, moved / peak))


def multiplied(flops, moved, peak, bandwidth):
    """Times the rates, not by them."""
    return np.sum(np.maximum(flops * peak, moved * bandwidth))
