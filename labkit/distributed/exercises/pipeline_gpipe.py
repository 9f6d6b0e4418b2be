"""Exercise distributed.gpipe_stage: the backwards of a stage, in real ranks with real messages."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from labkit.distributed.exercises.solutions import pipeline as solutions
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic

Stages = Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]  # of each rank: w, x, target


def layers(
    rng: np.random.Generator, ranks: int, count: int, rows: int, *widths: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """w[I,O] of each rank, x[m,n,D] and target[m,n,E]; only two of these count."""
    given = []
    for wide, narrow in pairwise(widths):
        w = rng.normal(size=(wide, narrow))
        x = rng.normal(size=(count, rows, widths[0]))
        target = rng.normal(size=(count, rows, widths[-1]))
        given.append(tuple(one.astype("f4") for one in (w, x, target)))
    return given


def by_hand(
    given: Stages,
    errors: Callable[[np.ndarray, np.ndarray], np.ndarray],
    back: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda dy, w: dy @ w.T,
) -> list[np.ndarray]:
    """dw of every stage: forward through all, and backward.

    errors   errors(y, target) -> dy of the last stage, all [m,n,E]
    back     back(dy, w) -> dx, the gradient by the input of a stage
    """
    kept = []
    a = given[0][1].astype("f8")
    for w, _, _ in given:
        kept.append(a)
        a = a @ w
    dy = errors(a, given[-1][2])
    found = []
    for (w, _, _), one in zip(reversed(given), reversed(kept), strict=True):
        found.append(np.einsum("mni,mno->io", one, dy))
        dy = back(dy, w)
    return found[::-1]


def mean_error(y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of the mean over all rows of |y - target|^2 / 2."""
    return (y - target) / (y.shape[0] * y.shape[1])


def only(part: slice) -> Callable:
    """As if only some micro-batches had a gradient."""

    def error(y: np.ndarray, target: np.ndarray) -> np.ndarray:
        dy = np.zeros_like(y)
        dy[part] = mean_error(y, target)[part]
        return dy

    return error


def scaled(factor: Callable[[int], float]) -> Callable:
    """As if dy were factor(m) times as large."""
    return lambda y, target: factor(len(y)) * mean_error(y, target)


def divided_by(count: Callable[[int, int, int], int]) -> Callable:
    """As if the loss were the sum divided by count(m, n, E)."""
    return lambda y, target: (y - target) / count(*y.shape)


def where_square(back: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable:
    """As if dx were back(dy, w), where that has the right width."""
    return lambda dy, w: back(dy, w) if w.shape[0] == w.shape[1] else dy @ w.T


def neighbours_only(traffic: Traffic) -> str | None:
    """What is wrong with the messages of a stage whose gradient is right."""
    x = traffic.inputs[0][1]
    count, ranks = len(x), traffic.ranks
    wanted = {}
    for rank in range(ranks - 1):
        size = traffic.inputs[rank][0].shape[1] * x.shape[1] * 4
        wanted[rank, rank + 1] = wanted[rank + 1, rank] = [size] * count
    sent: dict[tuple[int, int], list[int]] = {}
    for message in traffic.messages:
        sent.setdefault((message.source, message.target), []).append(message.bytes)
    for link in wanted | sent:
        right = wanted.get(link, [])
        if sent.get(link, []) != right:
            source, target = link
            return (
                f"the gradients are right, but rank {source} sends {len(sent.get(link, []))} "
                f"messages of {sum(sent.get(link, [])):,} bytes to rank {target}, where "
                f"{len(right)} of {sum(right):,} are needed: one for each micro-batch."
            )
    begun = [call.name for call in traffic.calls[0] if call.what == "begin"]
    if ranks > 1 and not set(begun[:count]) <= {"send", "isend"}:
        return (
            "the gradients are right, but rank 0 receives a gradient before it has sent all its "
            "outputs: under GPipe all forwards come first, so that the stages work at the same "
            "time."
        )
    return None


gpipe_stage = rank_exercise(
    "distributed.gpipe_stage",
    solution=solutions.gpipe_stage,
    oracle=lambda given: by_hand(given, mean_error),
    cases=ranks_cases(
        {
            "all sizes 1": (1, 1, 1, 1, 1),
            "one stage": (1, 3, 2, 4, 3),
            "all of one width": (2, 4, 2, 3, 3, 3),
            "one micro-batch": (2, 1, 3, 2, 4, 3),
            "prime": (3, 5, 2, 3, 7, 2, 5),
            "four stages": (4, 3, 1, 2, 3, 4, 2, 3),
        },
        layers,
    ),
    wrong={
        "last_only": lambda given: by_hand(given, only(slice(-1, None))),
        "first_only": lambda given: by_hand(given, only(slice(0, 1))),
        "not_divided": lambda given: by_hand(given, scaled(lambda m: m)),
        "divided_twice": lambda given: by_hand(given, scaled(lambda m: 1 / m)),
        "as_it_came": lambda given: by_hand(given, mean_error, where_square(lambda dy, w: dy)),
        "not_transposed": lambda given: by_hand(given, mean_error, where_square(np.matmul)),
        "rows_not_counted": lambda given: by_hand(given, divided_by(lambda m, n, wide: m)),
        "every_number": lambda given: by_hand(given, divided_by(lambda m, n, wide: m * n * wide)),
        "negative": lambda given: by_hand(given, scaled(lambda m: -1)),
    },
    results=("dw",),
    demand=neighbours_only,
    forbidden=("torch.distributed", "torch.autograd", "labkit.distributed.pipeline"),
)
