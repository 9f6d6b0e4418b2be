"""Exercise distributed.compare: a stopwatch for two functions that deserves to be believed."""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.fine_tuning_and_compilers import solutions
from labkit_lessons.distributed.fine_tuning_and_compilers.timing_answers import (
    DIFFERENT,
    judged,
    unjudged,
)

BOTH = (0, 1)


def machines(
    rng: np.random.Generator, rounds: int, size: int, difference: str
) -> tuple[float, float, int, np.ndarray, np.ndarray, np.ndarray]:
    """Seconds of the two, rounds, x[size], and two results: equal, nearly, or not at all."""
    t1 = round(float(rng.uniform(0.5, 2)), 2)
    t2 = round(t1 * float(rng.choice([0.3, 3])), 2)
    first = rng.normal(size=size)
    if difference == "a little, of large numbers":
        first = np.sign(first) * rng.uniform(2_000, 10_000, size)
    if difference == "first, a little":
        first.sort()  # so that the largest number is another one
    second = first.copy()
    if difference == "nearly":
        second += rng.uniform(-5e-4, 5e-4, size)
    if difference == "last":
        second[-1] += 0.5
    if difference == "first":
        second[0] -= 0.5
    if difference == "first, a little":
        second[0] -= 0.003
    if difference == "a little, of large numbers":
        second[-1] += 0.005
    if difference == "the smallest":
        first.sort()
        second = first - 0.5 * (np.arange(size) == 0)
    if difference == "two that cancel":
        second[[0, -1]] += 0.5, -0.5
    if difference == "no number":
        second[size // 2] = np.nan
    if difference == "no number in both":
        first[size // 2] = second[size // 2] = np.nan
    if difference == "reversed":
        second = second[::-1].copy()
    return t1, t2, rounds, rng.normal(size=size), first, second


def in_words(args: tuple, output: str, got: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong where one of the two pairs stands for None."""
    if np.array_equal(expected, DIFFERENT):
        return "`first` and `second` give different numbers here, and the answer is not None."
    if np.array_equal(got, DIFFERENT):
        return "`first` and `second` agree within 0.001 here, and the answer is None."
    names = ("first", "second")
    off = int(np.argmax(np.abs(got - expected)))
    return f"The time of `{names[off]}` is {got[off]:.3f} s; it should be {expected[off]:.3f} s."


def too_far(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether some number differs by more than 0.001, or is none."""
    return not np.all(np.abs(a - b) <= 1e-3)


def never(a: np.ndarray, b: np.ndarray) -> bool:
    """As if all results were the same."""
    return False


def medians(
    first: Callable,
    second: Callable,
    x: np.ndarray,
    rounds: int,
    clock: Callable[[], float],
    wait: Callable[[], None],
    *,
    warm: tuple[int, ...] = BOTH,
    waits: tuple[int, ...] = BOTH,
    waits_when_warm: bool = True,
    differ: Callable[[np.ndarray, np.ndarray], bool] = too_far,
    in_turn: bool = True,
    own_start: bool = True,
    middle: Callable = np.median,
) -> tuple[float, float] | None:
    """A right stopwatch, of which any one part can be left out.

    `warm` are those that are called once before, and `waits` those that are waited for. Without
    `own_start`, the clock is read once for both.
    """
    functions = (first, second)
    results = {which: functions[which](x) for which in warm}
    if waits_when_warm:
        wait()
    took = [[], []]
    order = [0, 1] * rounds if in_turn else [0] * rounds + [1] * rounds
    for which in order:
        if own_start or which == 0:
            start = clock()
        results[which] = functions[which](x)
        if which in waits:
            wait()
        took[which].append(clock() - start)
    if differ(results[0], results[1]):
        return None
    return float(middle(took[0])), float(middle(took[1]))


def idea(**left_out: object) -> Callable[..., np.ndarray]:
    """What a stopwatch without this part shows."""
    return partial(unjudged, partial(medians, **left_out))


WRONG_COMPARE = dict(
    cold=idea(warm=()),
    cold_not_compared=idea(warm=(), differ=never),
    cold_and_mean=idea(warm=(), middle=np.mean),
    cold_and_mean_not_compared=idea(warm=(), middle=np.mean, differ=never),
    only_first_warm=idea(warm=(0,)),
    only_second_warm=idea(warm=(1,)),
    not_waited=idea(waits=()),
    never_waited=idea(waits=(), waits_when_warm=False),
    waited_after_both=idea(waits=(1,)),
    waited_for_first=idea(waits=(0,)),
    warm_up_runs_on=idea(waits_when_warm=False),
    not_compared=idea(differ=never),
    all_must_differ=idea(differ=lambda a, b: np.all(np.abs(a - b) > 1e-3)),
    relative=idea(differ=lambda a, b: not np.allclose(a, b, rtol=1e-3)),
    default_rtol=idea(differ=lambda a, b: not np.allclose(a, b, atol=1e-3)),
    relative_length=idea(differ=lambda a, b: not np.linalg.norm(a - b) <= 1e-3 * np.linalg.norm(a)),
    length_of_all=idea(differ=lambda a, b: not np.linalg.norm(a - b) <= 1e-3),
    first_compared=idea(differ=lambda a, b: not abs(a[0] - b[0]) <= 1e-3),
    largest_compared=idea(differ=lambda a, b: not abs(a.max() - b.max()) <= 1e-3),
    ten_times_as_much=idea(differ=lambda a, b: not np.all(np.abs(a - b) <= 1e-2)),
    not_in_order=idea(middle=lambda times: times[len(times) // 2]),
    signed=idea(differ=lambda a, b: not (a - b).max() <= 1e-3),
    signed_the_other_way=idea(differ=lambda a, b: not (b - a).max() <= 1e-3),
    sorted_compared=idea(differ=lambda a, b: not np.all(abs(np.sort(a) - np.sort(b)) <= 1e-3)),
    signed_mean=idea(differ=lambda a, b: not abs((a - b).mean()) <= 1e-3),
    sums_compared=idea(differ=lambda a, b: not abs(a.sum() - b.sum()) <= 1e-3),
    mean_compared=idea(differ=lambda a, b: not np.abs(a - b).mean() <= 1e-3),
    to_the_last_bit=idea(differ=lambda a, b: not np.array_equal(a, b)),
    started_once=idea(own_start=False),
    one_after_the_other=idea(in_turn=False),
    mean=idea(middle=np.mean),
    fastest=idea(middle=np.min),
    total=idea(middle=np.sum),
    mean_not_in_turn=idea(middle=np.mean, in_turn=False),
    swapped=lambda *case: idea()(*case)[::-1],
)

compare = exercise(
    "distributed.compare",
    oracle=idea(),
    cases=cases_of(
        {
            "nine rounds": (9, 5, "equal"),
            "one round": (1, 1, "equal"),
            "nearly equal": (13, 40, "nearly"),
            "another last number": (9, 6, "last"),
            "another first number": (3, 3, "first"),
            "a little different": (7, 5, "first, a little"),
            "another order": (5, 8, "reversed"),
            "another smallest number": (4, 7, "the smallest"),
            "two differences that cancel": (3, 6, "two that cancel"),
            "large numbers, a little different": (3, 4, "a little, of large numbers"),
            "a result that is NaN": (5, 5, "no number"),
            "NaN in both results": (3, 5, "no number in both"),
            "five rounds": (5, 4, "nearly"),
            "four rounds": (4, 4, "nearly"),
            "many rounds": (21, 33, "equal"),
        },
        machines,
    ),
    wrong=WRONG_COMPARE,
    forbidden=(*LIBRARIES, "time.perf_counter", "time.process_time", "time.time", "time.monotonic"),
    adapter=judged,
    plain=unjudged,
    fallback=solutions.compare,
    plain_python=True,
    rtol=1e-3,  # ten times as much as undisturbed calls differ
    general_causes=False,
    wording=in_words,
)
