"""Exercise distributed.apply_once: pushes that come again or out of order, and wrong ideas of them.

Lesson faults.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

Push = tuple[int, int, np.ndarray]  # worker, step, gradient [D]
# Worker -> its first step. K * worker + step is the same number for steps of worker 11, or of 23,
# where K is 100, 256, 1,000 and so on; and so are the texts 1 12 and 11 2.
# Each number does so for other steps, so that they are told apart.
FIRST_STEPS = {11: 0, 1: 5, 10: 100, 9: 2_002, 8: 769, 7: 4_000_005, 6: 500_006, 5: 60_003}
FIRST_STEPS |= {4: 7_175, 23: 0, 20: 196_612}
NUMBERS = (100, 256, 1_000, 10_000, 65_536, 1_000_000)  # those that are told by name


def pushes(
    rng: np.random.Generator,
    size: int,
    workers: int,
    steps: int,
    again: int,
    late: int = 0,
    begins: Mapping[int, int] | None = None,
) -> tuple[np.ndarray, list[Push], float]:
    """w [size], what arrives, and the rate; `again` pushes come a second or third time.

    Each worker's steps begin somewhere and rise; the first `late` pushes come at the end. Where a
    push comes again, half of the time its gradient is another one, taken at later weights. Two
    workers may have equal gradients. Cases of unlike sizes have no worker in common: who remembers
    pushes from call to call is right until the first case comes again.

    begins   worker -> its first step, where they are not drawn
    """
    if begins is None:
        names = 20 * size + rng.permutation(2 * workers)[:workers]
        begins = {int(name): place and int(rng.integers(9)) for place, name in enumerate(names)}
    waiting: dict[int, list[Push]] = {worker: [] for worker in begins}
    for worker, begin in begins.items():
        for step in range(begin, begin + steps):
            waiting[worker].append((worker, step, rng.normal(size=size)))
    _share_a_gradient(waiting)
    arrived: list[Push] = []
    while any(waiting.values()):
        worker = rng.choice([worker for worker, left in waiting.items() if left])
        arrived.append(waiting[int(worker)].pop(0))
    arrived = arrived[late:] + arrived[:late]
    for _ in range(again):
        _comes_again(rng, arrived)
    return rng.normal(size=size), arrived, float(rng.uniform(0.05, 0.9))


def _share_a_gradient(waiting: dict[int, list[Push]]) -> None:
    """The last push of the second worker gets the gradient of the first one's."""
    if len(waiting) > 1:
        first, second, *_ = waiting.values()
        worker, step, _ = second[-1]
        second[-1] = worker, step, first[-1][2].copy()


def _comes_again(rng: np.random.Generator, arrived: list[Push]) -> None:
    """One of the pushes arrives again, at some later place."""
    place = int(rng.integers(len(arrived)))
    worker, step, gradient = arrived[place]
    if rng.random() < 0.5:
        gradient = rng.normal(size=gradient.size)
    later = int(rng.integers(place + 1, len(arrived) + 1))
    arrived.insert(later, (worker, step, gradient.copy()))


Applied = tuple[np.ndarray, int, int]


def applied(
    w: np.ndarray,
    arrived: Sequence[Push],
    rate: float,
    key: Callable[[Push], object] = lambda push: push[:2],
) -> Applied:
    """The weights, how many pushes were applied, and how many were repeated.

    key   of two pushes with the same one, the second is a repeated one
    """
    seen: set = set()
    for push in arrived:
        if key(push) not in seen:
            seen.add(key(push))
            w = w - rate * push[2]
    return w, len(seen), len(arrived) - len(seen)


