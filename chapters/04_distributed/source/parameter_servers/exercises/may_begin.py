"""Exercise distributed.may_begin: who may begin a step under a bound.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit_lessons.distributed.parameter_servers.exercises.shared import READY_MADE


def progress(
    rng: np.random.Generator, workers: int, bound: int, kind: str = ""
) -> tuple[np.ndarray, int]:
    """finished [workers] and the bound.

    Leads of 0, bound and bound + 1 are there, as far as there are workers; the others are drawn
    from up to twice the bound, with gaps. kind: "equal", some leads come twice; "first", somebody
    is still in the first step.
    """
    border = dict.fromkeys([0, bound, bound + 1])
    others = [lead for lead in rng.permutation(2 * max(workers, bound)) if lead not in border]
    leads = np.array([*border, *others][:workers])
    if kind == "equal":
        leads[workers // 2 :] = leads[: workers - workers // 2]
    slowest = 0 if kind == "first" else int(rng.integers(3, 60))
    return slowest + rng.permutation(leads), bound


def within_the_bound(finished: np.ndarray, bound: int) -> np.ndarray:
    """finished [workers] -> whether each may begin: finished[w] - min(finished) <= bound."""
    return finished - finished.min() <= bound


def ahead_of(reference: Callable[[np.ndarray], object]) -> Callable:
    """As if a worker's lead were the one over reference(finished)."""
    return lambda finished, bound: finished - reference(finished) <= bound


WRONG_BEGIN = dict(
    strictly=lambda finished, bound: finished - finished.min() < bound,
    at_least=lambda finished, bound: finished - finished.min() >= bound,
    one_more=lambda finished, bound: finished - finished.min() <= bound + 1,
    ignores_others=lambda finished, bound: finished <= bound,
    from_the_fastest=lambda finished, bound: finished.max() - finished <= bound,
    from_the_mean=ahead_of(np.mean),
    from_worker_0=ahead_of(lambda finished: finished[0]),
    from_the_last_worker=ahead_of(lambda finished: finished[-1]),
    from_the_median=ahead_of(np.median),
    by_rank=lambda finished, bound: finished.argsort().argsort() <= bound,
    by_place_of_the_slowest=ahead_of(np.argmin),
    from_the_second=ahead_of(lambda finished: np.sort(finished)[:2][-1]),
    from_the_one_before=ahead_of(lambda finished: np.roll(finished, 1)),
    from_the_one_after=ahead_of(lambda finished: np.roll(finished, -1)),
    at_least_1=lambda finished, bound: finished - finished.min() <= max(bound, 1),
    over_the_next=lambda finished, bound: np.array(
        [done - max(finished[finished < done], default=done) <= bound for done in finished]
    ),
    all_or_nobody=lambda finished, bound: np.full(
        len(finished), finished.max() - finished.min() <= bound
    ),
    beginners_left_out=ahead_of(lambda finished: min(finished[finished > 0], default=0)),
    slowest_alone=lambda finished, bound: finished == finished.min(),
    who_waits=lambda finished, bound: finished - finished.min() > bound,
    everybody=lambda finished, bound: np.full(len(finished), True),
)

may_begin = exercise(
    "distributed.may_begin",
    oracle=within_the_bound,
    cases=cases_of(
        {
            "three workers": (3, 1),
            "one worker": (1, 0),
            "prime": (7, 3),
            "lockstep": (5, 0),
            "nobody is too fast": (4, 9),
            "ragged": (33, 10),
            "many": (100, 41),
            "equal steps": (5, 2, "equal"),
            "no step yet": (5, 3, "first"),
        },
        progress,
    ),
    wrong=WRONG_BEGIN,
    forbidden=READY_MADE,
)
