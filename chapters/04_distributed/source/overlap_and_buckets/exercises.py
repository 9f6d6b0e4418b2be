"""The exercises of lesson overlap_and_buckets: buckets, accumulation, and an overlapped step."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from labkit.checks.items import Refused, TooDear, Unsolved, Unsteady, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.buckets import assign
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic
from labkit_lessons.distributed.overlap_and_buckets import solutions
from labkit_lessons.distributed.overlap_and_buckets.order_of_calls import Calls

# --- distributed.buckets


def bucket_of(buckets: Sequence[Sequence[int]], count: int) -> np.ndarray:
    """The number of each weight's bucket, for weights 0 to count - 1."""
    numbers = np.full(count, -1)
    for number, bucket in enumerate(buckets):
        numbers[list(bucket)] = number
    return numbers


def examined(result: Any, count: int) -> np.ndarray:
    """The same of what a learner's function gave; Refused where these are no buckets."""
    if result is None or (isinstance(result, list) and result in ([], [[]])):
        raise Unsolved("no parameter is in a bucket")
    kinds = list | tuple | np.ndarray
    if not isinstance(result, kinds) or not all(isinstance(one, kinds) for one in result):
        raise Refused("The result is a list of lists, such as [[3, 2], [1], [0]].")
    result = [list(one) for one in result]
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
    """Different sizes in bytes, from 1 to the largest."""
    return 1 + rng.permutation(largest)[:count], most


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
        {"one parameter": (1, 8, 10), "some too large": (5, 12, 6), "prime": (7, 12, 25)}
        | {"ragged": (11, 50, 40), "exactly full": (8, 0, 30), "all in one": (6, 20, 1000)}
        | {"many": (60, 100, 150), "equal sizes": (13, -1, 9)},
        sizes_of,
    ),
    wrong={
        "forwards": in_buckets(forwards),
        "one_each": in_buckets(one_each),
        "goes_beyond": in_buckets(goes_beyond),
        "large_ones_join": in_buckets(large_ones_join),
        "wherever_it_fits": in_buckets(wherever_it_fits),
        "in_twos": in_buckets(lambda sizes, most: in_twos(len(sizes))),
        "not_quite_full": in_buckets(not_quite_full),
        "never_emptied": in_buckets(never_emptied),
        "first_not_counted": in_buckets(first_not_counted),
    },
    adapter=judged_buckets,
    plain=lambda answer, sizes, most: judged_buckets(answer)(sizes, most),
    fallback=solutions.buckets,
    plain_python=True,
    outputs=("bucket_of",),
    locate=meaning,
    forbidden=(*LIBRARIES, "labkit.distributed.buckets"),
)

# --- distributed.overlapped


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

    def judged(
        gradients: np.ndarray, others: np.ndarray, buckets: list[list[int]], order: np.ndarray
    ) -> np.ndarray:
        calls = Calls(gradients, others, buckets, order)
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
                raise TooDear(calls.fault)
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

# --- distributed.accumulate


def gradient(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the mean over a batch of (x w - y)^2 / 2: x^T (x w - y) / b."""
    return x.T @ (x @ w - y) / len(y)


def big_batch(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of all micro-batches of all ranks together, in every rank."""
    w = by_rank[0][0]
    width = len(w)
    x = np.concatenate([x.reshape(-1, width) for _, x, _ in by_rank])
    y = np.concatenate([y.reshape(-1) for _, _, y in by_rank])
    return [gradient(w, x, y)] * len(by_rank)


def each_alone(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of each rank's own micro-batches."""
    return [big_batch([one])[0] for one in by_rank]


def last_alone(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of the last micro-batch of every rank."""
    return big_batch([(w, x[-1:], y[-1:]) for w, x, y in by_rank])


def without(left_out: int) -> Callable:
    """The gradient without one micro-batch of every rank, divided by the number of all."""

    def kept(by_rank: Sequence[tuple]) -> list[np.ndarray]:
        steps = len(by_rank[0][1])
        if steps == 1:
            return [0 * w for w, _, _ in by_rank]
        fewer = [
            (w, np.delete(x, left_out, axis=0), np.delete(y, left_out, axis=0))
            for w, x, y in by_rank
        ]
        return [(steps - 1) / steps * one for one in big_batch(fewer)]

    return kept


def times(factor: Callable[[int, int], float]) -> Callable:
    """The right gradient times factor(ranks, micro-batches)."""

    def scaled(by_rank: Sequence[tuple]) -> list[np.ndarray]:
        ranks, steps = len(by_rank), len(by_rank[0][1])
        return [factor(ranks, steps) * one for one in big_batch(by_rank)]

    return scaled


def micro_batches(
    rng: np.random.Generator, ranks: int, steps: int, images: int, width: int
) -> list[tuple]:
    """w[D], the same in all ranks; x[k, b, D] and y[k, b] of each."""
    w = rng.normal(size=width).astype("f4")
    by_rank = []
    for _ in range(ranks):
        x = rng.normal(size=(steps, images, width)).astype("f4")
        y = rng.normal(size=(steps, images)).astype("f4")
        by_rank.append((w, x, y))
    return by_rank


def once(traffic: Traffic) -> str | None:
    """What travels more often than it has to."""
    weights, images, _ = traffic.inputs[0]
    size = weights.nbytes
    sums = sum(one.bytes for one in traffic.collectives)
    sent = traffic.bytes + 2 * (traffic.ranks - 1) * sums  # as if each sum were a ring's
    if sent > 2 * (traffic.ranks - 1) * size:
        return (
            f"the gradient is right, but {sent / (2 * (traffic.ranks - 1) * size):.3g} times the "
            f"bytes of one all-reduce travel, for {len(images)} micro-batches. One is enough."
        )
    return None


accumulate = rank_exercise(
    "distributed.accumulate",
    solution=solutions.accumulate,
    oracle=big_batch,
    cases=ranks_cases(
        {"all sizes 1": (1, 1, 1, 1), "one micro-batch": (2, 1, 3, 5), "prime": (2, 3, 5, 7)}
        | {"ragged": (3, 4, 2, 3), "many": (2, 8, 4, 10)},
        micro_batches,
        types={"ragged": "float64"},
    ),
    wrong={
        "not_over_ranks": each_alone,
        "only_the_last": last_alone,
        "first_left_out": without(0),
        "last_left_out": without(-1),
        "by_images": lambda by_rank: [
            len(by_rank[0][1]) / by_rank[0][1].shape[1] * one for one in big_batch(by_rank)
        ],
        "times_ranks": times(lambda ranks, steps: ranks * ranks),
        "not_scaled": times(lambda ranks, steps: steps),
        "not_averaged": times(lambda ranks, steps: ranks),
        "neither": times(lambda ranks, steps: ranks * steps),
        "scaled_twice": times(lambda ranks, steps: 1 / steps),
    },
    demand=once,
    forbidden=("labkit.distributed.data_parallel", "labkit.distributed.ddp"),
)

EXERCISES = [buckets, accumulate, overlapped]
