"""The exercises of lesson unlike_machines: a split, one all-reduce for all, the best group."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.checks.phrasing import counted
from labkit.distributed.exercises.solutions import unlike_machines as solutions
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic
from labkit.distributed.unlike_machines import groups_of

# --- distributed.split_batch


def speeds_of(rng: np.random.Generator, machines: int, batch: int, kind: str) -> tuple:
    """Speeds [machines] whose remainders differ, unless the kind says otherwise."""
    if kind == "equal":
        return np.full(machines, 2.0 ** rng.integers(-2, 8)), batch
    if kind == "exact":  # speeds that add up to the batch: nothing is left
        cuts = 1 + rng.permutation(batch - 1)[: machines - 1]
        return np.diff([0, *sorted(cuts), batch]).astype(float), batch
    while True:
        speeds = np.round(rng.uniform(10, 400, machines), 1)
        if kind == "one stands":
            speeds[rng.integers(machines)] = 0
        parts = np.sort(batch * speeds[speeds > 0] / speeds.sum() % 1)
        apart = np.diff(parts, prepend=0.0, append=1.0).min() > 1e-4
        if machines == 1 or (apart and len(np.unique(speeds)) == machines):
            return speeds, batch


def handed_out(
    order: Callable[[np.ndarray, np.ndarray], np.ndarray],
    shares: Callable[[np.ndarray, int], np.ndarray] = lambda s, batch: batch * s / s.sum(),
) -> Callable[[np.ndarray, int], np.ndarray]:
    """A split that rounds shares down, and gives what is left to order(remainders, speeds)."""

    def split(speeds: np.ndarray, batch: int) -> np.ndarray:
        parts = shares(speeds, batch)
        counts = np.floor(parts).astype(int)
        left = batch - counts.sum()
        counts[order(parts - counts, speeds)[:left]] += 1
        return counts

    return split


def largest_first(remainders: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Places, the largest remainder first; of equal ones, the first."""
    return np.argsort(-remainders, kind="stable")


