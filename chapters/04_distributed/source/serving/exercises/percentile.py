"""Exercise distributed.latency_percentile: number percent x n / 100, rounded up, of n.

Dense: each wrong idea is another formula of the place in the sorted times.
"""

import math
from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

Times = tuple[np.ndarray, np.ndarray, int]


def served(rng: np.random.Generator, count: int, percent: int, equal: bool = False) -> Times:
    """Requests that arrive in order and finish in another one; latencies of 0 are there, too.

    equal   most latencies are the same whole number
    """
    if equal:
        arrivals = np.cumsum(rng.integers(1, 5, count)).astype(float)
        latencies = np.full(count, 2.0)
        latencies[: count // 3] = 5.0, *range(9, 8 + count // 3)
        return arrivals, arrivals + rng.permutation(latencies), percent
    arrivals = np.cumsum(rng.exponential(1.0, count)) + rng.uniform(1, 9)
    latencies = rng.exponential(rng.uniform(2, 30), count)
    latencies[rng.integers(count)] *= 1 if count < 3 else 0
    return arrivals, arrivals + latencies, percent


def nearest_rank(values: np.ndarray, percent: int) -> float:
    """Number ceil(percent x n / 100) of the values in order, counted from 1."""
    return float(np.sort(values)[number(percent, len(values)) - 1])


def number(percent: int, count: int) -> int:
    """percent x count / 100, rounded up."""
    return (percent * count + 99) // 100


def right(arrivals: np.ndarray, finishes: np.ndarray, percent: int) -> float:
    """The oracle; nobody else may call it during a check."""
    return nearest_rank(finishes - arrivals, percent)


def at_place(place: int, arrivals: np.ndarray, finishes: np.ndarray) -> float:
    """The latency at a place of the order from 0; IndexError behind the last one."""
    return float(np.sort(finishes - arrivals)[place])


def one_of_two(method: str) -> Callable[..., float]:
    """Of the two latencies between which NumPy's percentile lies, one."""
    return lambda a, f, p: float(np.percentile(f - a, p, method=method))


latency_percentile = exercise(
    "distributed.latency_percentile",
    oracle=right,
    cases=cases_of(
        {
            "one request": (1, 50),
            "two": (2, 50),
            "prime": (7, 90),
            "five": (5, 50),
            "p99 of five": (5, 99),
            "p20 of ten": (10, 20),
            "ragged": (33, 95),
            "p99 of a hundred": (100, 99),
            "p7 of a hundred": (100, 7),
            "p1 of many": (150, 1),
            "p25 of 28": (28, 25),
            "all of them": (40, 100),
            "many": (500, 75),
            "equal latencies": (12, 50, True),
        },
        served,
    ),
    wrong={
        "one_too_high": lambda a, f, p: at_place(number(p, len(a)), a, f),
        "one_too_high_before_the_end": lambda a, f, p: at_place(
            min(number(p, len(a)), len(a) - 1), a, f
        ),
        "cut_off": lambda a, f, p: at_place(p * len(a) // 100, a, f),
        "cut_off_at_the_end": lambda a, f, p: at_place(min(p * len(a) // 100, len(a) - 1), a, f),
        "not_by_100": lambda a, f, p: at_place(p * len(a) - 1, a, f),
        "the_number": lambda a, f, p: number(p, len(a)),
        "equal_ones_once": lambda a, f, p: nearest_rank(np.unique(f - a), p),
        "rounded_down": lambda a, f, p: at_place(p * len(a) // 100 - 1, a, f),
        "fraction_first": lambda a, f, p: at_place(math.ceil(p / 100 * len(a)) - 1, a, f),
        "fraction_of_n_first": lambda a, f, p: at_place(math.ceil(len(a) / 100 * p) - 1, a, f),
        "lower_of_two": one_of_two("lower"),
        "higher_of_two": one_of_two("higher"),
        "nearest_of_two": one_of_two("nearest"),
        "the_longest": lambda a, f, p: float(np.max(f - a)),
        "the_median": lambda a, f, p: float(np.median(f - a)),
        "always_p99": lambda a, f, p: nearest_rank(f - a, 99),
        "rounded": lambda a, f, p: at_place(round(p * len(a) / 100) - 1, a, f),
        "half_up": lambda a, f, p: at_place(int(p * len(a) / 100 + 0.5) - 1, a, f),
        "between_two": lambda a, f, p: float(np.percentile(f - a, p)),
        "from_the_top": lambda a, f, p: -nearest_rank(a - f, p),
        "unsorted": lambda a, f, p: float((f - a)[number(p, len(a)) - 1]),
        "by_finish": lambda a, f, p: float((f - a)[np.argsort(f)][number(p, len(a)) - 1]),
        "sorted_apart": lambda a, f, p: nearest_rank(np.sort(f) - np.sort(a), p),
        "only_finishes": lambda a, f, p: nearest_rank(f, p),
        "mean": lambda a, f, p: float(np.mean(f - a)),
        "share_of_longest": lambda a, f, p: float(p / 100 * np.max(f - a)),
    },
    dtype="any",  # a whole number is no latency: it gets a diagnosis, not a word on its type
    forbidden=(*LIBRARIES, "statistics", "labkit_lessons.distributed.serving"),
)
