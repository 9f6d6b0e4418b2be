"""Exercises in real ranks: a ring, a broadcast, a sum by a master."""

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import Traffic
from labkit_lessons.distributed.processes_and_collectives import solutions

ByRank = Sequence[tuple[np.ndarray]]
Results = list[np.ndarray]
# The exercises ask for `send` and `receive` of labkit, which `recorded` counts.
READY_MADE = ("torch.distributed", "labkit.distributed.collectives")


def tensors(rng: np.random.Generator, ranks: int, *shape: int) -> list[tuple[np.ndarray]]:
    """For each rank its x: quarters of both signs, all different, whose sums are exact."""
    size = int(np.prod(shape, dtype=int))
    numbers = rng.permutation(2 * ranks * size + 1)[: ranks * size] - ranks * size
    parts = (numbers.reshape(ranks, *shape) / 4).astype(np.float32)
    return [(part,) for part in parts]


def own(inputs: ByRank) -> Results:
    """Each rank's own x."""
    return [x for (x,) in inputs]


def of_rank(inputs: ByRank, sources: Sequence[int]) -> Results:
    """For each rank the x of another one."""
    return [inputs[source][0] for source in sources]


def needless(count: int, enough: int) -> str:
    """The sentence for more messages than needed."""
    return (
        f"The result is right, but {counted(count, 'message')} went between "
        f"the ranks, where {enough} would do."
    )


# --- distributed.pass_on


def once_around(traffic: Traffic) -> str | None:
    """What is wrong where the tensors went another way than once around the ring."""
    for message in traffic.messages:
        if message.target != (message.source + 1) % traffic.ranks:
            return (
                f"The result is right, but rank {message.source} sends to rank {message.target}: "
                "in the ring, each rank sends to the next one only."
            )
    if len(traffic.messages) > traffic.ranks:
        return needless(len(traffic.messages), traffic.ranks)
    return None


pass_on = rank_exercise(
    "distributed.pass_on",
    solution=solutions.pass_on,
    cases=ranks_cases(
        {
            "two numbers each": (2, 2),
            "one number each": (3, 1, 1),
            "a prime number": (3, 7),
            "a matrix": (2, 3, 5),
            "ragged": (4, 11, 3),
        },
        tensors,
        types={"a prime number": "int64", "a matrix": "float64"},
    ),
    oracle=lambda inputs: own(inputs)[-1:] + own(inputs)[:-1],
    wrong={
        "other_way": lambda inputs: own(inputs)[1:] + own(inputs)[:1],
        "own": own,
        "from_rank_0": lambda inputs: of_rank(inputs, [0] * len(inputs)),
        "pairs": lambda inputs: of_rank(
            inputs, [min(rank ^ 1, len(inputs) - 1) for rank in range(len(inputs))]
        ),
        "open_ring": lambda inputs: own(inputs)[:1] + own(inputs)[:-1],
        "empty_room": lambda inputs: [0 * x for x in own(inputs)],
        "empty_room_but_0": lambda inputs: [
            inputs[0][0] if rank == 1 else 0 * x for rank, x in enumerate(own(inputs))
        ],
        "added": lambda inputs: [x + inputs[rank - 1][0] for rank, (x,) in enumerate(inputs)],
        "two_on": lambda inputs: own(inputs)[-2:] + own(inputs)[:-2],
    },
    demand=once_around,
    forbidden=READY_MADE,
)

# --- distributed.broadcast


def in_rounds(traffic: Traffic) -> str | None:
    """What is wrong where a broadcast takes more messages, or more rounds, than the tree."""
    enough = traffic.ranks - 1
    if len(traffic.messages) > enough:
        return needless(len(traffic.messages), enough)
    rounds = enough.bit_length()  # the first power of two from `ranks` on
    if traffic.steps > rounds:
        return (
            f"The result is right, but {traffic.steps} messages have to go one after the other, "
            f"where {counted(rounds, 'round')} would do: let every rank that has the tensor send."
        )
    return None


def sum_of_all(inputs: ByRank) -> np.ndarray:
    """The sum over the ranks."""
    return reduce(add, own(inputs))


def is_power(number: int) -> bool:
    """Whether a number is 1, 2, 4 and so on."""
    return number > 0 and number & (number - 1) == 0


def power_above(ranks: int) -> int:
    """The first power of two that is no less than the number of ranks."""
    return 1 << (ranks - 1).bit_length()


def on_the_way(rank: int) -> list[int]:
    """The ranks that rank 0's tensor has gone through when it comes to this one, itself too."""
    kept = [rank & ((1 << bits) - 1) for bits in range(rank.bit_length() + 1)]
    return sorted(set(kept))


