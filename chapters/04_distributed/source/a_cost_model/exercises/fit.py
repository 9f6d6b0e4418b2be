"""Exercise distributed.fit_link: latency and bandwidth from pings, by relative least squares.

Dense: each wrong idea is the system of another least-squares fit, in a line or two.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit_lessons.distributed.a_cost_model import solutions

Fit = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def pings(
    rng: np.random.Generator,
    count: int,
    largest: float,
    noise: float,
    repeats: int = 1,
    steep: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and seconds of so many pings, in no order, on a link that varies from case to case.

    largest   bytes, so that the bandwidth's part is at most some hundred times the latency's
    noise     the spread of the seconds, of their own length
    repeats   how often each size comes
    steep     whether larger pings take longer than that, so that the best latency is below 0
    """
    latency = rng.uniform(1e-3, 2e-2)
    bandwidth = largest / latency / rng.uniform(3, 30)
    unlike = np.geomspace(largest, largest / 1000, count) * (1 + 0.01 * np.arange(count))
    sizes = rng.permutation(np.repeat(unlike.round(), repeats))
    seconds = latency + sizes / bandwidth
    if steep:
        seconds = (sizes / bandwidth) ** 1.2
    return sizes, seconds * (1 + noise * rng.uniform(-1, 1, len(sizes)))


def weighted(
    power: float, change: Callable[[float, float], tuple] = lambda a, c: (a, 1 / c)
) -> Fit:
    """Least squares of the errors divided by seconds^power; change(latency, s per byte) -> both."""

    def fit(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
        weights = seconds**-power
        rows = np.stack([weights, weights * sizes], axis=1)
        latency, per_byte = np.linalg.lstsq(rows, weights * seconds, rcond=None)[0]
        return change(latency, per_byte)

    return fit


def right_side_of_seconds(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """As if divided rows still had the seconds themselves on the right."""
    rows = np.stack([1 / seconds, sizes / seconds], axis=1)
    latency, per_byte = np.linalg.lstsq(rows, seconds, rcond=None)[0]
    return latency, 1 / per_byte


def bytes_not_divided(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """As if only the first column were divided by the seconds."""
    rows = np.stack([1 / seconds, sizes], axis=1)
    latency, per_byte = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return latency, 1 / per_byte


def by_size(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """As if the rows were divided by the bytes."""
    rows = np.stack([1 / sizes, np.ones(len(sizes))], axis=1)
    latency, per_byte = np.linalg.lstsq(rows, seconds / sizes, rcond=None)[0]
    return latency, 1 / per_byte


def one_for_each_size(choose: Callable[[np.ndarray], float]) -> Fit:
    """As if each size had one ping, chosen from its own."""

    def fit(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
        unlike = np.unique(sizes)
        chosen = [choose(seconds[sizes == size]) for size in unlike]
        return relative(unlike, np.array(chosen))

    return fit


def relative(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """The oracle, by its normal equations in float64; one ping alone is all bandwidth."""
    if len(sizes) == 1:
        return 0.0, sizes[0] / seconds[0]
    x = sizes / seconds
    w = 1 / seconds
    left = np.array([[w @ w, w @ x], [w @ x, x @ x]])
    latency, per_byte = np.linalg.solve(left, np.array([w.sum(), x.sum()]))
    return latency, 1 / per_byte


def by_two(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """As if only the smallest and the largest ping were there."""
    small, large = np.argmin(sizes), np.argmax(sizes)
    per_byte = (seconds[large] - seconds[small]) / (sizes[large] - sizes[small])
    return seconds[small] - sizes[small] * per_byte, 1 / per_byte


def by_ends(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """As if only the first and the last ping were there."""
    with np.errstate(all="ignore"):
        per_byte = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])
        return seconds[0] - sizes[0] * per_byte, 1 / per_byte


def smallest_is_latency(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """As if the smallest ping were nothing but latency."""
    small = np.argmin(sizes)
    rest = np.delete(np.arange(len(sizes)), small)
    x = sizes[rest] / seconds[rest]
    per_byte = (x @ (1 - seconds[small] / seconds[rest])) / (x @ x)
    return seconds[small], 1 / per_byte


fit_link = exercise(
    "distributed.fit_link",
    oracle=relative,
    cases=cases_of(
        {
            "two pings": (2, 1e6, 0.0),
            "three": (3, 1e6, 0.05),
            "prime": (7, 4e5, 0.1),
            "a slow link": (5, 2e4, 0.1),
            "many": (40, 3e7, 0.2),
            "below 0": (6, 1e6, 0.01, 1, True),
            "equal sizes, three of each": (6, 1e6, 0.2, 3),
        },
        pings,
    ),
    wrong={
        "absolute": weighted(0),
        "halfway": weighted(0.5),
        "squared": weighted(2),
        "seconds_per_byte": weighted(1, lambda a, c: (a, c)),
        "columns_swapped": weighted(1, lambda a, c: (c, 1 / a)),
        "numbers_swapped": weighted(1, lambda a, c: (1 / c, a)),
        "bytes_not_divided": bytes_not_divided,
        "first_left_out": lambda *pings: relative(*(one[len(one) > 2 :] for one in pings)),
        "last_left_out": lambda *pings: relative(
            *(one[: len(one) - (len(one) > 2)] for one in pings)
        ),
        "round_trips": weighted(1, lambda a, c: (a / 2, 2 / c)),
        "right_side_of_seconds": right_side_of_seconds,
        "by_size": by_size,
        "mean_of_each_size": one_for_each_size(np.mean),
        "fastest_of_each_size": one_for_each_size(np.min),
        "by_two": by_two,
        "by_ends": by_ends,
        "not_below_0": weighted(1, lambda a, c: (max(a, 0.0), 1 / c)),
        "no_latency": lambda sizes, seconds: (
            0.0,
            sum((sizes / seconds) ** 2) / sum(sizes / seconds),
        ),
        "smallest_is_latency": smallest_is_latency,
    },
    fallback=solutions.fit_link,
    outputs=("latency", "bandwidth"),
    groups=(frozenset({0, 1}),),
    rtol=1e-5,
    atol=1e-7,  # of a latency: what is left of it where a single ping has none
    forbidden=("labkit.distributed", "labkit_lessons.distributed.a_cost_model", "scipy", "torch"),
)
