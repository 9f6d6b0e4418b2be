"""The exercises of lesson hybrid_and_sharded: a sharded step, bytes of a rank, a mesh's groups."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import hybrid_and_sharded as solutions
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Together, Traffic

# --- distributed.sharded_step

Shards = Sequence[tuple[list[np.ndarray], np.ndarray, np.ndarray]]  # of each rank: shards, x, dy


def layers(rng: np.random.Generator, ranks: int, count: int, width: int, rows: int) -> Shards:
    """Weights [count, D, D] cut over the ranks; x[N, D] and dy[N, D] of each rank."""
    weights = rng.normal(size=(count, width * width)).astype("f4")
    x, dy = rng.normal(size=(2, ranks, rows, width)).astype("f4")
    chunks = np.split(weights, ranks, axis=1)
    return [(list(chunks[rank]), x[rank], dy[rank]) for rank in range(ranks)]


def whole_weights(inputs: Shards) -> np.ndarray:
    """[L, D, D]."""
    width = inputs[0][1].shape[1]
    joined = np.concatenate([np.stack(shards) for shards, _, _ in inputs], axis=1)
    return joined.reshape(-1, width, width)


def own_gradients(
    weights: np.ndarray, x: np.ndarray, dy: np.ndarray, turned: bool = True, first_x: bool = False
) -> np.ndarray:
    """[L, D, D] of one rank; not `turned`: as if dx = dy W, `first_x`: as if all layers had x."""
    inputs = [x]
    for weight in weights[:-1]:
        inputs.append(inputs[-1] @ weight)
    gradients = np.empty_like(weights)
    for place in reversed(range(len(weights))):
        gradients[place] = inputs[0 if first_x else place].T @ dy
        dy = dy @ (weights[place].T if turned else weights[place])
    return gradients


def summed(inputs: Shards, **slips: bool) -> np.ndarray:
    """[L, D * D]: over the ranks."""
    weights = whole_weights(inputs)
    total = sum(own_gradients(weights, x, dy, **slips) for _, x, dy in inputs)
    return total.reshape(len(weights), -1)


def cut(gradients: np.ndarray, ranks: int) -> list[list[np.ndarray]]:
    """[L, D * D] -> for each rank its chunk of each layer."""
    return [list(chunk) for chunk in np.split(gradients, ranks, axis=1)]


def mean_shards(inputs: Shards, **slips: bool) -> list[list[np.ndarray]]:
    """What each rank keeps of the mean over the ranks."""
    return cut(summed(inputs, **slips) / np.float32(len(inputs)), len(inputs))


def own_shards(inputs: Shards) -> list[list[np.ndarray]]:
    """As if each rank kept its chunk of its own gradient."""
    return [cut(summed_alone(inputs, rank), len(inputs))[rank] for rank in range(len(inputs))]


def summed_alone(inputs: Shards, rank: int) -> np.ndarray:
    """[L, D * D] of one rank."""
    weights = whole_weights(inputs)
    _, x, dy = inputs[rank]
    return own_gradients(weights, x, dy).reshape(len(weights), -1)


WRONG_STEP = {
    "undivided": lambda inputs: cut(summed(inputs), len(inputs)),
    "own": own_shards,
    "not_turned": lambda inputs: mean_shards(inputs, turned=False),
    "first_input": lambda inputs: mean_shards(inputs, first_x=True),
    "last_layer_first": lambda inputs: [rank[::-1] for rank in mean_shards(inputs)],
    "same_chunk": lambda inputs: [mean_shards(inputs)[0]] * len(inputs),
}


def three_rounds(traffic: Traffic) -> str | None:
    """What is wrong where right means cost other than a gather, a gather and a reduce-scatter."""
    ranks, shards = traffic.ranks, traffic.inputs[0][0]
    piece = (ranks - 1) * shards[0].nbytes  # what a rank sends for one gather of one layer
    count = len(shards)
    calls = [sum(_sent_in(call, ranks) for call in traffic.collectives)] * ranks
    most = max(map(sum, zip(traffic.sent, calls, strict=True)))
    if most > 3 * count * piece:
        return (
            f"The result is right, but one rank sends {most:,} bytes, where 3 (n - 1) / n S = "
            f"{3 * count * piece:,} are enough: gather, gather, reduce-scatter."
        )
    if most < (3 * count - 2) * piece:
        return (
            f"The result is right, but a rank sends only {most:,} bytes for {count} layers: their "
            "weights were gathered once and kept, so that all layers were whole at the same time. "
            "Free each after its forward, and gather it again in backward."
        )
    return None


def _sent_in(call: Together, ranks: int) -> int:
    """Bytes that each rank sends in a collective of PyTorch's, if it goes around a ring."""
    gathered = (ranks - 1) * call.bytes
    if call.name.startswith("all_gather"):
        return gathered
    if call.name.startswith("reduce_scatter"):
        return gathered // ranks
    return 2 * gathered // ranks if call.name == "all_reduce" else call.bytes


