"""Exercise distributed.staleness: how many pushes came between a pull and its push.

Dense: each wrong idea compares two of the four moments of two steps, in one formula.
"""

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit_lessons.distributed.parameter_servers.exercises.shared import READY_MADE


def steps_of_workers(
    rng: np.random.Generator, workers: int, steps: int, waits: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """pulled [N] and pushed [N] of workers at unlike paces, worker after worker; all different.

    waits   whether a worker waits before it pulls again; otherwise it pulls when it pushes
    """
    pulled, pushed = [], []
    for worker in range(workers):
        pace = rng.uniform(5, 15) * (4 if worker == 0 else 1)
        moment = rng.uniform(0, 5)
        for _ in range(max(1, steps // 4) if worker == 0 else steps):
            pulled.append(moment)
            moment += pace * rng.uniform(0.8, 1.2)
            pushed.append(moment)
            moment += waits * rng.uniform(0.1, 2.0)
    return np.array(pulled), np.array(pushed)


def pushes_between(pulled: np.ndarray, pushed: np.ndarray) -> np.ndarray:
    """pulled [N], pushed [N] -> for each step how many pushes lie between its two moments."""
    return _count(pushed[None] > pulled[:, None], pushed[None] < pushed[:, None])


def _count(*conditions: np.ndarray) -> np.ndarray:
    """How many of the other steps (columns) meet all conditions, for each step (row)."""
    return np.logical_and.reduce(conditions).sum(axis=1)


def as_if_sorted(pulled: np.ndarray, pushed: np.ndarray) -> np.ndarray:
    """As if the steps stood in the order of their pushes: those before in the array came before."""
    return np.array([np.sum(pushed[:i] > pulled[i]) for i in range(len(pushed))])


WRONG_STALENESS = dict(
    own_push_too=lambda pulled, pushed: pushes_between(pulled, pushed) + 1,
    last_push_too=lambda pulled, pushed: _count(
        pushed[None] >= pulled[:, None], pushed[None] < pushed[:, None]
    ),
    whether=lambda pulled, pushed: np.minimum(pushes_between(pulled, pushed), 1),
    behind_in_the_array=lambda pulled, pushed: np.array(
        [np.sum((pulled[i] < pushed[i:]) & (pushed[i:] < pushed[i])) for i in range(len(pushed))]
    ),
    pulls=lambda pulled, pushed: _count(
        pulled[None] > pulled[:, None], pulled[None] < pushed[:, None]
    ),
    whole_steps=lambda pulled, pushed: _count(
        pulled[None] > pulled[:, None], pushed[None] < pushed[:, None]
    ),
    overlapping=lambda pulled, pushed: (
        _count(pushed[None] > pulled[:, None], pulled[None] < pushed[:, None]) - 1
    ),
    computing_at_the_pull=lambda pulled, pushed: _count(
        pushed[None] > pulled[:, None], pulled[None] < pulled[:, None]
    ),
    computing_at_the_push=lambda pulled, pushed: _count(
        pulled[None] < pushed[:, None], pushed[None] > pushed[:, None]
    ),
    version_at_the_push=lambda pulled, pushed: _count(pushed[None] < pushed[:, None]),
    version_at_the_pull=lambda pulled, pushed: _count(pushed[None] < pulled[:, None]),
    since_the_pull=lambda pulled, pushed: _count(pushed[None] > pulled[:, None]),
    since_the_push=lambda pulled, pushed: _count(pushed[None] > pushed[:, None]),
    as_if_sorted=as_if_sorted,
    in_order_of_pushes=lambda pulled, pushed: pushes_between(pulled, pushed)[np.argsort(pushed)],
    places_by_argsort=lambda pulled, pushed: np.argsort(pushed) - np.argsort(pulled),
    never_sorted=lambda pulled, pushed: (
        np.searchsorted(pushed, pushed) - np.searchsorted(pushed, pulled)
    ),
    one_less=lambda pulled, pushed: pushes_between(pulled, pushed) - 1,
    pulls_too=lambda pulled, pushed: (
        pushes_between(pulled, pushed)
        + _count(pulled[None] > pulled[:, None], pulled[None] < pushed[:, None])
    ),
    in_order_of_pulls=lambda pulled, pushed: pushes_between(pulled, pushed)[np.argsort(pulled)],
    around_it=lambda pulled, pushed: _count(
        pulled[None] < pulled[:, None], pushed[None] > pushed[:, None]
    ),
    either=lambda pulled, pushed: _count(
        (pushed[None] > pulled[:, None]) | (pushed[None] < pushed[:, None])
    ),
    mean=lambda pulled, pushed: np.full(len(pushed), pushes_between(pulled, pushed).mean()),
    time=lambda pulled, pushed: pushed - pulled,
)

staleness = exercise(
    "distributed.staleness",
    oracle=pushes_between,
    cases=cases_of(
        {
            "three workers": (3, 4),
            "one step": (1, 1),
            "one worker": (1, 20),
            "prime": (2, 9),
            "one step each": (6, 1),
            "ragged": (4, 10),
            "many": (5, 40),
            "pulled at once": (3, 7, False),
            "ninety workers": (90, 4),  # a staleness beyond 8 bits
        },
        steps_of_workers,
    ),
    wrong=WRONG_STALENESS,
    forbidden=READY_MADE,
)
