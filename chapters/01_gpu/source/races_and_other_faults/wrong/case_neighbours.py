"""Wrong ideas of gpu.case_neighbours: x[n] -> y[n], the mean of three; both ends stay."""

import numpy as np

from labkit.gpu.judging.cost_limits import WARP


def neighbours(x):
    """Of each element the one before and the one behind, 0 outside of x."""
    padded = np.pad(x, 1)
    return padded[:-2], padded[2:]


def ends_stay(x, y):
    """y, but with the first and the last element of x."""
    y = y.astype(np.float32)
    y[[0, -1]] = x[[0, -1]]
    return y


def smoothed(x):
    """What the kernel should give."""
    before, behind = neighbours(x)
    return ends_stay(x, (before + x + behind) / 3)


def zeros_at_the_ends(x):
    """The ends are smoothed too, with 0 outside."""
    before, behind = neighbours(x)
    return (before + x + behind) / 3


def wraps_around(x):
    """The neighbour of the first is the last, and the other way round."""
    return (np.roll(x, 1) + x + np.roll(x, -1)) / 3


def ends_repeated(x):
    """Outside of x the end itself is taken again."""
    padded = np.pad(x, 1, mode="edge")
    return (padded[:-2] + x + padded[2:]) / 3


def at_seams(x):
    """Which elements are the first, and which are the last of a block."""
    place = np.arange(x.size) % WARP
    return place == 0, place == WARP - 1


def zeros_at_the_seams(x):
    """What another block has counts as 0."""
    before, behind = neighbours(x)
    first, last = at_seams(x)
    total = np.where(first, 0, before) + x + np.where(last, 0, behind)
    return ends_stay(x, total / 3)


def seams_kept(x):
    """The first and the last of a block stay as they are."""
    first, last = at_seams(x)
    return np.where(first | last, x, smoothed(x))


def right_neighbour_missing(x):
    """Two are added, and divided by three."""
    before, _ = neighbours(x)
    return ends_stay(x, (before + x) / 3)


def left_neighbour_missing(x):
    """Two are added, and divided by three."""
    _, behind = neighbours(x)
    return ends_stay(x, (x + behind) / 3)


def without_itself(x):
    """The mean of the two neighbours."""
    before, behind = neighbours(x)
    return ends_stay(x, (before + behind) / 2)


def sum_of_three(x):
    """The division is missing."""
    return ends_stay(x, 3 * smoothed(x))


def first_block_only(x):
    """Behind the first block everything stays as it is."""
    return np.where(np.arange(x.size) < WARP, smoothed(x), x)


def copied(x):
    """Nothing is smoothed."""
    return x.copy()
