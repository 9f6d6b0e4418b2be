"""Wrong ideas of tpu.systolic_step: a, psum, w [rows,cols], feed [rows] -> a_next, psum_next.

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np


def moved_right(a, feed):
    """The activations after a step, as they should be."""
    from_left = a[:, :-1]
    return np.column_stack([feed, from_left])


def moved_down(psum):
    """The sums before the products come to them, as they should be."""
    zeros = np.zeros_like(psum[:1])
    from_above = psum[:-1]
    return np.vstack([zeros, from_above])


def with_sums(sums: Callable) -> Callable:
    """The activations are right; `sums(psum, product)` stands for the new sums."""

    def wrong(a, psum, w, feed):
        a_next = moved_right(a, feed)
        product = a_next * w
        return a_next, sums(psum, product)

    return wrong


def with_activations(activations: Callable) -> Callable:
    """`activations(a, feed)` stands for the new ones; the sums are right for these."""

    def wrong(a, psum, w, feed):
        a_next = activations(a, feed)
        product = a_next * w
        return a_next, moved_down(psum) + product

    return wrong


def old_activations(a, psum, w, feed):
    """The products are those of the activations before the step."""
    product = a * w
    a_next = moved_right(a, feed)
    return a_next, moved_down(psum) + product


def matrix_product(a, psum, w, feed):
    """`@` stands where `*` belongs."""
    a_next = moved_right(a, feed)
    product = a_next @ w
    return a_next, moved_down(psum) + product


def factors_added(a, psum, w, feed):
    """The weight is added to the activation, where it should be multiplied."""
    a_next = moved_right(a, feed)
    return a_next, moved_down(psum) + a_next + w


def sums_come_round(psum, product):
    """What leaves below comes in above."""
    above = np.roll(psum, 1, axis=0)
    return above + product


def first_sums_stay(psum, product):
    """Row 0 keeps its sums, where zeros should come in."""
    above = np.vstack([psum[:1], psum[:-1]])
    return above + product


def both_sums(psum, product):
    """The cell's own sum is added to the one from above."""
    return psum + moved_down(psum) + product


def adds_first(psum, product):
    """The product is added to the cell's own sum, and then the sum moves down."""
    own = psum + product
    return moved_down(own)


def sums_up(psum, product):
    """The sums move up."""
    zeros = np.zeros_like(psum[:1])
    from_below = psum[1:]
    below = np.vstack([from_below, zeros])
    return below + product


def sums_right(psum, product):
    """The sums move to the right."""
    columns = psum.T
    left = moved_down(columns).T
    return left + product


def sums_stay(psum, product):
    """Each cell keeps its own sum."""
    return psum + product


def no_sum(psum, product):
    """The sum from above is forgotten."""
    return product


def no_product(psum, product):
    """The sums only move down."""
    return moved_down(psum)


def sums_run_through(psum, product):
    """The products of a whole column are added in one cycle."""
    return product.cumsum(axis=0)


def broadcast(a, feed):
    """Every column gets the new numbers."""
    return np.zeros_like(a) + feed[:, None]


def numbers_left(a, feed):
    """The activations move to the left."""
    from_right = a[:, 1:]
    return np.column_stack([from_right, feed])


def numbers_down(a, feed):
    """The activations move down; fits where rows = cols."""
    from_above = a[:-1]
    return np.vstack([feed, from_above])


def activations_stay(a, feed):
    """Only column 0 gets new numbers."""
    others = a[:, 1:]
    return np.column_stack([feed, others])


def nothing_enters(a, feed):
    """The activations stay as they are."""
    return a


def numbers_come_round(a, feed):
    """What leaves on the right comes in on the left."""
    return np.roll(a, 1, axis=1)
