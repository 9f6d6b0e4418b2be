"""Exercise distributed.gpipe_stage: the backwards of a stage, in real ranks with real messages.

Dense: each wrong idea is the oracle with one step changed, in a row of its own.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import Traffic
from labkit_lessons.distributed.pipeline import solutions

Stages = Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]  # of each rank: w, x, target
Errors = Callable[[np.ndarray, np.ndarray], np.ndarray]
Back = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
Inputs = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


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


def slopes_of(inputs: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """The gradient by w of each micro-batch, a.T @ dy [m,I,O]."""
    return np.einsum("mni,mno->mio", inputs, dy)


def forward(given: Stages) -> list[tuple[np.ndarray, np.ndarray]]:
    """(a, y) of every stage: its inputs [m,n,I], and its outputs [m,n,O]."""
    kept = []
    a = given[0][1].astype("f8")
    for w, _, _ in given:
        y = a @ w
        kept.append((a, y))
        a = y
    return kept


def by_hand(
    given: Stages,
    errors: Errors,
    back: Back = lambda dy, w, slopes: dy @ w.T,
    inputs: Inputs = lambda a, y, x: a,
) -> list[np.ndarray]:
    """dw of every stage: forward through all, and backward.

    errors   errors(y, target) -> dy of the last stage, all [m,n,E]
    back     back(dy, w, slopes) -> dx, the gradient by the input of a stage
    inputs   inputs(a, y, x) -> what stands in a.T @ dy; x is what this rank was given
    """
    kept = forward(given)
    dy = errors(kept[-1][1], given[-1][2])
    found = []
    for (w, x, _), (a, y) in zip(reversed(given), reversed(kept), strict=True):
        slopes = slopes_of(inputs(a, y, x), dy)
        found.append(slopes.sum(axis=0))
        dy = back(dy, w, slopes)
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


def where_square(back: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Back:
    """As if dx were back(dy, w), where that has the right width."""
    return lambda dy, w, slopes: back(dy, w) if w.shape[0] == w.shape[1] else dy @ w.T


def divided_again(dy: np.ndarray, w: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """As if each stage divided by m n what it receives."""
    return dy @ w.T / (dy.shape[0] * dy.shape[1])


def by_the_sum_so_far(dy: np.ndarray, w: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """As if dw, which grows from micro-batch to micro-batch, were w."""
    return np.einsum("mno,mio->mni", dy, slopes.cumsum(axis=0))


def by_moved_weights(dy: np.ndarray, w: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """As if w - dw, which moves from micro-batch to micro-batch, were w."""
    return np.einsum("mno,mio->mni", dy, w - slopes.cumsum(axis=0))


def first_goal(y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """As if all micro-batches had the first one's target."""
    return mean_error(y, target[:1])


def changed(change: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> Callable:
    """change(dw, w, ranks) in place of each stage's right dw."""

    def idea(given: Stages) -> list[np.ndarray]:
        right = by_hand(given, mean_error)
        return [change(dw, w, len(given)) for dw, (w, _, _) in zip(right, given, strict=True)]

    return idea


def own_goals(given: Stages) -> list[np.ndarray]:
    """As if each stage compared its own output with its own target, where these fit."""
    found = []
    for (a, y), (_, _, target) in zip(forward(given), given, strict=True):
        found.append(slopes_of(a, mean_error(y, target)).sum(axis=0))
    return found


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


def as_if(*changes: Callable, **named: Callable) -> Callable:
    """A wrong idea: `by_hand` with other functions than its own."""
    return lambda given: by_hand(given, *changes, **named)


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
        "last_only": as_if(only(slice(-1, None))),
        "first_only": as_if(only(slice(0, 1))),
        "first_missing": as_if(only(slice(1, None))),
        "last_missing": as_if(only(slice(None, -1))),
        "first_goal": as_if(first_goal),
        "no_goal": as_if(lambda y, goal: mean_error(y, 0 * goal)),
        "by_rows_again": as_if(lambda y, goal: mean_error(y, goal) / y.shape[1]),
        "by_ranks": changed(lambda dw, w, ranks: dw / ranks),
        "a_step": changed(lambda dw, w, ranks: w - dw),
        "not_divided": as_if(scaled(lambda m: m)),
        "divided_twice": as_if(scaled(lambda m: 1 / m)),
        "as_it_came": as_if(mean_error, where_square(lambda dy, w: dy)),
        "not_transposed": as_if(mean_error, where_square(np.matmul)),
        "rows_not_counted": as_if(divided_by(lambda m, n, wide: m)),
        "every_number": as_if(divided_by(lambda m, n, wide: m * n * wide)),
        "two_rows": as_if(divided_by(lambda m, n, wide: 2 * m)),
        "moved_weights": as_if(mean_error, by_moved_weights),
        "undivided": as_if(divided_by(lambda m, n, wide: 1)),
        "divided_by_all": as_if(mean_error, divided_again),
        "own_goals": own_goals,
        "the_loss": as_if(lambda y, goal: (y - goal) * mean_error(y, goal) / 2),
        "squared": as_if(lambda y, goal: (y - goal) * mean_error(y, goal)),
        "first_input": as_if(mean_error, inputs=lambda a, y, x: x),
        "own_output": as_if(mean_error, inputs=lambda a, y, x: y),
        "dw_sent": as_if(mean_error, by_the_sum_so_far),
        "signs": as_if(lambda y, goal: np.sign(y - goal) / (y.shape[0] * y.shape[1])),
        "negative": as_if(scaled(lambda m: -1)),
    },
    results=("dw",),
    demand=neighbours_only,
    forbidden=(
        "torch.distributed",
        "torch.autograd",
        "labkit.distributed.pipeline",
        "labkit_lessons.distributed.pipeline",
    ),
)
