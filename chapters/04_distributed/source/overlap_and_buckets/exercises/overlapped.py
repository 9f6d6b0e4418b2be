"""Exercise distributed.overlapped: a step whose messages travel while backward computes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import CostLimitExceeded, Refused, Unsolved, Unsteady, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.gradients.buckets import assign
from labkit_lessons.distributed.overlap_and_buckets import solutions
from labkit_lessons.distributed.overlap_and_buckets.order_of_calls import Calls


def both(gradients: np.ndarray, others: np.ndarray, buckets: list[list[int]]) -> np.ndarray:
    """[P, d]: the means, in the order of the buckets."""
    places = [place for bucket in buckets for place in bucket]
    return (gradients[places] + others[places]) / 2


def right_means(
    gradients: np.ndarray, others: np.ndarray, buckets: list[list[int]], order: np.ndarray
) -> np.ndarray:
    """The oracle; nobody else may call it during a check."""
    return both(gradients, others, buckets)


def judged_overlap(answer: object) -> Callable:
    """A function of the inputs that runs the learner's step, and judges the order of its calls.

    A second step follows with the same lists of buckets, as in training.
    """
    refuse_no_function(answer)
    earlier: list[np.ndarray] = []  # gradients of earlier cases

    def judged(
        gradients: np.ndarray, others: np.ndarray, buckets: list[list[int]], order: np.ndarray
    ) -> np.ndarray:
        calls = Calls(gradients, others, buckets, order, earlier)
        earlier.extend([*gradients, *-others])  # those of the second step below, too
        own = [list(bucket) for bucket in buckets]
        result = answer(calls.backward(), own, calls.start)
        if not result and not calls.begun:
            raise Unsolved("`start` is never called")
        if calls.begun and calls.lost:
            raise Refused(calls.lost)
        means = as_rows(result, gradients)
        right = both(gradients, others, buckets)
        if means.shape == right.shape and np.allclose(means, right):
            if calls.fault:
                raise CostLimitExceeded(calls.fault)
            if own != buckets:
                raise Unsteady(
                    "The function changes its input `buckets`: the next step, which has the same "
                    "buckets, would miss what is taken out. Work on a copy, `list(buckets)`."
                )
            refuse_kept(answer, Calls(-others, gradients, buckets, order), own, result, means)
        return means

    return judged


def refuse_kept(
    answer: Callable, calls: Calls, own: list[list[int]], result: Any, means: np.ndarray
) -> None:
    """Raises Unsteady where a step after the first one, with other numbers, is wrong."""
    wrong = Unsteady(
        "In a second step with the same buckets, and other gradients, the result is wrong: "
        "something is kept from the first step."
    )
    try:
        again = as_rows(answer(calls.backward(), own, calls.start), calls.mine)
    except Refused as error:
        raise wrong from error
    right = both(calls.mine, calls.others, calls.buckets)
    if calls.lost or again.shape != right.shape or not np.allclose(again, right):
        raise wrong
    after = as_rows(result, calls.mine)
    if after.shape != means.shape or not np.array_equal(after, means):
        raise Unsteady("The second step changes what the first one has returned.")


def unjudged_overlap(answer: Callable, *inputs: Any) -> np.ndarray:
    """What the learner's step returns, in whatever order it calls."""
    calls = Calls(*inputs)  # inputs[2]: the buckets
    return as_rows(answer(calls.backward(), inputs[2], calls.start), inputs[0])


def as_rows(result: Any, gradients: np.ndarray) -> np.ndarray:
    """[P, d]: the result, however deep its lists are; Refused where it has none."""
    rows = list(flat(result))
    if not all(isinstance(row, np.ndarray) and row.shape == gradients[0].shape for row in rows):
        raise Refused("The result is the list of what wait() gave for each bucket.")
    return np.stack(rows) if rows else gradients[:0]


def flat(value: Any) -> Any:
    """The arrays in nested lists, one after the other."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from flat(one)
    else:
        yield value


def a_step(
    rng: np.random.Generator, weights: int, numbers: int, most: int, layer: int = 1
) -> tuple:
    """Gradients of two ranks, buckets of various lengths, and the order of the backward.

    The layers come in reverse order, but within a layer, of so many weights, the first one first.
    """
    gradients, others = rng.normal(size=(2, weights, numbers))
    sizes = rng.integers(1, 4, size=weights).tolist()
    order = sorted(range(weights), key=lambda place: (-(place // layer), place))
    return gradients, others, assign(sizes, most), np.array(order)


overlapped = exercise(
    "distributed.overlapped",
    oracle=right_means,
    cases=cases_of(
        {"one gradient": (1, 1, 1), "one for each": (3, 4, 1), "prime": (7, 5, 6)}
        | {"all in one": (5, 2, 100), "ragged": (13, 3, 8), "many": (40, 2, 11)}
        | {"in pairs": (6, 3, 1, 2), "in pairs, two buckets": (4, 2, 6, 2)}
        | {"in fives": (23, 2, 6, 5), "the first one first": (9, 2, 4, 9)},
        a_step,
    ),
    wrong={
        "own": lambda mine, others, buckets, order: both(mine, mine, buckets),
        "last_missing": lambda mine, others, buckets, order: both(mine, others, buckets[:-1]),
        "only_last": lambda mine, others, buckets, order: both(mine, others, buckets[-1:]),
        "newest_first": lambda mine, others, buckets, order: both(mine, others, buckets[::-1]),
    },
    adapter=judged_overlap,
    plain=unjudged_overlap,
    fallback=solutions.overlapped,
    plain_python=True,
    outputs=("means",),
    forbidden=LIBRARIES,
)
