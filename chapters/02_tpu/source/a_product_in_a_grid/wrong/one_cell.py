"""Wrong ideas of tpu.one_cell: a, psum, w [rows,cols] -> psum_next [rows,cols].

They may raise, as a learner's would.
"""

import numpy as np


def no_sum(a, psum, w):
    """The sum from above is forgotten."""
    return a * w


def no_product(a, psum, w):
    """The sum is only handed on."""
    return psum


def no_weight(a, psum, w):
    """The number itself is added."""
    return psum + a


def all_added(a, psum, w):
    """Number and weight are added."""
    return psum + a + w


def all_multiplied(a, psum, w):
    """The sum is multiplied, too."""
    return psum * a * w


def number_first(a, psum, w):
    """Number and sum are added, and then multiplied."""
    return (psum + a) * w


def weight_first(a, psum, w):
    """Weight and sum are added, and then multiplied."""
    return (psum + w) * a


def sum_multiplied(a, psum, w):
    """Number and sum have changed places."""
    return a + psum * w


def subtracted(a, psum, w):
    """The product is taken away."""
    return psum - a * w


def matrix_product(a, psum, w):
    """`@` stands where `*` belongs; fits where rows = cols."""
    return psum + a @ w


def added_up(a, psum, w):
    """Every cell gets the products of all cells."""
    return psum + np.sum(a * w)
