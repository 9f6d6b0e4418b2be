"""Exercise distributed.hidden_seconds: how much of the gradients' travel overlap hides."""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import a_cost_model as solutions

Hidden = Callable[[np.ndarray, np.ndarray], float]


def layers(
    rng: np.random.Generator, count: int, backward: float, travel: float, middle: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of backward and of travel for so many unlike layers, around these means.

    middle   how many times as large the layer in the middle is
    """
    large = np.ones(count)
    large[count // 2] = middle
    return (
        (backward * large * rng.uniform(0.3, 1.7, count)).round(7),
        (travel * large * rng.uniform(0.3, 1.7, count)).round(7),
    )


def ends(
    backward: np.ndarray, travel: np.ndarray, order: Callable = reversed, queue: bool = True
) -> tuple[float, float]:
    """When backward has ended, and when the last gradient has arrived.

    queue   whether an all-reduce waits for the one before
    """
    now = free = 0.0
    for layer in order(range(len(backward))):
        now += backward[layer]
        begin = max(now, free) if queue else now
        free = max(free, begin + travel[layer])
    return now, free


def of_timeline(**ways: object) -> Hidden:
    """Travel that does not show, by `ends` with some of its ways changed."""

    def hidden(backward: np.ndarray, travel: np.ndarray) -> float:
        now, free = ends(backward, travel, **ways)
        return float(travel.sum() - (free - now))

    return hidden


def one_lump(backward: np.ndarray, travel: np.ndarray) -> float:
    """As if all travel were one piece, from the first gradient on."""
    return float(min(travel.sum(), backward.sum() - backward[-1]))


def late_or_never(backward: np.ndarray, travel: np.ndarray) -> float:
    """As if the link were either never idle, or free for the last gradient."""
    return float(min(travel.sum() - travel[0], backward.sum() - backward[-1]))


def too_early(backward: np.ndarray, travel: np.ndarray) -> float:
    """As if each gradient left before its layer's backward."""
    now = free = 0.0
    for layer in reversed(range(len(backward))):
        free = max(free, now) + travel[layer]
        now += backward[layer]
    return float(travel.sum() - (free - now))


hidden_seconds = exercise(
    "distributed.hidden_seconds",
    oracle=of_timeline(),
    cases=cases_of(
        {
            "one layer": (1, 0.01, 0.02),
            "as in the lesson": (3, 0.01, 0.015),
            "a fast link": (5, 0.02, 0.004),
            "a slow link": (7, 0.01, 0.05),
            "about as long": (11, 0.01, 0.01),
            "many layers": (40, 0.01, 0.011),
            "a queue that drains late": (3, 0.001, 0.005, 40.0),
            "a large layer": (9, 0.01, 0.004, 9.0),
        },
        layers,
    ),
    wrong={
        "first_layer_first": of_timeline(order=iter),
        "no_queue": of_timeline(queue=False),
        "shown": lambda b, t: ends(b, t)[1] - ends(b, t)[0],
        "whole_step": lambda b, t: ends(b, t)[1],
        "shorter_of_both": lambda b, t: float(min(b.sum(), t.sum())),
        "too_early": too_early,
        "late_or_never": late_or_never,
        "one_lump": one_lump,
        "all_but_the_last_to_travel": lambda b, t: float(t.sum() - t[0]),
        "all_of_backward": lambda b, t: float(b.sum()),
        "while_it_computes_alone": lambda b, t: float(b.sum() - b[-1]),
    },
    fallback=solutions.hidden_seconds,
    outputs=("hidden",),
    rtol=1e-6,
    atol=1e-9,
    forbidden=(*LIBRARIES, "labkit.distributed"),
)