def the_last_counts(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a later copy replaced an earlier one."""
    kept = {(worker, step): gradient for worker, step, gradient in arrived}
    return w - rate * sum(kept.values()), len(kept), len(arrived) - len(kept)


def only_neighbours(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a copy could come only right behind its first."""
    done = 0
    before = None
    for push in arrived:
        if push[:2] != before:
            w = w - rate * push[2]
            done += 1
        before = push[:2]
    return w, done, len(arrived) - done


def newest_of_all(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if no worker might be behind another."""
    newest, done = -1, 0
    for _, step, gradient in arrived:
        if step > newest:
            w = w - rate * gradient
            newest, done = step, done + 1
    return w, done, len(arrived) - done


def newest_of_each(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a worker's steps could arrive only in their order."""
    last: dict[int, int] = {}
    done = 0
    for worker, step, gradient in arrived:
        if step > last.get(worker, -1):
            w = w - rate * gradient
            last[worker], done = step, done + 1
    return w, done, len(arrived) - done


def without_step_0(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if every worker's step 0 were applied already."""
    last: dict[int, int] = {}
    done = 0
    for worker, step, gradient in arrived:
        if step > last.get(worker, 0):
            w = w - rate * gradient
            last[worker], done = step, done + 1
    return w, done, len(arrived) - done


def twice_but_counted(
    w: np.ndarray,
    arrived: Sequence[Push],
    rate: float,
) -> Applied:
    """As if a repeated push were noted, and applied all the same."""
    _, done, repeated = applied(w, arrived, rate)
    return w - rate * sum(gradient for *_, gradient in arrived), done, repeated


def from_the_old_weights(
    w: np.ndarray,
    arrived: Sequence[Push],
    rate: float,
) -> Applied:
    """As if each step began at the weights that were given."""
    _, done, repeated = applied(w, arrived, rate)
    first = {}
    for worker, step, gradient in arrived:
        first.setdefault((worker, step), gradient)
    return w - rate * list(first.values())[-1], done, repeated


def sought_apart(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a push were known where its worker and its step have each been seen."""
    workers: set[int] = set()
    steps: set[int] = set()
    done = 0
    for worker, step, gradient in arrived:
        if worker not in workers or step not in steps:
            w = w - rate * gradient
            done += 1
        workers.add(worker)
        steps.add(step)
    return w, done, len(arrived) - done


def in_float32(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if all were computed in float32."""
    narrow = [(worker, step, gradient.astype("f4")) for worker, step, gradient in arrived]
    return applied(w.astype("f4"), narrow, np.float32(rate))


def mean_applied(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if the pushes were one step together, with their mean."""
    right, done, repeated = applied(w, arrived, rate)
    return w + (right - w) / done, done, repeated


def rate_by_workers(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if the gradients of all workers were averaged."""
    return applied(w, arrived, rate / max(len({worker for worker, *_ in arrived}), 1))


def up_to_the_first_copy(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if nothing came behind the first push that comes again."""
    names = [push[:2] for push in arrived]
    fresh = [place for place, name in enumerate(names) if name in names[:place]]
    right, done, _ = applied(w, arrived[: min(fresh, default=len(names))], rate)
    return right, done, len(arrived) - done


def arrivals_counted(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if `applied` were all that has arrived."""
    right, done, repeated = applied(w, arrived, rate)
    return right, done + repeated, repeated


def kinds_counted(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a push that comes three times were repeated once."""
    right, done, _ = applied(w, arrived, rate)
    names = [push[:2] for push in arrived]
    return right, done, sum(names.count(name) > 1 for name in set(names))


WRONG_ONCE = dict(
    always=lambda w, arrived, rate: (
        w - rate * sum(gradient for *_, gradient in arrived),
        len(arrived),
        0,
    ),
    twice_but_counted=twice_but_counted,
    by_step=partial(applied, key=lambda push: push[1]),
    by_worker=partial(applied, key=lambda push: push[0]),
    by_gradient=partial(applied, key=lambda push: push[2].tobytes()),
    by_worker_and_gradient=partial(
        applied,
        key=lambda push: (push[0], push[2].tobytes()),
    ),
    by_sum=partial(applied, key=lambda push: push[0] + push[1]),
    by_text=partial(applied, key=lambda push: f"{push[0]}{push[1]}"),
    **{
        f"by_{number}": partial(applied, key=lambda push, n=number: n * push[0] + push[1])
        for number in NUMBERS
    },
    as_a_set=partial(applied, key=lambda push: frozenset(push[:2])),
    rate_by_workers=rate_by_workers,
    up_to_the_first_copy=up_to_the_first_copy,
    first_one_missing=lambda w, arrived, rate: applied(w, arrived[1:], rate),
    last_one_missing=lambda w, arrived, rate: applied(w, arrived[:-1], rate),
    mean=mean_applied,
    in_float32=in_float32,
    all_repeated=lambda w, arrived, rate: (*applied(w, arrived, rate)[:2], len(arrived)),
    sought_apart=sought_apart,
    from_the_old_weights=from_the_old_weights,
    the_last_counts=the_last_counts,
    only_neighbours=only_neighbours,
    newest_of_all=newest_of_all,
    newest_of_each=newest_of_each,
    without_step_0=without_step_0,
    arrivals_counted=arrivals_counted,
    kinds_counted=kinds_counted,
    uphill=lambda w, arrived, rate: applied(w, arrived, -rate),
    not_by_rate=lambda w, arrived, rate: applied(w, arrived, 1.0),
)

apply_once = exercise(
    "distributed.apply_once",
    oracle=lambda w, pushes, rate: applied(w, pushes, rate),
    cases=cases_of(
        {
            "some come again": (3, 3, 4, 5),
            "one push": (1, 1, 1, 0),
            "the same one three times": (2, 1, 1, 2),
            "nothing twice": (4, 2, 3, 0),
            "one worker": (5, 1, 6, 3),
            "prime": (7, 3, 5, 7),
            "the first push comes last": (6, 2, 3, 2, 1),
            "many": (33, 11, 20, 60, 7, FIRST_STEPS),
            "each other's numbers": (8, 2, 9, 2, 0, {203: 201, 205: 202}),
        },
        pushes,
    ),
    wrong=WRONG_ONCE,
    forbidden=LIBRARIES,
    outputs=("w", "applied", "repeated"),
    groups=(frozenset({0, 1, 2}),),
    stub=lambda w, arrived, rate: (w, 0, 0),
    rtol=1e-9,
    atol=1e-9,
    dtype="any",
)
