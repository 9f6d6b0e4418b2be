"""Exercise distributed.buckets: which gradients travel together."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit.distributed.gradients.buckets import assign
from labkit_lessons.distributed.overlap_and_buckets import solutions


def bucket_of(buckets: Sequence[Sequence[int]], count: int) -> np.ndarray:
    """The number of each weight's bucket, for weights 0 to count - 1."""
    numbers = np.full(count, -1)
    for number, bucket in enumerate(buckets):
        numbers[list(bucket)] = number
    return numbers


def examined(result: Any, count: int) -> np.ndarray:
    """The same of what a learner's function gave; Refused where these are no buckets."""
    kinds = list | tuple | np.ndarray
    if result is None:
        raise Unsolved("no parameter is in a bucket")
    if not isinstance(result, kinds) or not all(isinstance(one, kinds) for one in result):
        raise Refused("The result is a list of lists, such as [[3, 2], [1], [0]].")
    result = [list(one) for one in result]
    if not any(result):
        raise Unsolved("no parameter is in a bucket")
    if [] in result:
        raise Refused(f"Bucket {result.index([])} is empty: begin a new one only for a parameter.")
    places = [place for bucket in result for place in bucket]
    if not all(isinstance(place, int | np.integer) for place in places):
        raise Refused("A bucket holds the places of parameters: whole numbers.")
    for place in range(count):
        if places.count(place) != 1:
            times = "in no bucket" if place not in places else "in a bucket more than once"
            raise Refused(f"Parameter {place} is {times}; each belongs in one, and only once.")
    if len(places) > count:
        raise Refused(f"There are {count} parameters, and {len(places)} places in the buckets.")
    return in_turn(result, count)


def in_turn(result: list[list[int]], count: int) -> np.ndarray:
    """The number of each bucket, once its places stand in the order of the backward."""
    for number, bucket in enumerate(result):
        if bucket != sorted(bucket, reverse=True):
            raise Refused(
                f"Bucket {number} is {bucket}: the last parameter's gradient is ready first, so "
                "its place comes first."
            )
    return bucket_of(result, count)


def in_buckets(idea: Callable[..., list[list[int]]]) -> Callable:
    """An oracle or wrong idea whose result is the number of each bucket."""

    def numbers(sizes: np.ndarray, most: int) -> np.ndarray:
        return bucket_of(idea(sizes.tolist(), most), len(sizes))

    return numbers


def judged_buckets(answer: object) -> Callable:
    """A function of the inputs that puts the learner's result into a form to compare."""
    refuse_no_function(answer)
    return lambda sizes, most: examined(answer(sizes, most), len(sizes))


def forwards(sizes: list[int], most: int) -> list[list[int]]:
    """From the first parameter on."""
    last = len(sizes) - 1
    return [[last - place for place in bucket] for bucket in assign(sizes[::-1], most)]


def goes_beyond(sizes: list[int], most: int) -> list[list[int]]:
    """A bucket is closed once it has reached the limit, as DistributedDataParallel does."""
    buckets: list[list[int]] = [[]]
    for place in reversed(range(len(sizes))):
        if sum(sizes[one] for one in buckets[-1]) >= most:
            buckets.append([])
        buckets[-1].append(place)
    return buckets


def not_quite_full(sizes: list[int], most: int) -> list[list[int]]:
    """A bucket that would be exactly full is too small."""
    return assign(sizes, max(most - 1, 1))


def never_emptied(sizes: list[int], most: int) -> list[list[int]]:
    """The bytes of earlier buckets are still counted."""
    buckets: list[list[int]] = [[]]
    filled = 0
    for place in reversed(range(len(sizes))):
        if buckets[-1] and filled + sizes[place] > most:
            buckets.append([])
        buckets[-1].append(place)
        filled += sizes[place]
    return buckets


def first_not_counted(sizes: list[int], most: int) -> list[list[int]]:
    """The parameter that opens a bucket is not counted in it."""
    buckets: list[list[int]] = [[]]
    filled = 0
    for place in reversed(range(len(sizes))):
        if buckets[-1] and filled + sizes[place] > most:
            buckets.append([])
            filled = 0
        elif buckets[-1]:
            filled += sizes[place]
        else:
            filled = sizes[place]
        buckets[-1].append(place)
    return buckets