sharded_step = rank_exercise(
    "distributed.sharded_step",
    solution=solutions.sharded_step,
    cases=ranks_cases(
        {
            "three layers": (2, 3, 2, 3),
            "one number": (1, 1, 1, 1),
            "alone": (1, 3, 3, 2),
            "one layer": (2, 1, 4, 3),
            "prime": (3, 4, 3, 5),
            "ragged rows": (4, 3, 6, 1),
        },
        layers,
    ),
    oracle=mean_shards,
    wrong=WRONG_STEP,
    results=("shards",),
    demand=three_rounds,
    forbidden=("torch.distributed.fsdp", "torch.autograd", "labkit.distributed.sharded"),
)

# --- distributed.bytes_per_rank


def table_and(
    activations: Callable[[np.ndarray, np.ndarray], float],
    first_cut: tuple[int, int, int] = (3, 2, 1),
    each: tuple[int, int, int] = (4, 4, 8),
) -> Callable[..., float]:
    """ZeRO's table, each kind cut from some stage on, and recomputed activations(kept, inside)."""

    def idea(weights, ranks, stage, kept, inside, recompute):
        total = float(activations(kept, inside) if recompute else inside.sum())
        for first, size in zip(first_cut, each, strict=True):
            total += weights * size / (ranks if stage >= first else 1)
        return total

    return idea


def worst_moment(kept: np.ndarray, inside: np.ndarray) -> int:
    """Of backward: block b is computed again, and the inputs of blocks 0 to b are there."""
    return (np.cumsum(kept) + inside).max()


def with_activations(change: Callable[..., float]) -> Callable[..., float]:
    """The right table, with change(activations, ranks, stage) for the right activations."""
    right = table_and(worst_moment)

    def idea(weights, ranks, stage, kept, inside, recompute):
        activations = right(0, ranks, stage, kept, inside, recompute)
        both = right(weights, ranks, stage, kept, inside, recompute)
        return both - activations + change(activations, ranks, stage)

    return idea


WRONG_BYTES = {
    "wrong_order": table_and(worst_moment, first_cut=(1, 2, 3)),
    "gradients_first": table_and(worst_moment, first_cut=(3, 1, 2)),
    "one_moment": table_and(worst_moment, each=(4, 4, 4)),
    "all_cut": table_and(worst_moment, first_cut=(1, 1, 1)),
    "no_activations": with_activations(lambda *_: 0),
    "activations_cut": with_activations(lambda size, ranks, stage: size / (ranks if stage else 1)),
    "never_inside": table_and(lambda kept, inside: kept.sum()),
    "one_block": table_and(lambda kept, inside: inside.max()),
    "all_inputs": table_and(lambda kept, inside: kept.sum() + inside.max()),
    "all_inside": table_and(lambda kept, inside: kept.sum() + inside.sum()),
    "last_block": table_and(lambda kept, inside: kept.sum() + inside[-1]),
}


def judged_bytes(answer: object) -> Callable:
    """A function of the inputs whose result is a float; Refused where the answer gives none."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(*inputs: Any) -> float:
        result = answer(*inputs)
        if result is None:
            raise Unsolved("the function returns None")
        try:
            return float(result)
        except (TypeError, ValueError):
            raise Refused("The result is one number: bytes.") from None

    return judged


def a_model(
    rng: np.random.Generator, ranks: int, stage: int, blocks: int, recompute: int, worst: int = -1
) -> tuple:
    """A multiple of the ranks as weights, and unlike blocks; `worst` makes the most."""
    weights = ranks * int(rng.integers(50, 5000))
    kept = 4 * (5 + rng.permutation(60)[:blocks])
    inside = 4 * (200 + rng.permutation(60)[:blocks])
    inside[worst] += 8 * kept.sum()
    return weights, ranks, stage, kept, inside, bool(recompute)


bytes_per_rank = exercise(
    "distributed.bytes_per_rank",
    oracle=table_and(worst_moment),
    cases=cases_of(
        {
            "plain data parallel": (4, 0, 3, 0),
            "one block": (1, 3, 1, 0),
            "ZeRO-1": (2, 1, 4, 0),
            "ZeRO-2, recomputed": (8, 2, 6, 1),
            "ZeRO-3": (7, 3, 5, 0),
            "ZeRO-3, recomputed": (64, 3, 32, 1, 3),
            "ZeRO-1, recomputed": (3, 1, 2, 1, 0),
            "no cut, recomputed": (16, 0, 9, 1, 4),
        },
        a_model,
    ),
    wrong=WRONG_BYTES,
    adapter=judged_bytes,
    plain=lambda answer, *inputs: judged_bytes(answer)(*inputs),
    fallback=solutions.bytes_per_rank,
    plain_python=True,
    forbidden=(*LIBRARIES, "labkit.distributed.sharded"),
)

# --- distributed.group_along


def grid_of(lengths: np.ndarray) -> np.ndarray:
    """The ranks in a grid, the last side counting fastest."""
    return np.arange(prod(map(int, lengths))).reshape(lengths)


def line_of(grid: np.ndarray, rank: int, side: int) -> np.ndarray:
    """The line through a rank along a side."""
    place = [int(index[0]) for index in np.nonzero(grid == rank)]
    place[side] = slice(None)
    return grid[tuple(place)].ravel()


def right_group(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The oracle."""
    return line_of(grid_of(lengths), rank, side)


