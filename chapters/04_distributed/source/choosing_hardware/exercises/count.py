"""Exercise distributed.machines_needed: the smallest power of two of machines that hold a model.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

import math
from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

Case = tuple[int, int, np.ndarray, int, int, int]


def bytes_needed(weights: int, size: int, tokens: np.ndarray, token_cache: int) -> int:
    """Weights, and the cache of all requests."""
    return weights * size + int(tokens.sum()) * token_cache


def filled(
    rng: np.random.Generator,
    requests: int,
    machines: float,
    most: int,
    cached: float = 1.0,
    exact: bool = False,
    over: bool = False,
) -> Case:
    """A model whose bytes fill the memory of so many machines, and the rest of the arguments.

    cached   bytes of the cache, in times of those of the weights, about
    exact    whether they fill it to the last byte
    over     whether each lacks a part of a byte
    """
    size = int(rng.choice([1, 2, 4]))
    weights = int(rng.integers(2_000, 9_000))
    tokens = 5 + rng.permutation(40 + requests)[:requests]
    token_cache = max(round(cached * weights * size / int(tokens.sum())), 2)
    if exact:
        weights *= int(machines)
        token_cache *= int(machines)
    needed = bytes_needed(weights, size, tokens, token_cache)
    memory = math.ceil(needed / machines)
    if over:  # in bytes of one each, so that some number of weights does not divide evenly
        size, weights = 1, weights + (weights + int(tokens.sum()) * token_cache) % 2 + 1
        memory = bytes_needed(weights, size, tokens, token_cache) // int(machines)
    return weights, size, tokens, token_cache, memory, most


def counted(
    needed: Callable[..., float] = bytes_needed,
    fits: Callable[..., bool] = lambda needed, count, memory: needed <= count * memory,
    step: Callable[[int], int] = lambda count: 2 * count,
    limited: Callable[[int, int], bool] = lambda count, most: count <= most,
    none: int = 0,
) -> Callable[..., int]:
    """The number of machines under one idea or another."""

    def machines(weights, size, tokens, token_cache, memory, most):
        total = needed(weights, size, tokens, token_cache)
        count = 1
        while limited(count, most) and count < 10_000:
            if fits(total, count, memory):
                return count
            count = step(count)
        return none

    return machines


def held(bytes_of_each: Callable[[int, int, int], float]) -> Callable[..., int]:
    """As if each of `count` machines held bytes_of_each(bytes of weights, of cache, count)."""

    def machines(weights, size, tokens, token_cache, memory, most):
        cache = int(tokens.sum()) * token_cache
        count = 1
        while count <= most:
            if bytes_of_each(weights * size, cache, count) <= memory:
                return count
            count *= 2
        return 0

    return machines


def machines_of(weights, size, tokens, token_cache, memory, most) -> int:
    """The oracle."""
    return counted()(weights, size, tokens, token_cache, memory, most)


def by_logarithm(whole: Callable[[float], int]) -> Callable[..., int]:
    """As if the exponent were whole(log2 of how many machines' memory is needed)."""

    def machines(weights, size, tokens, token_cache, memory, most):
        needed = bytes_needed(weights, size, tokens, token_cache)
        count = 2 ** max(whole(math.log2(needed / memory)), 0)
        return count if count <= most else 0

    return machines


def before(weights, size, tokens, token_cache, memory, most) -> int:
    """One power of two too few."""
    found = machines_of(weights, size, tokens, token_cache, memory, most)
    return max(found // 2, 1) if found else 0


def part_of_one(weights, size, tokens, token_cache, memory, most) -> float:
    """The power of two by a logarithm, also where it is below 1."""
    needed = bytes_needed(weights, size, tokens, token_cache)
    count = 2.0 ** math.ceil(math.log2(needed / memory))
    return count if count <= most else 0


def as_many_as_allowed(weights, size, tokens, token_cache, memory, most) -> int:
    """`most` where even those are not enough."""
    return (
        machines_of(
            weights,
            size,
            tokens,
            token_cache,
            memory,
            most,
        )
        or most
    )


machines_needed = exercise(
    "distributed.machines_needed",
    oracle=machines_of,
    cases=cases_of(
        {
            "one machine": (1, 0.7, 8),
            "half of one": (4, 0.45, 1),
            "a tenth of one": (3, 0.1, 4),
            "two, for the cache": (3, 1.6, 8),
            "three would do": (5, 2.6, 8),
            "exactly full": (2, 4, 8, 1.0, True),
            "a byte too many": (3, 4, 8, 1.0, False, True),
            "exactly one": (4, 1, 8, 1.0, True),
            "little cache": (2, 5.1, 16, 0.2),
            "one request, and a long one": (1, 3.3, 8, 3.0),
            "much cache": (7, 6.3, 64, 6.0),
            "too many": (33, 9.5, 3),
            "at most six": (3, 4.4, 6),
            "at most seven, eight needed": (5, 7.4, 7),
            "at most eight, all needed": (6, 7.9, 8),
            "many": (11, 90.5, 1024),
        },
        filled,
    ),
    wrong={
        "no_cache": counted(needed=lambda w, s, t, c: w * s),
        "one_request": counted(needed=lambda w, s, t, c: w * s + int(t[0]) * c),
        "the_longest": counted(needed=lambda w, s, t, c: w * s + len(t) * int(t.max()) * c),
        "one_token": counted(needed=lambda w, s, t, c: w * s + len(t) * c),
        "no_weights": counted(needed=lambda w, s, t, c: int(t.sum()) * c),
        "not_in_bytes": counted(needed=lambda w, s, t, c: w + int(t.sum()) * c),
        "cache_in_bytes_again": counted(needed=lambda w, s, t, c: (w + int(t.sum()) * c) * s),
        "nine_tenths": counted(fits=lambda needed, count, memory: needed <= 0.9 * count * memory),
        "two_bytes": counted(needed=lambda w, s, t, c: bytes_needed(w, 2, t, c)),
        "four_bytes": counted(needed=lambda w, s, t, c: bytes_needed(w, 4, t, c)),
        "weights_of_each_request": counted(
            needed=lambda w, s, t, c: bytes_needed(w * len(t), s, t, c)
        ),
        "mean_of_requests": counted(needed=lambda w, s, t, c: w * s + float(t.mean()) * c),
        "rounded_down": counted(fits=lambda needed, count, memory: needed // count <= memory),
        "at_least_two": lambda *given: (
            max(machines_of(*given), 2) * (given[-1] > 1) if machines_of(*given) else 0
        ),
        "minus_one": counted(none=-1),
        "whole_machines": counted(fits=lambda needed, count, memory: needed // memory <= count),
        "nearest_power": by_logarithm(round),
        "power_below": by_logarithm(math.floor),
        "power_below_whole": by_logarithm(
            lambda log: math.floor(math.log2(math.ceil(round(2**log, 9))))
        ),
        "exponent": lambda *given: max(machines_of(*given), 1).bit_length() - 1,
        "one_tried": lambda *given: machines_of(*given[:-1], min(given[-1], 1)),
        "any_number": counted(step=lambda count: count + 1),
        "room_to_spare": counted(fits=lambda needed, count, memory: needed < count * memory),
        "never_too_many": counted(limited=lambda count, most: True),
        "past_most": counted(limited=lambda count, most: count < 2 * most),
        "one_more_allowed": counted(limited=lambda count, most: count <= most + 1),
        "one_less_allowed": counted(limited=lambda count, most: count < most),
        "one_anyway": counted(none=1),
        "weights_on_each": held(lambda weights, cache, count: weights + cache / count),
        "cache_on_each": held(lambda weights, cache, count: weights / count + cache),
        "one_step_before": before,
        "part_of_one": part_of_one,
        "as_many_as_allowed": as_many_as_allowed,
    },
    general_causes=False,
    forbidden=(*LIBRARIES, "labkit.distributed.chooser"),
)
