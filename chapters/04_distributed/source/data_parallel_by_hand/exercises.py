"""The exercises of lesson data_parallel_by_hand: a shard, the mean gradient, unlike shards.

Dense: each wrong idea of a shard calls the oracle with one of its five arguments changed.
"""

from collections.abc import Sequence
from math import prod
from types import SimpleNamespace

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit.checks.phrasing import counted
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.sampler import ShardedSampler
from labkit.distributed.traffic import Together, Traffic
from labkit_lessons.distributed.data_parallel_by_hand import solutions

# --- distributed.shard


def shuffled(photographs: np.ndarray, seed: int) -> np.ndarray:
    """The order that all ranks deal from."""
    return photographs[list(ShardedSampler(len(photographs), 0, 1, seed=seed))]


def dealt(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """The numbers that one rank reads."""
    sampler = ShardedSampler(len(photographs), rank, ranks, seed=seed)
    sampler.set_epoch(epoch)
    return photographs[list(sampler)]


def each(photographs: np.ndarray, ranks: int) -> int:
    """How many photographs a rank reads: N / ranks, rounded up."""
    return -(-len(photographs) // ranks)


def in_blocks(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """As if each rank took neighbours in the order."""
    size = each(photographs, ranks)
    order = np.resize(shuffled(photographs, seed + epoch), size * ranks)
    return order[rank * size : (rank + 1) * size]


def dropped(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """As if the numbers that fill no step of all ranks were left out."""
    size = len(photographs) // ranks
    return shuffled(photographs, seed + epoch)[: size * ranks][rank::ranks]


def last_again(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """As if the last number of the order were repeated, instead of the first ones."""
    order = shuffled(photographs, seed + epoch)
    missing = each(photographs, ranks) * ranks - len(order)
    return np.append(order, np.repeat(order[-1:], missing))[rank::ranks]


def filled_up(order: np.ndarray, ranks: int) -> np.ndarray:
    """As many numbers as make whole steps of all ranks."""
    return np.resize(order, each(order, ranks) * ranks)


def wraps_once(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """As if the order began again only once."""
    order = shuffled(photographs, seed + epoch)
    return np.append(order, order[: -len(order) % ranks])[rank::ranks]


def with_zeros(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """As if photograph 0 stood at the end."""
    order = shuffled(photographs, seed + epoch)
    return np.pad(order, (0, -len(order) % ranks))[rank::ranks]


def filled_first(
    rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int
) -> np.ndarray:
    """As if the numbers were repeated before they are shuffled."""
    return shuffled(filled_up(photographs, ranks), seed + epoch)[rank::ranks]


def one_more(rank: int, ranks: int, photographs: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """As if every quotient were rounded down, and one added."""
    order = shuffled(photographs, seed + epoch)
    return np.resize(order, (len(order) // ranks + 1) * ranks)[rank::ranks]


WRONG_SHARD = SimpleNamespace(
    same_every_epoch=lambda rank, ranks, photographs, epoch, seed: dealt(
        rank, ranks, photographs, 0, seed
    ),
    seed_forgotten=lambda rank, ranks, photographs, epoch, seed: dealt(
        rank, ranks, photographs, epoch, 0
    ),
    own_order=lambda rank, ranks, photographs, epoch, seed: dealt(
        rank, ranks, photographs, epoch, seed + rank
    ),
    unshuffled=lambda rank, ranks, photographs, epoch, seed: filled_up(photographs, ranks)[
        rank::ranks
    ],
    multiplied=lambda rank, ranks, photographs, epoch, seed: dealt(
        rank, ranks, photographs, 0, seed * epoch
    ),
    by_numpy=lambda rank, ranks, photographs, epoch, seed: filled_up(
        np.random.default_rng(seed + epoch).permutation(photographs), ranks
    )[rank::ranks],
    wraps_once=wraps_once,
    with_zeros=with_zeros,
    filled_first=filled_first,
    one_more=one_more,
    places=lambda rank, ranks, photographs, epoch, seed: dealt(
        rank, ranks, np.arange(len(photographs)), epoch, seed
    ),
    unfilled=lambda rank, ranks, photographs, epoch, seed: shuffled(photographs, seed + epoch)[
        rank::ranks
    ],
    in_blocks=in_blocks,
    dropped=dropped,
    last_again=last_again,
)


def numbers(
    rng: np.random.Generator, rank: int, ranks: int, size: int, epoch: int, seed: int
) -> tuple[int, int, np.ndarray, int, int]:
    """A rank, the numbers of some photographs of a larger set, an epoch and a seed."""
    return rank, ranks, rng.permutation(10 * size)[:size] + 1, epoch, seed


shard = exercise(
    "distributed.shard",
    oracle=dealt,
    cases=cases_of(
        {
            "ten for four ranks": (1, 4, 10, 2, 5),
            "from the same number, once more": (3, 4, 18, 3, 4),  # as the call before
            "one rank": (0, 1, 7, 1, 3),
            "one photograph": (2, 3, 1, 4, 9),
            "a multiple": (3, 4, 20, 3, 1),
            "prime": (2, 3, 23, 6, 2),
            "the last rank": (7, 8, 100, 5, 8),
            "epoch 0": (1, 2, 33, 0, 11),
        },
        numbers,
    ),
    wrong=vars(WRONG_SHARD),
    dtype="int",
    forbidden=("torch.utils.data", "labkit.distributed.sampler"),
)

# --- distributed.average_gradients

Tensors = list[np.ndarray]
Gradients = Sequence[tuple[Tensors]]  # what each rank has


def tensors(rng: np.random.Generator, ranks: int, *shapes: tuple[int, ...]) -> list[tuple[Tensors]]:
    """For each rank a tensor of each shape: numbers of both signs, all different, of 14 bits."""
    size = sum(map(prod, shapes))
    drawn = rng.choice(2**14, ranks * size, replace=False) - 2**13
    found = []
    for flat in drawn.reshape(ranks, size).astype(np.float32):
        ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
        parts = [part.reshape(s) for part, s in zip(np.split(flat, ends), shapes, strict=True)]
        found.append((parts,))
    return found


def summed(inputs: Gradients) -> Tensors:
    """The sum over the ranks, tensor by tensor."""
    return [sum(parts) for parts in zip(*[gradients for (gradients,) in inputs], strict=True)]


def mean(inputs: Gradients) -> Tensors:
    """The mean over the ranks, tensor by tensor."""
    return [total / len(inputs) for total in summed(inputs)]


def own(inputs: Gradients) -> list[Tensors]:
    """Each rank's own gradients."""
    return [gradients for (gradients,) in inputs]


def from_the_start(means: Tensors) -> Tensors:
    """As if every tensor were taken from the beginning of the flat one."""
    flat = np.concatenate([one.ravel() for one in means])
    return [flat[: one.size].reshape(one.shape) for one in means]


WRONG_MEAN = SimpleNamespace(
    sums=lambda inputs: [summed(inputs)] * len(inputs),
    divided_twice=lambda inputs: [[one / len(inputs) for one in mean(inputs)]] * len(inputs),
    own=own,
    own_part=lambda inputs: [[one / len(inputs) for one in rank] for rank in own(inputs)],
    only_in_0=lambda inputs: [mean(inputs), *own(inputs)[1:]],
    of_rank_0=lambda inputs: [own(inputs)[0]] * len(inputs),
    halved=lambda inputs: [[one / 2 for one in summed(inputs)]] * len(inputs),
    from_the_start=lambda inputs: [from_the_start(mean(inputs))] * len(inputs),
    per_tensor=lambda inputs: [[one / len(own(inputs)[0]) for one in summed(inputs)]] * len(inputs),
)


def in_one_message(traffic: Traffic) -> str | None:
    """What is wrong where right means cost more than one all-reduce of all numbers."""
    tensors_each = len(traffic.inputs[0][0])
    names = [call.name for call in traffic.collectives]
    calls, most = len(names), 2 * traffic.ranks * (traffic.ranks - 1)
    if calls > 2 or names.count("all_reduce") > 1 or len(traffic.messages) > most:
        found, enough = (calls, 1) if calls else (len(traffic.messages), most)
        what = "all-reduce" if calls else "message"
        return (
            f"The result is right, but {counted(found, what)} went between the ranks for "
            f"{counted(tensors_each, 'tensor')}, where {enough} would do: each has its latency. "
            "Join all gradients to one flat tensor first."
        )
    size = sum(gradient.nbytes for gradient in traffic.inputs[0][0])
    kind = traffic.inputs[0][0][0].dtype
    number = kind.itemsize
    bound = 2 * (traffic.ranks - 1) * (size / traffic.ranks + number)  # chunks differ by one
    ways = {"messages": traffic.most_sent}
    ways |= {call.name: _sent_in(call, traffic.ranks) for call in traffic.collectives}
    way = max(ways, key=ways.get)
    if ways[way] > bound:
        return (
            f"The result is right, but one rank sends {ways[way]:,} bytes in {way}, where each "
            f"rank sends {2 * (traffic.ranks - 1) * size // traffic.ranks:,} in a ring of {kind}."
        )
    return None


def _sent_in(call: Together, ranks: int) -> int:
    """Bytes that each rank sends in a collective of PyTorch's, if it goes around a ring."""
    share = {"all_reduce": 2 * (ranks - 1) / ranks, "all_gather": ranks - 1}
    return round(share.get(call.name, 0) * call.bytes)


average_gradients = rank_exercise(
    "distributed.average_gradients",
    solution=solutions.average_gradients,
    cases=ranks_cases(
        {
            "two tensors": (2, (2,), (2, 1), (3,)),
            "one number": (3, (1, 1, 1, 1)),
            "alone": (1, (3,), (2, 2)),
            "prime": (3, (7,), (1,), (1, 2, 5, 2), (11,)),
            "a layer": (4, (5, 3), (5,), (2, 5), (2,)),
            "filters": (4, (4, 3, 3, 3), (4,), (10, 9), (10,)),
        },
        tensors,
        types={"a layer": "float64"},
        then=[((3,), (1, 2), (2,))],
    ),
    oracle=lambda inputs: [mean(inputs)] * len(inputs),
    wrong=vars(WRONG_MEAN),
    results=("means",),
    demand=in_one_message,
)

# --- distributed.weighted_average

Shards = Sequence[tuple[np.ndarray, int]]  # each rank's mean gradient, and its count


def shards(rng: np.random.Generator, ranks: int, size: int, *counts: int) -> Shards:
    """For each rank a gradient [size], all numbers different, and a count; of none, it is nan."""
    drawn = rng.permutation(2 * ranks * size + 1)[: ranks * size] - ranks * size
    found = []
    for gradient, count in zip(drawn.reshape(ranks, size), counts, strict=True):
        found.append((gradient.astype(np.float32) if count else np.full(size, np.nan, "f4"), count))
    return found


def filled(inputs: Shards) -> list[tuple[np.ndarray, int]]:
    """Of those ranks that have photographs."""
    return [(gradient, count) for gradient, count in inputs if count]


def weighted(inputs: Shards) -> np.ndarray:
    """The sum of gradient times count, over the ranks that have any."""
    return sum(gradient * np.float32(count) for gradient, count in filled(inputs))


def photographs(inputs: Shards) -> int:
    """Of all ranks."""
    return sum(count for _, count in inputs)


def everywhere(idea: object) -> object:
    """The same result in all ranks."""
    return lambda inputs: [idea(inputs)] * len(inputs)


def by_own_count(inputs: Shards) -> list[np.ndarray]:
    """As if each rank divided by its own count; by 0, it is infinite."""
    with np.errstate(all="ignore"):
        return [weighted(inputs) / np.float32(count) for _, count in inputs]


WRONG_WEIGHTS = SimpleNamespace(
    mean_of_means=everywhere(lambda inputs: sum(g for g, _ in inputs) / np.float32(len(inputs))),
    mean_of_some=everywhere(
        lambda inputs: sum(g for g, _ in filled(inputs)) / np.float32(len(filled(inputs)))
    ),
    zeros_count=everywhere(
        lambda inputs: sum(g for g, _ in filled(inputs)) / np.float32(len(inputs))
    ),
    times_nan=everywhere(
        lambda inputs: sum(g * np.float32(n) for g, n in inputs) / np.float32(photographs(inputs))
    ),
    undivided=everywhere(weighted),
    of_filled=everywhere(lambda inputs: weighted(inputs) / np.float32(len(filled(inputs)))),
    by_ranks_too=everywhere(
        lambda inputs: weighted(inputs) / np.float32(photographs(inputs) * len(inputs))
    ),
    empty_as_one=everywhere(
        lambda inputs: weighted(inputs) / np.float32(sum(max(count, 1) for _, count in inputs))
    ),
    squared=everywhere(
        lambda inputs: (
            weighted([(gradient * np.float32(n), n) for gradient, n in inputs])
            / np.float32(photographs(inputs))
        )
    ),
    nothing_for_empty=lambda inputs: [
        weighted(inputs) / np.float32(photographs(inputs)) if count else np.zeros_like(gradient)
        for gradient, count in inputs
    ],
    by_ranks=everywhere(lambda inputs: weighted(inputs) / np.float32(len(inputs))),
    sum_by_count=everywhere(
        lambda inputs: sum(g for g, _ in filled(inputs)) / np.float32(photographs(inputs))
    ),
    own_count=by_own_count,
    own_part=lambda inputs: [
        gradient * np.float32(count / photographs(inputs)) if count else np.zeros_like(gradient)
        for gradient, count in inputs
    ],
)

weighted_average = rank_exercise(
    "distributed.weighted_average",
    solution=solutions.weighted_average,
    cases=ranks_cases(
        {
            "three and one": (2, 5, 3, 1),
            "one number": (2, 1, 2, 5),
            "alone": (1, 3, 4),
            "prime": (3, 7, 1, 6, 4),
            "an empty rank": (3, 1, 5, 0, 2),
            "equal shards, the last one empty": (4, 6, 3, 3, 3, 0),  # its nan are all equal
            "equal shards, the first one empty": (3, 4, 0, 7, 7),
            "ragged": (4, 33, 40_000, 30_000, 2, 1),  # more in all than 16 bits hold
        },
        shards,
        types={"prime": "float64"},
        then=[(5, 2, 4)],
    ),
    oracle=everywhere(lambda inputs: weighted(inputs) / np.float32(photographs(inputs))),
    wrong=vars(WRONG_WEIGHTS),
)

EXERCISES = [shard, average_gradients, weighted_average]