def first_fastest(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if the first side counted fastest."""
    return line_of(grid_of(lengths[::-1]).T, rank, side)


def neighbours(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if every group were a run of consecutive ranks."""
    length = lengths[side]
    return rank // length * length + np.arange(length)


def others_alike(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The ranks that stand at the same place of this side."""
    grid = grid_of(lengths)
    return grid.take(int(np.nonzero(grid == rank)[side][0]), axis=side).ravel()


def from_own(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The right group, from this rank on and around."""
    group = right_group(rank, lengths, side)
    return np.roll(group, -int(np.nonzero(group == rank)[0][0]))


def only_on(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """As if this rank were the first of its group."""
    return rank + prod(lengths[side + 1 :]) * np.arange(lengths[side])


def of_rank_0(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
    """The group that rank 0 is in."""
    return right_group(0, lengths, side)


def as_ranks(result: Any) -> np.ndarray:
    """A list of ranks as an array; Refused where it is none."""
    if result is None:
        raise Unsolved("the function returns None")
    if isinstance(result, set | frozenset):
        raise Refused("The ranks come in their order, and a set has none.")
    try:
        ranks = np.array([int(rank) for rank in result], dtype=int)
    except (TypeError, ValueError):
        raise Refused("The result is a list of ranks, as in [1, 4].") from None
    if not len(ranks):
        raise Unsolved("the function returns no ranks")
    return ranks


def judged_group(answer: object) -> Callable:
    """A function of the inputs that hands `lengths` on as a list; the learner's group as an array.

    Refused where the answer is no function, or changes that list.
    """
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(rank: int, lengths: np.ndarray, side: int) -> np.ndarray:
        given = lengths.tolist()
        ranks = as_ranks(answer(rank, given, side))
        if given != lengths.tolist():
            raise Refused("The function changes its input `lengths`.")
        return ranks

    return judged


def a_place(rng: np.random.Generator, lengths: tuple[int, ...], side: int) -> tuple:
    """A rank of the mesh, not one of the first ones where there are others."""
    ranks = prod(lengths)
    return int(rng.integers(ranks // 2, ranks)), np.array(lengths), side


group_along = exercise(
    "distributed.group_along",
    oracle=right_group,
    cases=cases_of(
        {
            "data of 2 x 3": ((2, 3), 0),
            "tensor of 2 x 3": ((2, 3), 1),
            "one rank": ((1,), 0),
            "prime": ((7,), 0),
            "a side of one": ((4, 1, 5), 1),
            "the middle of three": ((2, 3, 4), 1),
            "the first of three": ((3, 2, 5), 0),
            "the last of four": ((2, 1, 3, 4), 3),
            "the second of five": ((2, 4, 1, 3, 5), 1),
            "1,024 ranks": ((128, 8), 0),
        },
        a_place,
    ),
    wrong={
        "first_fastest": first_fastest,
        "neighbours": neighbours,
        "others_alike": others_alike,
        "from_own": from_own,
        "only_on": only_on,
        "of_rank_0": of_rank_0,
    },
    dtype="int",
    adapter=judged_group,
    plain=lambda answer, rank, lengths, side: as_ranks(answer(rank, lengths.tolist(), side)),
    fallback=solutions.group_along,
    plain_python=True,
    outputs=("ranks",),
    forbidden=(*LIBRARIES, "labkit.distributed.sharded"),
)

EXERCISES = [sharded_step, bytes_per_rank, group_along]