WRONG_BROADCAST = dict(
    own=own,
    first_round=lambda inputs: of_rank(inputs, [0, 0, *range(2, len(inputs))][: len(inputs)]),
    two_rounds=lambda inputs: of_rank(inputs, [0, 0, 0, 0, *range(4, len(inputs))][: len(inputs)]),
    powers=lambda inputs: of_rank(
        inputs, [0 if is_power(rank) else rank for rank in range(len(inputs))]
    ),
    before_it=lambda inputs: own(inputs)[:1] + own(inputs)[:-1],
    last_round_missing=lambda inputs: of_rank(
        inputs, [0 if 2 * rank < power_above(len(inputs)) else rank for rank in range(len(inputs))]
    ),
    from_step_2=lambda inputs: of_rank(inputs, [rank % 2 for rank in range(len(inputs))]),
    added=lambda inputs: [
        sum(own(inputs)[one] for one in on_the_way(rank)) for rank in range(len(inputs))
    ],
    passes_x_on=lambda inputs: of_rank(inputs, [0, 0, 0, 1, 0][: len(inputs)]),
    last=lambda inputs: of_rank(inputs, [-1] * len(inputs)),
    sums=lambda inputs: [sum_of_all(inputs)] * len(inputs),
)

broadcast = rank_exercise(
    "distributed.broadcast",
    solution=solutions.broadcast,
    cases=ranks_cases(
        {
            "two numbers each": (2, 2),
            "one number each": (3, 1, 1),
            "a prime number": (4, 7),
            "alone": (1, 5, 2),
            "a matrix": (3, 3, 5),
            "three rounds": (5, 3),
        },
        tensors,
        types={"a prime number": "int64", "a matrix": "float64"},
    ),
    oracle=lambda inputs: of_rank(inputs, [0] * len(inputs)),
    wrong=WRONG_BROADCAST,
    demand=in_rounds,
    forbidden=READY_MADE,
)

# --- distributed.gather_all_reduce


def through_the_master(traffic: Traffic) -> str | None:
    """What is wrong where the messages are others than 2 (n - 1) to and from rank 0."""
    for message in traffic.messages:
        if 0 not in (message.source, message.target):
            return (
                f"The result is right, but rank {message.source} sends to rank {message.target}: "
                "here each message goes to or from rank 0."
            )
    enough = 2 * (traffic.ranks - 1)
    if len(traffic.messages) > enough:
        return needless(len(traffic.messages), enough)
    return None


def without(inputs: ByRank, *ranks: int) -> np.ndarray:
    """The sum over all ranks but some."""
    kept = [pair for rank, pair in enumerate(inputs) if rank not in ranks]
    return sum_of_all(kept) if kept else np.zeros_like(inputs[0][0])


WRONG_SUM = dict(
    rank_0_out=lambda inputs: [sum_of_all(inputs), *of_rank(inputs, [0] * (len(inputs) - 1))],
    without_0=lambda inputs: [without(inputs, 0)] * len(inputs),
    last_to_all=lambda inputs: [sum_of_all(inputs), *of_rank(inputs, [-1] * (len(inputs) - 1))],
    last_of_all=lambda inputs: of_rank(inputs, [-1] * len(inputs)),
    first_and_last=lambda inputs: [without(inputs, *range(1, len(inputs) - 1))] * len(inputs),
    averaged=lambda inputs: [sum_of_all(inputs) / len(inputs)] * len(inputs),
    subtracted=lambda inputs: [inputs[0][0] - without(inputs, 0)] * len(inputs),
    largest=lambda inputs: [np.max(own(inputs), axis=0)] * len(inputs),
    own_each_time=lambda inputs: (
        [sum_of_all(inputs) + (len(inputs) - 1) * inputs[0][0]] * len(inputs)
    ),
    part_sums=lambda inputs: [
        sum_of_all(inputs),
        *(sum_of_all(inputs[: rank + 1]) for rank in range(1, len(inputs))),
    ],
)

gather_all_reduce = rank_exercise(
    "distributed.gather_all_reduce",
    solution=solutions.gather_all_reduce,
    cases=ranks_cases(
        {
            "two numbers each": (2, 2),
            "one number each": (3, 1, 1),
            "a prime number": (4, 7),
            "alone": (1, 5, 2),
            "a matrix": (3, 3, 5),
            "nothing": (2, 0),
        },
        tensors,
        types={"a prime number": "int64", "a matrix": "float64"},
    ),
    oracle=lambda inputs: [sum_of_all(inputs)] * len(inputs),
    wrong=WRONG_SUM,
    demand=through_the_master,
    forbidden=READY_MADE,
)
