"""Wrong ideas of tpu.multiply_accumulate: a[M,K], b[K,N], narrow -> total[M,N].

They may raise, as a learner's would.
"""

from collections.abc import Callable, Iterable

import numpy as np

from labkit_lessons.tpu.bfloat16.exercises.float32_bits import cut, nearest
from labkit_lessons.tpu.bfloat16.wrong.shared import float16


def add(total, product, narrow):
    """The sum as it should be, which is a bfloat16 if narrow."""
    total = total + product
    return nearest(total) if narrow else total


def summed(
    a,
    b,
    narrow,
    order: Iterable[int],
    sum_of: Callable = add,
    dtype: type = np.float32,
) -> np.ndarray:
    """The products k in `order`, of operands as they are, by sum_of(total, product, narrow)."""
    total = np.zeros((len(a), b.shape[1]), dtype)
    for k in order:
        product = np.outer(a[:, k], b[k])
        total = sum_of(total, product, narrow)
    return total.astype(np.float32)


def with_operands(left: Callable, right: Callable) -> Callable:
    """The operands are `left(a)` and `right(b)`, the sums are right."""

    def wrong(a, b, narrow):
        every_k = range(len(b))
        return summed(left(a), right(b), narrow, every_k)

    return wrong


def with_order(order: Callable) -> Callable:
    """Only the products k in order(a, b), in this order."""

    def wrong(a, b, narrow):
        return summed(nearest(a), nearest(b), narrow, order(a, b))

    return wrong


def with_sum(sum_of: Callable) -> Callable:
    """`sum_of(total, product, narrow)` stands for the sum."""

    def wrong(a, b, narrow):
        every_k = range(len(b))
        return summed(nearest(a), nearest(b), narrow, every_k, sum_of)

    return wrong


right_sums = with_sum(add)


def operands_if_narrow(a, b, narrow):
    """Float32 operands for a wide sum."""
    if narrow:
        return right_sums(a, b, narrow)
    every_k = range(len(b))
    return summed(a, b, narrow, every_k)


def products_too(total, product, narrow):
    """The product is rounded, and so is a narrow sum."""
    return add(total, nearest(product), narrow)


def products_only(total, product, narrow):
    """The product is rounded in place of a narrow sum."""
    if narrow:
        product = nearest(product)
    return total + product


def before_the_addition(total, product, narrow):
    """A narrow sum is rounded too early, and the last one never."""
    if narrow:
        total = nearest(total)
    return total + product


def sums_cut(total, product, narrow):
    """A narrow sum is cut off."""
    total = total + product
    return cut(total) if narrow else total


def products_if_narrow(total, product, narrow):
    """A narrow sum takes up rounded products."""
    return add(total, nearest(product) if narrow else product, narrow)


def sums_in_float16(total, product, narrow):
    """A narrow sum is a float16."""
    total = total + product
    return float16(total) if narrow else total


def all_cut(a, b, narrow):
    """Nothing is rounded to the nearest."""
    every_k = range(len(b))
    return summed(cut(a), cut(b), narrow, every_k, sums_cut)


def in_pairs(a, b, narrow):
    """Two products at a time."""
    a, b = nearest(a), nearest(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(0, len(b), 2):
        products = [np.outer(a[:, one], b[one]) for one in range(k, min(k + 2, len(b)))]
        total = add(total, sum(products), narrow)
    return total


def first_not_rounded(a, b, narrow):
    """A narrow sum is rounded from its second product on."""
    a, b = nearest(a), nearest(b)
    first = np.outer(a[:, 0], b[0])
    total = first
    for k in range(1, len(b)):
        total = add(total, np.outer(a[:, k], b[k]), narrow)
    return total


def not_added(total, product, narrow):
    """What was there is forgotten."""
    return add(np.zeros_like(total), product, narrow)


def last_first(a, b):
    """From the last product to the first."""
    return range(len(b))[::-1]


def no_first(a, b):
    """All but the first product."""
    return range(1, len(b))


def no_last(a, b):
    """All but the last product."""
    return range(len(b) - 1)


def rows_of_a(a, b):
    """k counts to M."""
    return range(len(a))


def columns_of_b(a, b):
    """k counts to N."""
    return range(b.shape[1])


def in_float64(a, b, narrow):
    """A wide sum has 53 bits until its end."""
    left = nearest(a).astype(float)
    right = nearest(b).astype(float)
    every_k = range(len(b))
    return summed(left, right, narrow, every_k, dtype=float)


def at_once(a, b, narrow):
    """`@` adds in an order of its own."""
    return nearest(a) @ nearest(b)


def at_once_then_rounded(a, b, narrow):
    """`@`, and a narrow sum is rounded once."""
    total = at_once(a, b, narrow)
    return nearest(total) if narrow else total


def wide_at_once(a, b, narrow):
    """`@` for a wide sum."""
    return right_sums(a, b, narrow) if narrow else at_once(a, b, narrow)


def at_the_end(a, b, narrow):
    """A narrow sum is rounded once, at its end."""
    total = right_sums(a, b, False)
    return nearest(total) if narrow else total
