"""Exercise distributed.heads_of_rank: which rows and columns belong to a rank's heads.

Dense: each wrong idea is another formula of rows and columns, by the same arguments.
"""

from collections.abc import Callable
from math import ceil

import numpy as np

from labkit.checks.items import refuse_no_function
from labkit.checks.lesson_files import cases_of, exercise
from labkit_lessons.distributed.tensor_parallel import solutions
from labkit_lessons.distributed.tensor_parallel.exercises.cost import FORBIDDEN, drawn


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


def rest_at_the_end(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if the last rank took all heads that are left over."""
    each = len(columns) // head_width // ranks * head_width
    return columns[rank * each :] if rank == ranks - 1 else columns[rank * each :][:each]


def heads_in_turn(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if heads were dealt like cards."""
    return columns.reshape(-1, head_width)[rank::ranks].reshape(-1)


def heads_apart(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if column c belonged to head c % heads."""
    heads = len(columns) // head_width
    mine = slice(rank * heads // ranks, (rank + 1) * heads // ranks)
    return columns.reshape(head_width, heads)[:, mine].reshape(-1)


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


def alike(rounded: Callable[[int, int], int]) -> Callable:
    """As if each rank had as many heads, rounded(heads, ranks), from rank * that on."""

    def place(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
        each = rounded(len(columns) // head_width, ranks) * head_width
        return columns[rank * each : (rank + 1) * each]

    return by(place)


def query_whole(
    rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As if `query` were not cut."""
    return query, output[:, of_heads(rank, ranks, head_width, np.arange(len(query)))]


def placed(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable:
    """As if each tensor became change(its columns, which of them are this rank's)."""

    def parts(
        rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        columns = np.arange(len(query))
        mine = np.isin(columns, of_heads(rank, ranks, head_width, columns))
        return change(query, mine), change(output.T, mine).T

    return parts


def heads_as_an_axis(
    rank: int, ranks: int, head_width: int, query: np.ndarray, output: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As if heads kept an axis of their own."""
    mine = of_heads(rank, ranks, head_width, np.arange(len(query)))
    heads = -1, head_width
    return (
        query[mine].reshape(*heads, query.shape[1]),
        output[:, mine].reshape(len(output), *heads),
    )


def width_of_2(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if each head had two columns."""
    heads = len(columns) // head_width
    return columns[2 * (rank * heads // ranks) : 2 * ((rank + 1) * heads // ranks)]


def equal_from_first(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if every rank had heads // ranks heads, from its first one on."""
    each = len(columns) // head_width // ranks * head_width
    return of_heads(rank, ranks, head_width, columns)[:each]


def one_place_on(rank: int, ranks: int, head_width: int, columns: np.ndarray) -> np.ndarray:
    """As if the heads were `first` + 1 to `after`."""
    mine = of_heads(rank, ranks, head_width, columns) + head_width
    return mine[mine < len(columns)]


def of_own(change: Callable) -> Callable:
    """change(the rank's right columns, head width)."""
    return by(
        lambda rank, ranks, head_width, columns: change(
            of_heads(rank, ranks, head_width, columns), head_width
        )
    )


WRONG_HEADS = dict(
    heads_as_columns=by(heads_as_columns),
    evenly=by(evenly),
    heads_in_turn=by(heads_in_turn),
    heads_apart=by(heads_apart),
    columns_in_turn=by(lambda rank, ranks, head_width, columns: columns[rank::ranks]),
    always_first=by(
        lambda rank, ranks, head_width, columns: of_heads(0, ranks, head_width, columns)
    ),
    other_axis=other_axis,
    output_whole=output_whole,
    query_whole=query_whole,
    equal_numbers=alike(lambda heads, ranks: heads // ranks),
    rest_at_the_end=by(rest_at_the_end),
    rounded_up=alike(lambda heads, ranks: ceil(heads / ranks)),
    equal_from_first=by(equal_from_first),
    width_of_2=by(width_of_2),
    zeros_elsewhere=placed(lambda whole, mine: whole * mine[:, None]),
    of_the_others=placed(lambda whole, mine: whole[~mine]),
    heads_as_an_axis=heads_as_an_axis,
    one_head_each=alike(lambda heads, ranks: 1),
    one_place_on=by(one_place_on),
    to_the_end=by(
        lambda rank, ranks, head_width, columns: columns[
            of_heads(rank, ranks, head_width, columns)[0] :
        ]
    ),
    one_column_less=of_own(lambda own, head_width: own[:-1]),
    last_head_only=of_own(lambda own, head_width: own[-head_width:]),
    first_head_only=of_own(lambda own, head_width: own[:head_width]),
    one_head_less=of_own(lambda own, head_width: own[:-head_width]),
    one_head_more=by(one_head_more),
)


def with_tensors(answer: object) -> Callable:
    """A function of arrays that calls the learner's with tensors, and returns arrays again."""
    refuse_no_function(answer)

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
            "in the middle": (1, 3, 6, 2, 17),
            "in the middle of five": (2, 5, 11, 5, 4),
            "five heads for three ranks": (2, 3, 5, 3, 7),
        },
        weights,
    ),
    wrong=WRONG_HEADS,
    adapter=with_tensors,
    plain=lambda answer, *given: with_tensors(answer)(*given),
    fallback=solutions.heads_of_rank,
    plain_python=True,
    forbidden=FORBIDDEN,
    outputs=("query", "output"),
)
