"""Wrong ideas of gpu.accumulate: gradients[M,D], means over sizes[M] images -> total[D]."""

from collections.abc import Callable

import numpy as np

FIRST_SIZES = (4, 4, 2)  # images of the pieces in the first case, whose gradients are [3, 3]


def weighted(weight: Callable) -> Callable:
    """The sum of the gradients, each times weight(n, sizes); n is the size of its own piece."""

    def total(gradients, sizes):
        terms = [weight(n, sizes) * g for g, n in zip(gradients, sizes, strict=True)]
        return sum(terms)

    return total


def one(n, sizes):
    """The gradients are added, and nothing else."""
    return 1


def share_of_pieces(n, sizes):
    """Each piece counts the same."""
    return 1 / len(sizes)


def share_of_first(n, sizes):
    """The first piece's weight for all."""
    return sizes[0] / sum(sizes)


def share_of_last(n, sizes):
    """The last piece's weight for all."""
    return sizes[-1] / sum(sizes)


def share_of_a_full_piece(n, sizes):
    """The images over those of a full piece, not over all."""
    return n / sizes[0]


def mean_of_shares(n, sizes):
    """The same, over the number of pieces."""
    return n / sizes[0] / len(sizes)


def images_per_piece(n, sizes):
    """The images over the number of pieces."""
    return n / len(sizes)


def whole_division(n, sizes):
    """`//` for `/`."""
    return n // sum(sizes)


def two_digits(n, sizes):
    """The share is rounded."""
    return round(n / sum(sizes), 2)


def upside_down(n, sizes):
    """The quotient is the other way round."""
    return sum(sizes) / n


def images(n, sizes):
    """The sum over the images, without the division."""
    return n


def one_image(n, sizes):
    """The division without the sum over the images."""
    return 1 / sum(sizes)


def last_piece(gradients, sizes):
    """Only the last piece's share is kept."""
    return gradients[-1] * sizes[-1] / sum(sizes)


def first_piece(gradients, sizes):
    """Only the first piece's share is kept."""
    return gradients[0] * sizes[0] / sum(sizes)


def running_mean(gradients, sizes):
    """Each piece is averaged with what there was before: the last counts half."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total = (total + gradient) / 2
    return total


def sum_so_far(gradients, sizes):
    """Each piece is weighed with the images met up to then."""
    met = np.cumsum(sizes)
    terms = [n / m * g for g, n, m in zip(gradients, sizes, met, strict=True)]
    return sum(terms)


def last_piece_missing(gradients, sizes):
    """The loop ends before the last piece."""
    shares = [n / sum(sizes) * g for g, n in zip(gradients[:-1], sizes[:-1], strict=True)]
    return sum(shares, 0 * gradients[0])


def first_piece_missing(gradients, sizes):
    """The loop begins behind the first piece."""
    shares = [n / sum(sizes) * g for g, n in zip(gradients[1:], sizes[1:], strict=True)]
    return sum(shares, 0 * gradients[0])


def remembered_sizes(gradients, sizes):
    """The weights are those of the first call with as many gradients of this length."""
    M, D = gradients.shape
    first = FIRST_SIZES if (M, D) == (3, 3) else sizes
    return np.array(first) @ gradients / sum(first)
