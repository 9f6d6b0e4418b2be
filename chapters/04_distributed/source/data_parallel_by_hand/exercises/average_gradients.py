"""Exercise distributed.average_gradients: the mean of many tensors, with one all-reduce.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import CollectiveCall, Traffic
from labkit_lessons.distributed.data_parallel_by_hand import solutions

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


WRONG_MEAN = dict(
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


def _sent_in(call: CollectiveCall, ranks: int) -> int:
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
    wrong=WRONG_MEAN,
    results=("means",),
    demand=in_one_message,
)
