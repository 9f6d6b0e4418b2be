"""Exercise distributed.best_micro_batches: into how many pieces a batch is cut.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.distributed.pipeline import solutions

Batch = tuple[np.ndarray, int, int, float, float, int]


def divisors(sequences: int) -> list[int]:
    """All numbers that divide it."""
    return [m for m in range(1, sequences + 1) if sequences % m == 0]


def divided(
    rng: np.random.Generator,
    stages: int,
    sequences: int,
    seconds: float,
    overhead: float,
    room: int,
    *choices: int,
) -> Batch:
    """The choices, or else all numbers that divide the sequences, and the rest as it is given."""
    return np.array(choices or divisors(sequences)), stages, sequences, seconds, overhead, room


def best(
    *given: Any,
    kept: Callable[[int, int], int] = min,
    pieces: Callable[[int, int], int] = lambda m, p: m + p - 1,
    has_overhead: bool = True,
    exact: bool = True,
    work: Callable[[float], float] = lambda seconds: seconds,
) -> int:
    """The m with the shortest step whose kept(m, p) micro-batches fit; 0 if none fits."""
    choices, stages, sequences, seconds, overhead, room = given
    found = []
    for m in choices.tolist():
        size = sequences // m
        used = kept(m, stages) * size
        step = pieces(m, stages) * (work(size * seconds) + has_overhead * overhead)
        if used < room or (used == room and exact):
            found.append((step, m))
    return min(found)[1] if found else 0


def of_whole_steps(*given: Any, whole: Callable[[float], float] = int) -> int:
    """As if whole(step) were compared: of equal ones, the first of `choices` stays."""
    choices, stages, sequences, seconds, overhead, room = given
    found, shortest = 0, float("inf")
    for m in choices.tolist():
        size = sequences // m
        step = whole((m + stages - 1) * (size * seconds + overhead))
        if min(m, stages) * size <= room and step < shortest:
            found, shortest = m, step
    return found


def those_that_fit(
    choices: np.ndarray, stages: int, sequences: int, seconds: float, overhead: float, room: int
) -> list[int]:
    """All m that 1F1B has room for."""
    return [m for m in choices.tolist() if min(m, stages) * (sequences // m) <= room]


def fits_afterwards(*given: Any) -> int:
    """As if only the m with the shortest step of all were tried."""
    found = best(*given, kept=lambda m, p: 0)
    _, stages, sequences, _, _, room = given
    return found if min(found, stages) * (sequences // found) <= room else 0


def choices_ignored(*given: Any) -> int:
    """As if `choices` held all numbers that divide the sequences."""
    return best(np.array(divisors(given[2])), *given[1:])


def stops_early(*given: Any) -> int:
    """As if the first step that is longer than the one before ended the search."""
    choices, stages, sequences, seconds, overhead, room = given
    found, shortest = 0, float("inf")
    for m in choices.tolist():
        size = sequences // m
        step = (m + stages - 1) * (size * seconds + overhead)
        if min(m, stages) * size > room:
            continue
        if step > shortest:
            break
        found, shortest = m, step
    return found


def nearest_to_the_root(*given: Any) -> int:
    """As if the choice nearest to sqrt((p - 1) N seconds / overhead), the best m of all, were best.

    Where m1 m2 is that number squared, m1 and m2 take equally long: ratios count, not distances.
    """
    _, stages, sequences, seconds, overhead, _ = given
    root = ((stages - 1) * sequences * seconds / overhead) ** 0.5
    fit = those_that_fit(*given)
    return min(fit, key=lambda m: abs(m - root), default=0)


def ends_at_a_misfit(*given: Any) -> int:
    """As if the first m that does not fit ended the search."""
    choices, stages, sequences, _, _, room = given
    fit = [min(m, stages) * (sequences // m) <= room for m in choices.tolist()]
    tried = choices if all(fit) else choices[: fit.index(False)]
    return best(tried, *given[1:])


def last_that_fits(*given: Any) -> int:
    """As if every m that fits were better than the one before."""
    fit = those_that_fit(*given)
    return fit[-1] if fit else 0


def first_that_fits(*given: Any) -> int:
    """As if no m could be better than the first that fits."""
    fit = those_that_fit(*given)
    return fit[0] if fit else 0


def longest(*given: Any) -> int:
    """As if the longest step were the best."""
    _, stages, sequences, seconds, overhead, _ = given
    fit = those_that_fit(*given)
    step = {m: (m + stages - 1) * (sequences // m * seconds + overhead) for m in fit}
    return max(fit, key=step.get, default=0)


def of_short_steps(*given: Any, least: float) -> int:
    """As if the search began at `least` seconds, and all steps were longer."""
    found = best(*given)
    _, stages, sequences, seconds, overhead, _ = given
    step = found and (found + stages - 1) * (sequences // found * seconds + overhead)
    return found if step < least else 0


def place_of_the_best(*given: Any) -> int:
    """As if its place among the choices were asked for."""
    found = best(*given)
    return given[0].tolist().index(found) if found else 0


def shortest_that_fits(
    choices: np.ndarray, stages: int, sequences: int, seconds: float, overhead: float, room: int
) -> int:
    """The oracle; nobody else may call it during a check."""
    return best(choices, stages, sequences, seconds, overhead, room)


def numbers(answer: object) -> Callable:
    """A function of the inputs whose result is one whole number."""
    refuse_no_function(answer)

    def judged(
        choices: np.ndarray,
        stages: int,
        sequences: int,
        seconds: float,
        overhead: float,
        room: int,
    ) -> int:
        given = choices.tolist()
        found = answer(given, stages, sequences, seconds, overhead, room)
        if given != choices.tolist():
            raise Refused("The function changes its input `choices`: the caller still needs it.")
        if found is None and not best(choices, stages, sequences, seconds, overhead, room):
            raise Refused("Here none of `choices` fits: then the result is 0, and this is None.")
        if found is None:
            raise Unsolved("the function returns None")
        if isinstance(found, bool) or not isinstance(found, int | np.integer):
            raise Refused(f"The result is one of `choices`, or 0; this is {found!r}.")
        return int(found)

    return judged


best_micro_batches = exercise(
    "distributed.best_micro_batches",
    oracle=shortest_that_fits,
    cases=cases_of(
        {
            "one sequence": (1, 1, 1.0, 1.0, 1),
            "as in the lesson": (2, 4, 3.0, 2.0, 4),
            "little room": (6, 7, 0.5, 3.0, 2),
            "a large batch": (4, 16, 0.5, 6.0, 16),
            "prime": (3, 7, 2.0, 0.5, 5),
            "room for three": (2, 4, 3e20, 2e20, 3),
            "cheap pieces": (4, 24, 1.0, 0.01, 24),
            "some room": (4, 64, 1.0, 1.5, 17),
            "exactly full": (5, 48, 0.3, 2.5, 20),
            "many stages": (16, 96, 1.0, 4.0, 70),
            "the best is no choice": (4, 24, 1.0, 2.0, 24, 1, 2, 24),
            "two choices": (4, 24, 1.0, 2.0, 24, 2, 12),
            "a few milliseconds": (4, 24, 0.003, 0.002, 18, 4, 24, 2, 12, 1),
            "some microseconds": (4, 24, 3e-6, 2e-6, 18, 4, 24, 2, 12, 1),
            "six stages": (6, 120, 0.2, 2.0, 120),
            "in any order": (4, 24, 1.0, 1.5, 18, 12, 24, 1, 6, 2),
        },
        divided,
    ),
    wrong={
        "any_room": partial(best, kept=lambda m, p: 0),
        "as_gpipe": partial(best, kept=lambda m, p: m),
        "as_one": partial(best, kept=lambda m, p: 1),
        "always_p": partial(best, kept=lambda m, p: p),
        "at_least_p": partial(best, kept=max),
        "largest": partial(best, has_overhead=False),
        "smallest": partial(best, pieces=lambda m, p: m),
        "one_piece_more": partial(best, pieces=lambda m, p: m + p),
        "one_piece_less": partial(best, pieces=lambda m, p: m + p - 2),
        "whole_seconds": partial(best, work=int),
        "whole_steps": of_whole_steps,
        "whole_milliseconds": partial(of_whole_steps, whole=lambda step: round(step, 3)),
        "four_stages": partial(best, pieces=lambda m, p: m + 3),
        "two_stages": partial(best, pieces=lambda m, p: m + 1),
        "waits_twice": partial(best, pieces=lambda m, p: m + 2 * (p - 1)),
        "all_stages_keep": partial(best, kept=lambda m, p: min(m, p) * p),
        "longest": longest,
        "first_that_fits": first_that_fits,
        "of_short_steps": partial(of_short_steps, least=1e9),
        "of_very_short_steps": partial(of_short_steps, least=100),
        "of_steps_below_10": partial(of_short_steps, least=10),
        "of_steps_below_1": partial(of_short_steps, least=1),
        "place_of_the_best": place_of_the_best,
        "longer_of_both": partial(best, pieces=max),
        "one_less_kept": partial(best, kept=lambda m, p: min(m, p - 1)),
        **by_own_name(
            fits_afterwards,
            choices_ignored,
            stops_early,
            nearest_to_the_root,
            ends_at_a_misfit,
            last_that_fits,
        ),
        "room_to_spare": partial(best, exact=False),
    },
    adapter=numbers,
    plain=lambda answer, *given: numbers(answer)(*given),
    fallback=solutions.best_micro_batches,
    plain_python=True,
    outputs=("m",),
    forbidden=(*LIBRARIES, "labkit.distributed.pipeline", "labkit_lessons.distributed.pipeline"),
)
