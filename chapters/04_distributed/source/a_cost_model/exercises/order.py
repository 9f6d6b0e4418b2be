"""Exercise distributed.rank_correlation: Kendall's tau of two lists, pair by pair.

Dense: each wrong idea is another formula over all pairs.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.a_cost_model import solutions

Order = Callable[[np.ndarray, np.ndarray], float]


def two_lists(
    rng: np.random.Generator, count: int, noise: float, equal: int = 1, equal_first: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of so many layouts, published and predicted, around a common truth.

    noise   of the second list, of the spread of the first; negative: it runs against the first
    equal   so many neighbours of the second list have the same value; equal_first: of the first
    """
    first = rng.uniform(20, 90, count)
    second = np.sign(noise) * first + abs(noise) * rng.uniform(-90, 90, count) + 400
    second = np.repeat(second[::equal], equal)[:count]
    first = np.repeat(first[::equal_first], equal_first)[:count]
    return first.round(4), second.round(4)


def of_pairs(
    pair: Callable[[float, float], float] = lambda x, y: np.sign(x * y),
    chosen: Callable[[int, int], bool] = lambda i, j: j < i,
    counts: Callable[[float, float], bool] = lambda x, y: True,
    of: Callable[[float, int, int], float] = lambda order, pairs, n: order / max(pairs, 1),
) -> Order:
    """Kendall's tau with some of its steps changed.

    pair     what one pair counts, from its differences in both lists
    chosen   which i, j make a pair
    counts   whether a pair is one of those that are divided by
    """

    def order(a: np.ndarray, b: np.ndarray) -> float:
        total, pairs, n = 0.0, 0, len(a)
        for i in range(n):
            for j in range(n):
                if chosen(i, j) and counts(a[i] - a[j], b[i] - b[j]):
                    total += float(pair(a[i] - a[j], b[i] - b[j]))
                    pairs += 1
        return float(of(total, pairs, n))

    return order


def tau_b(a: np.ndarray, b: np.ndarray) -> float:
    """As if it were divided by the pairs that have an order in each list, in the geometric mean."""
    order, of_a, of_b = (
        of_pairs(pair=pair, of=lambda order, pairs, n: order)(a, b)
        for pair in (lambda x, y: np.sign(x * y), lambda x, y: x != 0, lambda x, y: y != 0)
    )
    return order / np.sqrt(of_a * of_b) if of_a * of_b else 0.0


def by_places(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's: the correlation of the places."""
    return of_numbers(a.argsort().argsort().astype(float), b.argsort().argsort().astype(float))


def of_numbers(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation of the numbers; 0 where one list is constant."""
    x, y = a - a.mean(), b - b.mean()
    below = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / below) if below else 0.0


rank_correlation = exercise(
    "distributed.rank_correlation",
    oracle=of_pairs(),
    cases=cases_of(
        {
            "five layouts": (5, 0.6),
            "one layout": (1, 0.5),
            "two": (2, 0.1),
            "as in the lesson": (4, 0.6),
            "prime": (7, 0.5),
            "against each other": (9, -0.4),
            "many": (40, 1.0),
            "equal predictions in pairs": (12, 0.4, 2),
            "equal predictions: a constant": (6, 0.4, 6),
            "equal measurements in threes": (11, 0.4, 1, 3),
            "equal pairs in both lists": (10, 0.4, 2, 2),
        },
        two_lists,
    ),
    wrong={
        "tau_b": tau_b,
        "magnitude": lambda a, b: abs(of_pairs()(a, b)),
        "first_list_twice": lambda a, b: of_pairs()(a, a),
        "of_six": of_pairs(of=lambda order, pairs, n: order / 6),
        "share_by_less": of_pairs(pair=lambda x, y: (x < 0) == (y < 0)),
        "ties_as_above": of_pairs(pair=lambda x, y: 1 if (x < 0) == (y < 0) else -1),
        "share": of_pairs(pair=lambda x, y: x * y > 0),
        "ties_in_a_count": of_pairs(
            pair=lambda x, y: 0 if y == 0 else 1 if (x > 0) == (y > 0) else -1
        ),
        "ties_in_both_agree": of_pairs(pair=lambda x, y: np.sign(x * y) if x != 0 or y != 0 else 1),
        "ties_against": of_pairs(pair=lambda x, y: 1 if x * y > 0 else -1),
        "ties_for": of_pairs(pair=lambda x, y: 1 if x * y >= 0 else -1),
        "same_sign": of_pairs(pair=lambda x, y: 1 if np.sign(x) == np.sign(y) else -1),
        "one_way": of_pairs(pair=lambda x, y: np.sign(y) if x > 0 else 0),
        "both_rise": of_pairs(pair=lambda x, y: 1 if x > 0 and y > 0 else -1),
        "ties_left_out": of_pairs(counts=lambda x, y: x * y != 0),
        "with_themselves": of_pairs(chosen=lambda i, j: j <= i),
        "half": of_pairs(of=lambda order, pairs, n: order / max(n * (n - 1), 1)),
        "twice": of_pairs(
            chosen=lambda i, j: i != j, of=lambda order, pairs, n: order / max(pairs / 2, 1)
        ),
        "of_layouts": of_pairs(of=lambda order, pairs, n: order / n),
        "neighbours": of_pairs(chosen=lambda i, j: j == i - 1),
        "with_the_first": of_pairs(chosen=lambda i, j: j == 0 < i),
        "turned": of_pairs(pair=lambda x, y: -np.sign(x * y)),
        "by_size": of_pairs(pair=lambda x, y: x * y),
        "sum_of_pairs": of_pairs(of=lambda order, pairs, n: order),
        "pearson": of_numbers,
        "spearman": by_places,
    },
    fallback=solutions.rank_correlation,
    outputs=("order",),
    rtol=1e-6,
    atol=1e-9,
    forbidden=(*LIBRARIES, "labkit.distributed", "labkit_lessons.distributed.a_cost_model"),
)
