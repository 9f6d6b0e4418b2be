"""Exercise distributed.shard: what each rank reads.

Dense: each wrong idea calls the oracle with one of its five arguments changed.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit.distributed.sampler import ShardedSampler


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


def dealt_with(changed: Callable[[int, int, int], tuple[int, int]]) -> Callable[..., np.ndarray]:
    """As if epoch and seed were changed(rank, epoch, seed)."""
    return lambda rank, ranks, photographs, *how: dealt(
        rank, ranks, photographs, *changed(rank, *how)
    )


WRONG_SHARD = dict(
    same_every_epoch=dealt_with(lambda rank, epoch, seed: (0, seed)),
    seed_forgotten=dealt_with(lambda rank, epoch, seed: (epoch, 0)),
    own_order=dealt_with(lambda rank, epoch, seed: (epoch, seed + rank)),
    unshuffled=lambda rank, ranks, photographs, epoch, seed: filled_up(photographs, ranks)[
        rank::ranks
    ],
    multiplied=dealt_with(lambda rank, epoch, seed: (0, seed * epoch)),
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
    wrong=WRONG_SHARD,
    dtype="int",
    forbidden=("torch.utils.data", "labkit.distributed.sampler"),
)
