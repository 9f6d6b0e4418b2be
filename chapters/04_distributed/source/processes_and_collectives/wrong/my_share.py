"""Wrong ideas of distributed.my_share: rank, ranks, x [n, ...] -> a share.

Some of them raise, as the learner's would.
"""

import numpy as np


def neighbours(rank, ranks, x):
    """Pieces of neighbours, as equal as can be."""
    return np.array_split(x, ranks)[rank]


def neighbours_alone(rank, ranks, x):
    """Pieces of neighbours, and what is left over is nobody's."""
    size = len(x) // ranks
    return x[rank * size : (rank + 1) * size]


def from_the_start(rank, ranks, x):
    """Every rank takes the share of rank 0."""
    return x[::ranks]


def one_element(rank, ranks, x):
    """A rank takes one element."""
    return x[rank]


def ends_after_one(rank, ranks, x):
    """A share has one element."""
    return x[rank : rank + 1]


def all_from_rank(rank, ranks, x):
    """The step is forgotten."""
    return x[rank:]


def up_to_ranks(rank, ranks, x):
    """One colon is missing."""
    return x[rank:ranks]


def swapped(rank, ranks, x):
    """Start and step have changed places."""
    return x[ranks::rank]


def step_of_rank(rank, ranks, x):
    """The step is the rank's number, counted from 1."""
    return x[rank :: rank + 1]


def counted_from_1(rank, ranks, x):
    """A place too far."""
    return x[rank + 1 :: ranks]


def one_before(rank, ranks, x):
    """A place too early."""
    return x[rank - 1 :: ranks]


def everything(rank, ranks, x):
    """Every rank takes all."""
    return x


def by_value(rank, ranks, x):
    """The elements themselves are dealt, and not their places."""
    return x[x % ranks == rank]


def with_zeros(rank, ranks, x):
    """Zeros stand in the places of the others."""
    share = np.zeros_like(x)
    share[rank::ranks] = x[rank::ranks]
    return share