def in_proportion_to_seconds(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if speeds were seconds for a photograph; who stands gets nothing."""
    inverse = np.divide(1.0, speeds, out=np.zeros_like(speeds), where=speeds > 0)
    return batch * inverse / inverse.sum()


def all_to_one(speeds: np.ndarray, batch: int) -> np.ndarray:
    """What is left goes to the fastest, all of it."""
    counts = np.floor(batch * speeds / speeds.sum()).astype(int)
    counts[speeds.argmax()] += batch - counts.sum()
    return counts


split_batch = exercise(
    "distributed.split_batch",
    oracle=handed_out(largest_first),
    cases=cases_of(
        {
            "three machines": (3, 16, ""),
            "one machine": (1, 1, ""),
            "prime": (7, 101, ""),
            "equal speeds": (5, 64, "equal"),
            "one stands": (4, 50, "one stands"),
            "nothing is left": (4, 40, "exact"),
            "more machines than photographs": (9, 5, ""),
            "ragged": (6, 64, ""),
            "many": (40, 1000, ""),
        },
        speeds_of,
    ),
    wrong={
        "left_over": lambda s, batch: np.floor(batch * s / s.sum()).astype(int),
        "rounded": lambda s, batch: np.round(batch * s / s.sum()).astype(int),
        "rounded_up": lambda s, batch: np.ceil(batch * s / s.sum()).astype(int),
        "equal_shares": lambda s, batch: handed_out(largest_first)(np.ones_like(s), batch),
        "to_the_first": handed_out(lambda remainders, s: np.arange(len(s))),
        "to_the_fastest": handed_out(lambda remainders, s: np.argsort(-s, kind="stable")),
        "all_to_one": all_to_one,
        "smallest_remainder": handed_out(lambda r, s: np.argsort(r, kind="stable")),
        "last_of_equal": handed_out(lambda r, s: np.argsort(r, kind="stable")[::-1]),
        "seconds": handed_out(largest_first, in_proportion_to_seconds),
    },
    dtype="int",
    forbidden=(*LIBRARIES, "labkit.distributed.unlike_machines"),
)

# --- distributed.gradient_and_speeds

Shards = Sequence[tuple[np.ndarray, int, float, int]]  # of each rank: gradient, count, seconds, all


def shards(rng: np.random.Generator, ranks: int, size: int, *counts: int) -> Shards:
    """For each rank a gradient [size], its count and its seconds, and the count of all."""
    drawn = rng.permutation(2 * ranks * size + 1)[: ranks * size] - ranks * size
    seconds = rng.permutation(np.arange(1, 8))[:ranks] / 16
    found = []
    for rank, gradient in enumerate(drawn.reshape(ranks, size).astype(np.float32)):
        found.append((gradient, counts[rank], float(seconds[rank]), sum(counts)))
    return found


def gradient_of_all(inputs: Shards, weight: Callable[[int, int], float]) -> np.ndarray:
    """The sum of weight(count, batch) times gradient."""
    return sum(gradient * np.float32(weight(n, batch)) for gradient, n, _, batch in inputs)


def outcome(
    weight: Callable[[int, int], float] | None = lambda count, batch: count / batch,
    speed: Callable[[int, float], float] = lambda count, seconds: count / seconds,
) -> Callable[[Shards], list[tuple[np.ndarray, np.ndarray]]]:
    """What all ranks return; a weight of None is that of the plain mean."""

    def both(inputs: Shards) -> list[tuple[np.ndarray, np.ndarray]]:
        ranks = len(inputs)
        mean = gradient_of_all(inputs, weight or (lambda count, batch: 1 / ranks))
        speeds = np.array([speed(n, seconds) for _, n, seconds, _ in inputs], "f4")
        return [(mean, speeds)] * ranks

    return both


def with_speeds(change: Callable[[np.ndarray, int], np.ndarray]) -> Callable[[Shards], list]:
    """The right gradient, and change(speeds, rank)."""

    def both(inputs: Shards) -> list[tuple[np.ndarray, np.ndarray]]:
        right = outcome()(inputs)
        return [(mean, change(speeds, rank)) for rank, (mean, speeds) in enumerate(right)]

    return both


def own_alone(speeds: np.ndarray, rank: int) -> np.ndarray:
    """The others' places stay 0."""
    return np.where(np.arange(len(speeds)) == rank, speeds, 0)


def all_in_one_all_reduce(traffic: Traffic) -> str | None:
    """What is wrong where right results take more than one all-reduce."""
    if traffic.ranks == 1:
        return None
    around = 2 * (traffic.ranks - 1)  # messages of each rank in a ring
    by_rank = [sum(m.source == rank for m in traffic.messages) for rank in range(traffic.ranks)]
    calls = len(traffic.collectives) + -(-max(by_rank) // around)
    if calls > 1:
        return (
            f"The result is right, but it takes {counted(calls, 'all-reduce')}: let the speeds "
            "travel behind the gradient, in one tensor."
        )
    return None


gradient_and_speeds = rank_exercise(
    "distributed.gradient_and_speeds",
    solution=solutions.gradient_and_speeds,
    cases=ranks_cases(
        {
            "three and one": (2, 5, 3, 1),
            "one number": (1, 1, 1),
            "fewer numbers than ranks": (3, 1, 2, 5, 4),
            "prime": (3, 7, 1, 6, 4),
            "equal shards": (2, 4, 3, 3),
            "ragged": (4, 33, 20, 19, 20, 5),
        },
        shards,
    ),
    oracle=outcome(),
    wrong={
        "plain_mean": outcome(weight=None),
        "unweighted": outcome(weight=lambda count, batch: 1),
        "undivided": outcome(weight=lambda count, batch: count),
        "inverse_weight": outcome(weight=lambda count, batch: batch / count),
        "seconds_each": outcome(speed=lambda count, seconds: seconds / count),
        "only_seconds": outcome(speed=lambda count, seconds: seconds),
        "only_counts": outcome(speed=lambda count, seconds: count),
        "own_alone": with_speeds(own_alone),
        "all_alike": with_speeds(lambda speeds, rank: np.full_like(speeds, speeds.sum())),
        "mean_speeds": with_speeds(lambda speeds, rank: speeds / np.float32(len(speeds))),
        "own_share": lambda inputs: [
            (gradient * np.float32(n / batch), outcome()(inputs)[0][1])
            for gradient, n, _, batch in inputs
        ],
    },
    results=("gradient", "speeds"),
    demand=all_in_one_all_reduce,
    forbidden=("labkit.distributed.unlike_training", "labkit.distributed.data_parallel"),
)

# --- distributed.best_group

GAP = 1.02  # how many times as long the second best group takes, at least


@cache
def all_groups(machines: int) -> np.ndarray:
    """[groups, machines]: 1 where a machine is in a group; small groups first."""
    return np.array([marked(group, machines) for group in groups_of(machines)])


def compute_of(groups: np.ndarray, a: np.ndarray, f: np.ndarray, batch: int) -> np.ndarray:
    """Of each group [groups, machines]: seconds until all are done at the same moment.

    a, f   of each machine: seconds for a photograph, and fixed ones
    """
    return (batch + groups @ (f / a)) / (groups @ (1 / a))


def shared(groups: np.ndarray, a: np.ndarray, batch: int) -> np.ndarray:
    """Seconds until a group has done the batch, without anything fixed."""
    return batch / (groups @ (1 / a))


def equal_seconds(groups: np.ndarray, a: np.ndarray, f: np.ndarray, batch: int) -> np.ndarray:
    """Of each machine in each group, with equal shares; 0 outside of the group."""
    return groups * (f + a * batch / _sizes(groups)[:, None])


def _sizes(groups: np.ndarray) -> np.ndarray:
    return groups.sum(axis=1)


# Wrong ideas of `compute_of`.
COMPUTES: dict[str, Callable[..., np.ndarray]] = {
    "no_fixed": lambda groups, a, f, batch: shared(groups, a, batch),
    "largest_fixed": lambda groups, a, f, batch: (groups * f).max(1) + shared(groups, a, batch),
    "mean_fixed": lambda groups, a, f, batch: (
        groups @ f / _sizes(groups) + shared(groups, a, batch)
    ),
    "sum_fixed": lambda groups, a, f, batch: groups @ f + shared(groups, a, batch),
    "equal_shares": lambda groups, a, f, batch: equal_seconds(groups, a, f, batch).max(axis=1),
    "mean_machine": lambda groups, a, f, batch: (
        equal_seconds(groups, a, f, batch).sum(axis=1) / _sizes(groups)
    ),
    "not_shared": lambda groups, a, f, batch: (groups * (f + a * batch)).max(axis=1),
    "minus_fixed": lambda groups, a, f, batch: (batch - groups @ (f / a)) / (groups @ (1 / a)),
}


def steps_of(
    compute: Callable[..., np.ndarray],
    per_photo: np.ndarray,
    fixed: np.ndarray,
    messages: np.ndarray,
    batch: int,
) -> np.ndarray:
    """Seconds of a step of each group."""
    groups = all_groups(len(per_photo))
    return compute(groups, per_photo, fixed, batch) + messages[_sizes(groups) - 1]


def taking_part(compute: Callable[..., np.ndarray], by_messages: float = 1.0) -> Callable:
    """An oracle or a wrong idea: 1 for each machine of the best group, 0 for the others."""

    def best(
        per_photo: np.ndarray, fixed: np.ndarray, messages: np.ndarray, batch: int
    ) -> np.ndarray:
        seconds = steps_of(compute, per_photo, fixed, by_messages * messages, batch)
        return all_groups(len(per_photo))[seconds.argmin()]

    return best


def machines_of(rng: np.random.Generator, machines: int, size: int, fooled: str = "") -> tuple:
    """Seconds of machines and of messages, so that the best group has this size, and clearly.

    fooled   one of `COMPUTES`, which gives another group here than the right one, and than all
             ideas before it
    """
    sizes = _sizes(all_groups(machines))
    before = list(COMPUTES)[: list(COMPUTES).index(fooled)] if fooled else []
    while True:
        args = _drawn(rng, machines)
        best, *others = np.argsort(seconds := steps_of(compute_of, *args))
        clear = not others or seconds[others[0]] > GAP * seconds[best]
        first_alone = machines > 2 and best == 0
        if sizes[best] != size or first_alone or not clear:
            continue
        found = {name: steps_of(COMPUTES[name], *args).argmin() for name in before}
        if not fooled or steps_of(COMPUTES[fooled], *args).argmin() not in (best, *found.values()):
            return args


def _drawn(rng: np.random.Generator, machines: int) -> tuple:
    per_photo = rng.uniform(1e-3, 8e-3, machines)
    fixed = rng.uniform(1e-3, 40e-3, machines)
    latency, share = rng.uniform(0.2e-3, 6e-3, 2)
    ranks = np.arange(1, machines + 1)
    messages = 2 * (ranks - 1) * (latency + share / ranks)
    return per_photo, fixed, messages, int(rng.integers(8, 200))


def marked(places: Sequence[int], machines: int) -> np.ndarray:
    """1 at the places, and 0 elsewhere."""
    found = np.zeros(machines, dtype=int)
    found[list(places)] = 1
    return found


def examined(result: Any, machines: int) -> np.ndarray:
    """The same of what a learner's function gave; Refused where these are no places."""
    if result is None:
        raise Unsolved("the function returns None")
    try:
        places = [int(place) for place in result]
    except (TypeError, ValueError):
        raise Refused("The result is a group: the places of its machines, as in (0, 2).") from None
    if not places or len(set(places)) < len(places):
        raise Refused(f"The group is {tuple(places)}: it names machines, and each of them once.")
    if not all(0 <= place < machines for place in places):
        raise Refused(f"The group is {tuple(places)}, and there are machines 0 to {machines - 1}.")
    return marked(places, machines)


def judged_group(answer: object) -> Callable:
    """A function of the inputs that puts the learner's group into a form to compare."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(per_photo: np.ndarray, *others: Any) -> np.ndarray:
        machines = len(per_photo)
        return examined(answer(per_photo, *others), machines)

    return judged


def meaning(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """What the first wrong number says."""
    per_photo, fixed, messages, batch = args
    rows = zip(1e3 * per_photo, 1e3 * fixed, strict=True)
    shown = "; ".join(f"{each:.2g} ms each, {once:.2g} ms fixed" for each, once in rows)
    travel = ", ".join(f"{1e3 * one:.2g}" for one in messages)
    return [
        f"`takes_part[{index[0]}]` is 1 if machine {index[0]} is in the group. The machines need "
        f"{shown}. An all-reduce among 1, 2, ... of them takes {travel} ms; the batch is {batch}."
    ]


best_group = exercise(
    "distributed.best_group",
    oracle=taking_part(compute_of),
    cases=cases_of(
        {
            "two of three": (3, 2),
            "one machine": (1, 1),
            "two alone": (2, 1),
            "both": (2, 2),
            "one of four": (4, 1, "no_fixed"),
            "three of five": (5, 3, "largest_fixed"),
            "two of five": (5, 2, "mean_fixed"),
            "four of six": (6, 4, "sum_fixed"),
            "three of four": (4, 3, "equal_shares"),
            "three of six": (6, 3, "mean_machine"),
            "two of six": (6, 2, "not_shared"),
            "two of four": (4, 2, "minus_fixed"),
        },
        machines_of,
    ),
    wrong={
        "first": lambda per_photo, *_: marked([0], len(per_photo)),
        "everyone": lambda per_photo, *_: marked(range(len(per_photo)), len(per_photo)),
        "no_messages": taking_part(compute_of, by_messages=0.0),
        **{name: taking_part(compute) for name, compute in COMPUTES.items()},
    },
    adapter=judged_group,
    plain=lambda answer, *args: judged_group(answer)(*args),
    fallback=solutions.best_group,
    plain_python=True,
    outputs=("takes_part",),
    locate=meaning,
    forbidden=(
        *LIBRARIES,
        "labkit.distributed.unlike_machines.balanced_seconds",
        "labkit.distributed.unlike_machines.balanced_step",
        "labkit.distributed.unlike_machines.best_places",
    ),
)

EXERCISES = [split_batch, gradient_and_speeds, best_group]
