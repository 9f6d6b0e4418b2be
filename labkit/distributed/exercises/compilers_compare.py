"""Exercise distributed.compare: a stopwatch for two functions that deserves to be believed."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import fine_tuning_and_compilers as solutions
from labkit.distributed.timing_answers import DIFFERENT, judged, unjudged


def machines(
    rng: np.random.Generator, rounds: int, size: int, difference: str
) -> tuple[float, float, int, np.ndarray, np.ndarray, np.ndarray]:
    """Seconds of the two, rounds, x[size], and two results: equal, nearly, or not at all."""
    t1 = float(rng.uniform(0.5, 2))
    t2 = t1 * float(rng.choice([0.3, 3]))
    first = rng.normal(size=size)
    second = first.copy()
    if difference == "nearly":
        second += rng.uniform(-1e-5, 1e-5, size)
    if difference == "last":
        second[-1] += 0.5
    if difference == "first":
        second[0] -= 0.5
    if difference == "first, a little":
        second[0] -= 0.003
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


def medians(
    first: Callable,
    second: Callable,
    x: np.ndarray,
    rounds: int,
    clock: Callable[[], float],
    wait: Callable[[], None],
    *,
    warm: bool = True,
    waits: bool = True,
    waits_when_warm: bool = True,
    differ: Callable[[np.ndarray, np.ndarray], bool] = lambda a, b: np.abs(a - b).max() > 1e-3,
    in_turn: bool = True,
    middle: Callable = np.median,
) -> tuple[float, float] | None:
    """A right stopwatch, of which any one part can be left out."""
    functions = (first, second)
    if warm:
        results = [function(x) for function in functions]
        if waits_when_warm:
            wait()
        if differ(*results):
            return None
    took = [[], []]
    order = [0, 1] * rounds if in_turn else [0] * rounds + [1] * rounds
    for which in order:
        start = clock()
        functions[which](x)
        if waits:
            wait()
        took[which].append(clock() - start)
    return float(middle(took[0])), float(middle(took[1]))


def idea(**left_out: object) -> Callable[..., np.ndarray]:
    """What a stopwatch without this part shows."""
    return partial(unjudged, partial(medians, **left_out))


WRONG_COMPARE = SimpleNamespace(
    cold=idea(warm=False),
    cold_and_mean=idea(warm=False, middle=np.mean),
    not_waited=idea(waits=False),
    never_waited=idea(waits=False, waits_when_warm=False),
    warm_up_runs_on=idea(waits_when_warm=False),
    not_compared=idea(differ=lambda a, b: False),
    signed=idea(differ=lambda a, b: (a - b).max() > 1e-3),
    signed_the_other_way=idea(differ=lambda a, b: (b - a).max() > 1e-3),
    sums_compared=idea(differ=lambda a, b: abs(a.sum() - b.sum()) > 1e-3),
    mean_compared=idea(differ=lambda a, b: np.abs(a - b).mean() > 1e-3),
    to_the_last_bit=idea(differ=lambda a, b: not np.array_equal(a, b)),
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
            "nearly equal": (13, 7, "nearly"),
            "another last number": (9, 6, "last"),
            "another first number": (3, 3, "first"),
            "a little different": (7, 5, "first, a little"),
            "another order": (5, 8, "reversed"),
            "five rounds": (5, 4, "nearly"),
            "many rounds": (21, 33, "equal"),
        },
        machines,
    ),
    wrong=vars(WRONG_COMPARE),
    forbidden=(*LIBRARIES, "time.perf_counter", "time.time", "time.monotonic"),
    adapter=judged,
    plain=unjudged,
    fallback=solutions.compare,
    plain_python=True,
    rtol=1e-6,
    general_causes=False,
    wording=in_words,
)