def first_counted_twice(sizes: list[int], most: int) -> list[list[int]]:
    """The parameter that opens a bucket behind the first one is counted twice in it."""
    buckets: list[list[int]] = [[]]
    filled = 0
    for place in reversed(range(len(sizes))):
        if buckets[-1] and filled + sizes[place] > most:
            buckets.append([])
            filled = sizes[place]
        buckets[-1].append(place)
        filled += sizes[place]
    return buckets


def large_ones_join(sizes: list[int], most: int) -> list[list[int]]:
    """A parameter beyond the limit joins the bucket that is open, and does not count there."""
    buckets: list[list[int]] = [[]]
    filled = 0
    for place in reversed(range(len(sizes))):
        if sizes[place] <= most:
            if buckets[-1] and filled + sizes[place] > most:
                buckets.append([])
                filled = 0
            filled += sizes[place]
        buckets[-1].append(place)
    return buckets


def wherever_it_fits(sizes: list[int], most: int) -> list[list[int]]:
    """A parameter goes into the first bucket that has room, also into an earlier one."""
    buckets: list[list[int]] = []
    for place in reversed(range(len(sizes))):
        fits = [b for b in buckets if sum(sizes[one] for one in b) + sizes[place] <= most]
        if fits:
            fits[0].append(place)
        else:
            buckets.append([place])
    return buckets


def one_each(sizes: list[int], most: int) -> list[list[int]]:
    """No two in one bucket."""
    return [[place] for place in reversed(range(len(sizes)))]


def in_twos(count: int) -> list[list[int]]:
    """Two parameters in each bucket, whatever their bytes."""
    places = list(reversed(range(count)))
    return [places[begin : begin + 2] for begin in range(0, count, 2)]


def equal_sizes(rng: np.random.Generator, count: int, most: int) -> tuple:
    """Few sizes in bytes, each of several parameters."""
    return rng.permutation(np.arange(count) % (count // 3)) + 2, most


def some_sizes(rng: np.random.Generator, count: int, largest: int, most: int) -> tuple:
    """Different sizes in bytes, from 1 to the largest; before that one stands a small one."""
    sizes = 1 + rng.permutation(largest)[:count]
    if count > 1:
        last = 1 + sizes[1:].argmax()
        sizes[sizes == 1] = sizes[last - 1]
        sizes[last - 1] = 1
    return sizes, most


def exact_sizes(rng: np.random.Generator, count: int, largest: int, most: int) -> tuple:
    """Pairs that fill a bucket exactly."""
    small = 1 + rng.permutation(most // 2 - 1)[: count // 2]
    return np.stack([small, most - small], axis=1).reshape(-1), most


def sizes_of(rng: np.random.Generator, count: int, largest: int, most: int) -> tuple:
    """One case of `buckets`; without a largest one (0) the sizes fit together exactly.

    A largest one below 0: each size comes several times.
    """
    if largest < 0:
        return equal_sizes(rng, count, most)
    return (some_sizes if largest else exact_sizes)(rng, count, largest, most)


def meaning(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """What the first wrong number says."""
    sizes, most = args
    shown = ", ".join(map(str, sizes[:12])) + (", ..." if len(sizes) > 12 else "")
    return [
        f"`bucket_of[{index[0]}]` is the number of the bucket with parameter {index[0]}. The sizes "
        f"are {shown}, and a bucket has at most {most}."
    ]


buckets = exercise(
    "distributed.buckets",
    oracle=in_buckets(assign),
    cases=cases_of(
        {"one parameter": (1, 8, 10), "some too large": (7, 12, 2), "prime": (7, 12, 25)}
        | {
            "ragged": (11, 50, 40),
            "exactly full": (8, 0, 30),
            "all in one": (7, 20, 1000),
        }
        | {"many": (60, 100, 150), "equal sizes": (13, -1, 9)},
        sizes_of,
    ),
    wrong={
        **by_own_name(
            forwards, one_each, goes_beyond, large_ones_join, wherever_it_fits, made=in_buckets
        ),
        "in_twos": in_buckets(lambda sizes, most: in_twos(len(sizes))),
        **by_own_name(
            not_quite_full, never_emptied, first_not_counted, first_counted_twice, made=in_buckets
        ),
    },
    adapter=judged_buckets,
    plain=lambda answer, sizes, most: judged_buckets(answer)(sizes, most),
    fallback=solutions.buckets,
    plain_python=True,
    outputs=("bucket_of",),
    locate=meaning,
    forbidden=(*LIBRARIES, "labkit.distributed.gradients.buckets"),
)
