"""The exercises of lesson tensor_parallel: an MLP in parts, heads of a rank, gradients in parts.

The first and the last run in real ranks, and a right result at the wrong cost is refused.
"""

from collections.abc import Callable, Sequence
from math import erf, sqrt
from types import SimpleNamespace

import numpy as np

from labkit.checks.items import Refused
from labkit.checks.lesson_files import cases_of, exercise
from labkit.checks.phrasing import counted
from labkit.distributed.exercises.solutions import tensor_parallel as solutions
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic

FORBIDDEN = ("labkit.distributed.tensor_parallel",)


def one_all_reduce(size: Callable[[Sequence], int]) -> Callable[[Traffic], str | None]:
    """What is wrong where right results cost more than one all-reduce, or None.

    size   size(inputs of a rank): the bytes of the tensor that is to be summed
    """

    def demand(traffic: Traffic) -> str | None:
        ranks = traffic.ranks
        bytes = size(traffic.inputs[0])
        in_a_ring = 2 * (ranks - 1) * (bytes / ranks + 4)  # chunks differ by one number
        names = [call.name for call in traffic.collectives]
        if len(names) > 1:
            return (
                f"The result is right, but the ranks met in {counted(len(names), 'collective')}, "
                "where one all-reduce is enough."
            )
        if set(names) - {"all_reduce"}:
            return (
                f"The result is right, but {names[0]} hands out what every rank has; an "
                "all-reduce, which sums on the way, is enough."
            )
        sent = max(
            [traffic.most_sent, *[_share(call.bytes, ranks) for call in traffic.collectives]]
        )
        if sent > in_a_ring:
            return (
                f"The result is right, but one rank sends {sent:,} bytes, where one all-reduce of "
                f"{bytes:,} bytes around a ring sends {2 * (ranks - 1) * bytes // ranks:,}."
            )
        return None

    return demand


def _share(bytes: int, ranks: int) -> int:
    """What a rank sends of an all-reduce in a ring."""
    return 2 * (ranks - 1) * bytes // ranks


def everywhere(total: np.ndarray, inputs: Sequence) -> list[np.ndarray]:
    """The same in all ranks."""
    return [total] * len(inputs)


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Eighths of whole numbers, of both signs, no two of them alike."""
    size = int(np.prod(shape))
    reach = max(size, 12)
    numbers = rng.permutation(2 * reach + 1)[:size] - reach
    return (numbers.reshape(shape) * (1.5 / reach)).astype(np.float32)


# --- distributed.split_mlp


def parts_of_mlp(
    rng: np.random.Generator, ranks: int, tokens: int, width: int, *hidden: int
) -> list[tuple[np.ndarray, ...]]:
    """For each rank the same x and last bias, and as many hidden numbers as `hidden` says."""
    x, last = drawn(rng, tokens, width), drawn(rng, width)
    expand, bias = drawn(rng, sum(hidden), width), drawn(rng, sum(hidden))
    contract = drawn(rng, width, sum(hidden))
    cuts = np.cumsum(hidden)[:-1]
    columns = np.split(expand, cuts), np.split(bias, cuts)
    rows = np.split(contract, cuts, axis=1)
    return [(x, *part, last) for part in zip(*columns, rows, strict=True)]


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the probability that a normal number is below it."""
    return x * (1 + np.vectorize(erf, otypes=[float])(x / sqrt(2))) / 2


def hidden_of(inputs: Sequence, activation: Callable = gelu) -> list[np.ndarray]:
    """Between the layers, in each rank."""
    return [activation(x @ expand.T + bias) for x, expand, bias, _, _ in inputs]


def products(inputs: Sequence, activation: Callable = gelu) -> list[np.ndarray]:
    """What each rank finds of the second layer."""
    parts = zip(hidden_of(inputs, activation), inputs, strict=True)
    return [hidden @ contract.T for hidden, (_, _, _, contract, _) in parts]


def last_bias(inputs: Sequence) -> np.ndarray:
    """Which all ranks have."""
    return inputs[0][4]


