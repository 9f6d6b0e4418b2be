"""A whole exercise whose answer runs in ranks, as CONTRIBUTING.md explains it: x goes around."""

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.messages import exchange


def to_the_right(rank, ranks, x):
    """The left neighbour's x; in a lesson it comes from its source, as `solutions.pass_on`."""
    received = x.clone()
    if ranks > 1:
        exchange(x, (rank + 1) % ranks, received, (rank - 1) % ranks)
    return received


def tokens(rng: np.random.Generator, ranks: int, n: int) -> list[tuple]:
    """x[n] of both signs, for each rank: a tuple of what its function gets."""
    return [(rng.normal(size=n).astype("f4"),) for _ in range(ranks)]


def more_than_once(traffic):
    if traffic.most_sent > traffic.inputs[0][0].nbytes:
        return "The result is right, but a rank sends more than its own numbers once."


pass_on = rank_exercise(
    "distributed.pass_on",
    solution=to_the_right,
    cases=ranks_cases(  # ranks, and what `tokens` gets behind them
        {"one number": (1, 1), "two": (2, 1), "prime": (3, 7), "empty": (3, 0), "four": (4, 33)},
        tokens,
    ),
    oracle=lambda inputs: [inputs[rank - 1][0] for rank in range(len(inputs))],
    wrong={
        "own": lambda inputs: [x for (x,) in inputs],
        "to_the_left": lambda inputs: [
            inputs[(r + 1) % len(inputs)][0] for r in range(len(inputs))
        ],
    },
    demand=more_than_once,
    forbidden=("torch.distributed.all_gather", "labkit.distributed.collectives"),
)

EXERCISES = [pass_on]
