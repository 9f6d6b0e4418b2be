"""The plain function of lesson 01_gpu/6, training: the gradient of a batch that does not fit."""

from collections.abc import Callable

import numpy as np

from labkit.checks.items import LIBRARIES, cases_of, exercise


def inputs(rng: np.random.Generator, D: int, *sizes: int) -> tuple:
    """gradients [M, D] and a list of M sizes."""
    return rng.normal(size=(len(sizes), D)), list(sizes)


def weighted(weight: Callable) -> Callable:
    """The sum of the gradients, each times weight(n, sizes)."""

    def total(gradients, sizes):
        return sum(weight(n, sizes) * g for g, n in zip(gradients, sizes, strict=True))

    return total


def running_mean(gradients, sizes):
    """Each piece is averaged with what there was before: the last counts half."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total = (total + gradient) / 2
    return total


def sum_so_far(gradients, sizes):
    """Each piece is weighed with the images met up to then."""
    met = np.cumsum(sizes)
    return sum(n / m * g for g, n, m in zip(gradients, sizes, met, strict=True))


accumulate = exercise(
    "gpu.accumulate",
    oracle=weighted(lambda n, sizes: n / sum(sizes)),
    cases=cases_of(  # D, then the images in each piece
        {
            "a short last piece": (3, 4, 4, 2),
            "all sizes 1": (1, 1),
            "prime": (5, 7, 3),
            "equal pieces": (4, 3, 3, 3),
            "one piece": (2, 5),
            "one image each": (3, 1, 1, 1, 1, 1),
            "a large last piece": (2, 1, 6),
            "all pieces different": (4, 2, 9, 5, 1),
        },
        inputs,
    ),
    wrong={
        "only_added": weighted(lambda n, sizes: 1),
        "mean_of_means": weighted(lambda n, sizes: 1 / len(sizes)),
        "weight_of_first": weighted(lambda n, sizes: sizes[0] / sum(sizes)),
        "weight_of_last": weighted(lambda n, sizes: sizes[-1] / sum(sizes)),
        "share_of_a_full_piece": weighted(lambda n, sizes: n / sizes[0]),
        "mean_of_shares": weighted(lambda n, sizes: n / sizes[0] / len(sizes)),
        "divided_by_pieces": weighted(lambda n, sizes: n / len(sizes)),
        "whole_division": weighted(lambda n, sizes: n // sum(sizes)),
        "upside_down": weighted(lambda n, sizes: sum(sizes) / n),
        "running_mean": running_mean,
        "sum_so_far": sum_so_far,
        "sum_of_losses": weighted(lambda n, sizes: n),
        "divided_only": weighted(lambda n, sizes: 1 / sum(sizes)),
        "last_piece": lambda gradients, sizes: gradients[-1] * sizes[-1] / sum(sizes),
        "first_piece": lambda gradients, sizes: gradients[0] * sizes[0] / sum(sizes),
    },
    outputs=("total",),
    forbidden=(*LIBRARIES, "numpy.average"),
)

EXERCISES = [accumulate]