def whole_mlp(inputs: Sequence) -> np.ndarray:
    """In one piece: the parts are joined first."""
    x = inputs[0][0]
    expand = np.concatenate([one[1] for one in inputs]).astype(float)
    bias = np.concatenate([one[2] for one in inputs])
    contract = np.concatenate([one[3] for one in inputs], axis=1)
    return gelu(x @ expand.T + bias) @ contract.T + last_bias(inputs)


def without_first_bias(inputs: Sequence) -> np.ndarray:
    """As if the first layer had none."""
    bare = [(x, expand, 0 * bias, contract, last) for x, expand, bias, contract, last in inputs]
    return whole_mlp(bare)


WRONG_MLP = SimpleNamespace(
    own=lambda inputs: [part + last_bias(inputs) for part in products(inputs)],
    bias_in_each=lambda inputs: everywhere(
        sum(products(inputs)) + len(inputs) * last_bias(inputs), inputs
    ),
    no_last_bias=lambda inputs: everywhere(sum(products(inputs)), inputs),
    no_first_bias=lambda inputs: everywhere(without_first_bias(inputs), inputs),
    averaged=lambda inputs: everywhere(
        sum(products(inputs)) / len(inputs) + last_bias(inputs), inputs
    ),
    no_gelu=lambda inputs: everywhere(
        sum(products(inputs, lambda h: h)) + last_bias(inputs), inputs
    ),
    gelu_at_the_end=lambda inputs: everywhere(
        gelu(sum(products(inputs, lambda h: h)) + last_bias(inputs)), inputs
    ),
    relu=lambda inputs: everywhere(
        sum(products(inputs, lambda h: np.maximum(h, 0))) + last_bias(inputs), inputs
    ),
    only_in_0=lambda inputs: [
        (sum(products(inputs)) if rank == 0 else part) + last_bias(inputs)
        for rank, part in enumerate(products(inputs))
    ],
)

split_mlp = rank_exercise(
    "distributed.split_mlp",
    solution=solutions.split_mlp,
    cases=ranks_cases(
        {
            "two ranks": (2, 3, 4, 2, 2),
            "one number": (1, 1, 1, 1),
            "alone": (1, 2, 3, 5),
            "prime": (3, 5, 7, 3, 3, 3),
            "unlike parts": (2, 4, 3, 5, 2),
            "four ranks": (4, 6, 5, 4, 4, 4, 4),
            "one token": (3, 1, 6, 2, 2, 2),
        },
        parts_of_mlp,
    ),
    oracle=lambda inputs: everywhere(whole_mlp(inputs), inputs),
    wrong=vars(WRONG_MLP),
    results=("y",),
    atol=1e-5,
    demand=one_all_reduce(lambda inputs: inputs[0].nbytes),
    forbidden=FORBIDDEN,
)

# --- distributed.heads_of_rank


def weights(
    rng: np.random.Generator, rank: int, ranks: int, heads: int, head_width: int, width: int
) -> tuple[int, int, int, np.ndarray, np.ndarray]:
    """A rank, and whole weights of so many heads."""
    columns = heads * head_width
    query, output = drawn(rng, columns, width), drawn(rng, width, columns)
    return rank, ranks, head_width, query, output


