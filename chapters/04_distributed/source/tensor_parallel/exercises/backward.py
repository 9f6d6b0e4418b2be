"""Exercise distributed.column_backward: both gradients of a layer cut by columns, in real ranks.

Dense: each wrong idea is the pair of gradients with one slip in it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.tensor_parallel import solutions
from labkit_lessons.distributed.tensor_parallel.exercises.cost import (
    FORBIDDEN,
    drawn,
    everywhere,
    one_all_reduce,
)


def column_parts(
    rng: np.random.Generator, ranks: int, tokens: int, width: int, *outputs: int
) -> list[tuple[np.ndarray, ...]]:
    """For each rank the same x, its rows of w, and its columns of dh."""
    x = drawn(rng, tokens, width)
    cuts = np.cumsum(outputs)[:-1]
    w = np.split(drawn(rng, sum(outputs), width), cuts)
    dh = np.split(drawn(rng, tokens, sum(outputs)), cuts, axis=1)
    return [(x, *part) for part in zip(w, dh, strict=True)]


def dx_parts(inputs: Sequence) -> list[np.ndarray]:
    """What each rank finds of dx."""
    return [dh @ w for _, w, dh in inputs]


def dw_of(inputs: Sequence) -> list[np.ndarray]:
    """Each rank's own."""
    return [dh.T @ x for x, _, dh in inputs]


def pairs(dx: Sequence[np.ndarray], dw: Sequence[np.ndarray]) -> list[tuple]:
    """Both results of each rank."""
    return list(zip(dx, dw, strict=True))


def summed_dx(inputs: Sequence) -> list[np.ndarray]:
    """The whole, in each rank."""
    return everywhere(sum(dx_parts(inputs)), inputs)


def alike(inputs: Sequence) -> bool:
    """Whether all ranks have parts of one shape."""
    return len({w.shape for _, w, _ in inputs}) == 1


def summed_dw(inputs: Sequence, divide: bool = False) -> list[np.ndarray]:
    """As if gradients of weights were merged; where parts are unlike, they cannot be."""
    own = dw_of(inputs)
    if not alike(inputs):
        return own
    return everywhere(sum(own) / (len(own) if divide else 1), inputs)


def dh_summed(inputs: Sequence) -> list[tuple]:
    """As if dh were the one that is summed."""
    if not alike(inputs):
        return pairs(summed_dx(inputs), dw_of(inputs))
    dh = sum(one[2] for one in inputs)
    return [(dh @ w, dh.T @ x) for x, w, _ in inputs]


def w_summed(inputs: Sequence) -> list[tuple]:
    """As if w were the one that is summed."""
    if not alike(inputs):
        return pairs(summed_dx(inputs), dw_of(inputs))
    total = sum(w for _, w, _ in inputs)
    return pairs([dh @ total for _, _, dh in inputs], dw_of(inputs))


def w_turned(inputs: Sequence) -> list[np.ndarray]:
    """dx with w transposed, where that has the right shape."""
    square = all(w.shape[0] == w.shape[1] for _, w, _ in inputs)
    if not square:
        return summed_dx(inputs)
    return everywhere(sum(dh @ w.T for _, w, dh in inputs), inputs)


def with_dx(dx: Callable[[Sequence], Sequence]) -> Callable[[Sequence], list[tuple]]:
    """dx(inputs) for each rank, beside the right dw."""
    return lambda inputs: pairs(dx(inputs), dw_of(inputs))


def with_dw(dw: Callable[[Sequence], Sequence]) -> Callable[[Sequence], list[tuple]]:
    """The right dx, beside dw(inputs) for each rank."""
    return lambda inputs: pairs(summed_dx(inputs), dw(inputs))


WRONG_BACKWARD = {
    "dx_own": with_dx(dx_parts),
    "dx_averaged": with_dx(lambda inputs: [dx / len(inputs) for dx in summed_dx(inputs)]),
    "dx_up_to_own": with_dx(lambda inputs: list(np.cumsum(np.stack(dx_parts(inputs)), axis=0))),
    "dw_multiplied": with_dw(lambda inputs: [dw * len(inputs) for dw in dw_of(inputs)]),
    "dw_merged": with_dw(summed_dw),
    "dw_averaged": with_dw(lambda inputs: summed_dw(inputs, divide=True)),
    "dh_summed": dh_summed,
    "dx_only_in_0": with_dx(lambda inputs: [*summed_dx(inputs)[:1], *dx_parts(inputs)[1:]]),
    "dx_by_w_turned": with_dx(w_turned),
    "w_summed": w_summed,
    "dw_divided": with_dw(lambda inputs: [dw / len(inputs) for dw in dw_of(inputs)]),
    "dw_by_tokens": with_dw(lambda inputs: [dw / len(inputs[0][0]) for dw in dw_of(inputs)]),
    "dw_of_dx": with_dw(lambda inputs: [one[2].T @ summed_dx(inputs)[0] for one in inputs]),
    "dw_turned": with_dw(lambda inputs: [dw.T for dw in dw_of(inputs)]),
}

column_backward = rank_exercise(
    "distributed.column_backward",
    solution=solutions.column_backward,
    cases=ranks_cases(
        {
            "two ranks": (2, 3, 4, 2, 2),
            "one number": (1, 1, 1, 1),
            "alone": (1, 2, 3, 5),
            "prime": (3, 5, 7, 3, 3, 3),
            "unlike parts": (2, 4, 3, 5, 2),
            "as many columns as numbers": (2, 6, 5, 5, 5),
            "four ranks": (4, 6, 5, 4, 4, 4, 4),
        },
        column_parts,
        types={"four ranks": "float64"},
    ),
    oracle=with_dx(summed_dx),
    wrong=WRONG_BACKWARD,
    results=("dx", "dw"),
    demand=one_all_reduce(lambda inputs: inputs[0].nbytes),
    forbidden=FORBIDDEN,
)
