"""The exercises of lesson training: a step from a scaled gradient, and a batch in pieces."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.gpu.training.wrong import accumulate as wrong_total
from labkit_lessons.gpu.training.wrong import scaled_step as wrong_step

# p - lr g / scale, unless the gradient left the range of float16


def scaled_inputs(
    rng: np.random.Generator, n: int, scale: float, lr: float, bad: str = ""
) -> tuple:
    """p [n] float32, g [n] float16 of a loss times `scale`, scale, lr.

    The gradients are of all sizes, down to some that float16 holds only because they are scaled;
    a weight is a few times as large as its own step, so that each step shows.
    `bad` puts an infinity, its negative or a NaN into g, at a random place.
    """
    sizes = 2.0 ** (20 * rng.permutation(n) / n - 12)  # no two alike
    g = (rng.choice([-1, 1], n) * sizes).astype(np.float16)
    times = rng.choice([-1, 1], n) * rng.uniform(2, 5, n)
    p = (times * lr / scale * sizes).astype(np.float32)
    if bad:
        g[rng.integers(n)] = np.float16(bad)
    return p, g, scale, lr


scaled_step = exercise(
    "gpu.scaled_step",
    oracle=wrong_step.stepped,
    cases=cases_of(  # n, scale, lr, and what is no number
        {
            "a few gradients": (6, wrong_step.FIRST_SCALE, 0.5),
            "one gradient": (1, 256.0, 0.25),
            "the first length with another scale": (6, 64.0, 0.25),
            "a prime number": (13, 512.0, 3.0),
            "an infinity": (7, 1024.0, 0.5, "inf"),
            "a negative infinity": (5, 64.0, 0.125, "-inf"),
            "no number": (9, 128.0, 0.75, "nan"),
            "many gradients": (300, 4096.0, 7.0),
            "a scale that is no power of two": (40, 1000.0, 0.375),
        },
        scaled_inputs,
    ),
    wrong=by_own_name(
        wrong_step.not_unscaled,
        wrong_step.multiplied,
        wrong_step.rate_divided_only,
        wrong_step.divided_in_float16,
        wrong_step.stepped_in_float16,
        wrong_step.never_skipped,
        wrong_step.only_the_bad_skipped,
        wrong_step.bad_as_largest,
        wrong_step.infinity_alone,
        wrong_step.nan_alone,
        wrong_step.always_skipped,
        wrong_step.uphill,
        wrong_step.gradient_alone,
        wrong_step.no_rate,
        wrong_step.remembered_scale,
        wrong_step.weights_in_float16,
    ),
    outputs=("new",),
    dtype="float32",
    rtol=1e-4,
    atol=1e-12,
    forbidden=LIBRARIES,
)

# total[D] of gradients[M,D], the means over sizes[M] images


def accumulate_inputs(rng: np.random.Generator, D: int, *sizes: int) -> tuple:
    """gradients [M, D] and a list of M sizes."""
    M = len(sizes)
    gradients = rng.normal(size=(M, D))
    return gradients, list(sizes)


def mean_of_all(gradients, sizes):
    """total[D], to which each image contributes the same."""
    images = sum(sizes)
    terms = [n / images * g for g, n in zip(gradients, sizes, strict=True)]
    return sum(terms)


accumulate = exercise(
    "gpu.accumulate",
    oracle=mean_of_all,
    cases=cases_of(  # D, then the images in each piece
        {
            "a short last piece": (3, *wrong_total.FIRST_SIZES),
            "all sizes 1": (1, 1),
            "prime": (5, 7, 3),
            "equal pieces": (3, 3, 3, 3),  # and gradients of the first case's shape
            "one piece": (2, 5),
            "one image each": (3, 1, 1, 1, 1, 1),
            "a large last piece": (2, 1, 6),
            "all pieces different": (4, 2, 9, 5, 1),
        },
        accumulate_inputs,
    ),
    wrong={
        "only_added": wrong_total.weighted(wrong_total.one),
        "mean_of_means": wrong_total.weighted(wrong_total.share_of_pieces),
        "weight_of_first": wrong_total.weighted(wrong_total.share_of_first),
        "weight_of_last": wrong_total.weighted(wrong_total.share_of_last),
        "share_of_a_full_piece": wrong_total.weighted(wrong_total.share_of_a_full_piece),
        "mean_of_shares": wrong_total.weighted(wrong_total.mean_of_shares),
        "divided_by_pieces": wrong_total.weighted(wrong_total.images_per_piece),
        "whole_division": wrong_total.weighted(wrong_total.whole_division),
        "two_digits": wrong_total.weighted(wrong_total.two_digits),
        "upside_down": wrong_total.weighted(wrong_total.upside_down),
        "running_mean": wrong_total.running_mean,
        "sum_so_far": wrong_total.sum_so_far,
        "sum_of_losses": wrong_total.weighted(wrong_total.images),
        "divided_only": wrong_total.weighted(wrong_total.one_image),
        **by_own_name(
            wrong_total.last_piece_missing,
            wrong_total.first_piece_missing,
            wrong_total.remembered_sizes,
            wrong_total.last_piece,
            wrong_total.first_piece,
        ),
    },
    outputs=("total",),
    forbidden=(*LIBRARIES, "numpy.average"),
)

EXERCISES = [scaled_step, accumulate]