def by(place: Callable) -> Callable:
    """A wrong idea of which columns are this rank's: place(rank, ranks, head width, columns)."""

    def parts(
        rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        mine = place(rank, ranks, head_width, np.arange(len(query)))
        return query[mine], output[:, mine]

    return parts


def of_heads(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """Neighbouring heads, whole ones."""
    heads = len(columns) // head_width
    first, after = rank * heads // ranks, (rank + 1) * heads // ranks
    return columns[first * head_width : after * head_width]


def one_head_more(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if the head `after` were this rank's too."""
    mine = of_heads(rank, ranks, head_width, columns)
    return columns[mine[0] : mine[-1] + 1 + head_width]


def heads_as_columns(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if a head were one column."""
    heads = len(columns) // head_width
    return columns[rank * heads // ranks : (rank + 1) * heads // ranks]


def evenly(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if heads did not count."""
    return columns[rank * len(columns) // ranks : (rank + 1) * len(columns) // ranks]


def heads_in_turn(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if heads were dealt like cards."""
    return columns.reshape(-1, head_width)[rank::ranks].reshape(-1)


def other_axis(
    rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As if weights were stored as [inputs, outputs]."""
    mine = of_heads(rank, ranks, head_width, np.arange(len(query)))
    mine = mine[mine < query.shape[1]]
    return query[:, mine], output[mine]


def output_whole(
    rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As if `output` were not cut."""
    return query[of_heads(rank, ranks, head_width, np.arange(len(query)))], output


WRONG_HEADS = SimpleNamespace(
    heads_as_columns=by(heads_as_columns),
    evenly=by(evenly),
    heads_in_turn=by(heads_in_turn),
    columns_in_turn=by(lambda rank, ranks, head_width, columns: columns[rank::ranks]),
    always_first=by(
        lambda rank, ranks, head_width, columns: of_heads(0, ranks, head_width, columns)
    ),
    other_axis=other_axis,
    output_whole=output_whole,
    one_head_less=by(
        lambda rank, ranks, head_width, columns: of_heads(rank, ranks, head_width, columns)[
            :-head_width
        ]
    ),
    one_head_more=by(one_head_more),
)


def with_tensors(answer: object) -> Callable:
    """A function of arrays that calls the learner's with tensors, and returns arrays again."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(
        rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
    ) -> object:
        import torch

        weights = torch.from_numpy(query), torch.from_numpy(output)  # the same memory
        returned = answer(rank, ranks, head_width, *weights)
        if not isinstance(returned, tuple | list):
            return as_array(returned)
        return tuple(as_array(part) for part in returned)

    return judged


def as_array(value: object) -> object:
    """A tensor's numbers; whatever else it is stays as it is."""
    return value.detach().numpy() if hasattr(value, "detach") else value


heads_of_rank = exercise(
    "distributed.heads_of_rank",
    oracle=by(of_heads),
    cases=cases_of(
        {
            "the second of two ranks": (1, 2, 4, 3, 5),
            "one number": (0, 1, 1, 1, 1),
            "as wide as the stream": (1, 2, 4, 2, 8),
            "three heads for two ranks": (1, 2, 3, 2, 7),
            "a prime number of heads": (2, 3, 7, 3, 4),
            "the last of four ranks": (3, 4, 12, 5, 11),
            "alone": (0, 1, 3, 4, 13),
            "the first": (0, 3, 6, 2, 17),
            "in the middle": (1, 3, 6, 2, 5),
            "in the middle of five": (2, 5, 11, 5, 4),
        },
        weights,
    ),
    wrong=vars(WRONG_HEADS),
    adapter=with_tensors,
    plain=lambda answer, *given: with_tensors(answer)(*given),
    fallback=solutions.heads_of_rank,
    plain_python=True,
    forbidden=FORBIDDEN,
    outputs=("query", "output"),
)

# --- distributed.column_backward


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


WRONG_BACKWARD = SimpleNamespace(
    dx_own=lambda inputs: pairs(dx_parts(inputs), dw_of(inputs)),
    dx_averaged=lambda inputs: pairs(
        [total / len(inputs) for total in summed_dx(inputs)], dw_of(inputs)
    ),
    dw_merged=lambda inputs: pairs(summed_dx(inputs), summed_dw(inputs)),
    dw_averaged=lambda inputs: pairs(summed_dx(inputs), summed_dw(inputs, divide=True)),
    dh_summed=dh_summed,
    dw_turned=lambda inputs: pairs(summed_dx(inputs), [dw.T for dw in dw_of(inputs)]),
)

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
    ),
    oracle=lambda inputs: pairs(summed_dx(inputs), dw_of(inputs)),
    wrong=vars(WRONG_BACKWARD),
    results=("dx", "dw"),
    demand=one_all_reduce(lambda inputs: inputs[0].nbytes),
    forbidden=FORBIDDEN,
)

EXERCISES = [split_mlp, heads_of_rank, column_backward]
