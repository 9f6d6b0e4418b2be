"""Exercise distributed.accumulate: many micro-batches, and one all-reduce."""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import Traffic
from labkit_lessons.distributed.overlap_and_buckets import solutions


def gradient(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the mean over a batch of (x w - y)^2 / 2: x^T (x w - y) / b."""
    return x.T @ (x @ w - y) / len(y)


def big_batch(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of all micro-batches of all ranks together, in every rank."""
    w = by_rank[0][0]
    width = len(w)
    x = np.concatenate([x.reshape(-1, width) for _, x, _ in by_rank])
    y = np.concatenate([y.reshape(-1) for _, _, y in by_rank])
    return [gradient(w, x, y)] * len(by_rank)


def each_alone(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of each rank's own micro-batches."""
    return [big_batch([one])[0] for one in by_rank]


def last_alone(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of the last micro-batch of every rank."""
    return big_batch([(w, x[-1:], y[-1:]) for w, x, y in by_rank])


def without(left_out: int) -> Callable:
    """The gradient without one micro-batch of every rank, divided by the number of all."""

    def kept(by_rank: Sequence[tuple]) -> list[np.ndarray]:
        steps = len(by_rank[0][1])
        if steps == 1:
            return [0 * w for w, _, _ in by_rank]
        fewer = [
            (w, np.delete(x, left_out, axis=0), np.delete(y, left_out, axis=0))
            for w, x, y in by_rank
        ]
        return [(steps - 1) / steps * one for one in big_batch(fewer)]

    return kept


def first_alone(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """The gradient of the first micro-batch of every rank."""
    return big_batch([(w, x[:1], y[:1]) for w, x, y in by_rank])


def only_rank_0(by_rank: Sequence[tuple]) -> list[np.ndarray]:
    """As if rank 0 alone got the sum, and all divided what they have."""
    others = [one / len(by_rank) for one in each_alone(by_rank)[1:]]
    return [big_batch(by_rank)[0], *others]


def times(factor: Callable[[int, int], float]) -> Callable:
    """The right gradient times factor(ranks, micro-batches)."""

    def scaled(by_rank: Sequence[tuple]) -> list[np.ndarray]:
        ranks, steps = len(by_rank), len(by_rank[0][1])
        return [factor(ranks, steps) * one for one in big_batch(by_rank)]

    return scaled


def micro_batches(
    rng: np.random.Generator, ranks: int, steps: int, images: int, width: int
) -> list[tuple]:
    """w[D], the same in all ranks; x[k, b, D] and y[k, b] of each."""
    w = rng.normal(size=width).astype("f4")
    by_rank = []
    for _ in range(ranks):
        x = rng.normal(size=(steps, images, width)).astype("f4")
        y = rng.normal(size=(steps, images)).astype("f4")
        by_rank.append((w, x, y))
    return by_rank


def once(traffic: Traffic) -> str | None:
    """What travels more often than it has to."""
    others = [one.name for one in traffic.collectives if one.name != "all_reduce"]
    if others and traffic.ranks > 1:
        return (
            f"the gradient is right, but `{others[0]}` hands each rank's numbers to others as they "
            "are: one all-reduce sums them on their way."
        )
    weights, images, _ = traffic.inputs[0]
    size = weights.nbytes
    sums = sum(one.bytes for one in traffic.collectives)
    sent = traffic.bytes + 2 * (traffic.ranks - 1) * sums  # as if each sum were a ring's
    if sent > 2 * (traffic.ranks - 1) * size:
        return (
            f"the gradient is right, but {sent / (2 * (traffic.ranks - 1) * size):.3g} times the "
            f"bytes of one all-reduce travel, for {len(images)} micro-batches. One is enough."
        )
    return None


accumulate = rank_exercise(
    "distributed.accumulate",
    solution=solutions.accumulate,
    oracle=big_batch,
    cases=ranks_cases(
        {
            "all sizes 1": (1, 1, 1, 1),
            "one micro-batch": (2, 1, 3, 5),
            "prime": (2, 3, 5, 7),
        }
        | {"ragged": (3, 4, 2, 3), "many": (2, 8, 4, 10)},
        micro_batches,
        types={"ragged": "float64"},
        then=[(3, 2, 5)],
    ),
    wrong={
        "not_over_ranks": each_alone,
        "only_rank_0": only_rank_0,
        "only_the_first": first_alone,
        "only_the_last": last_alone,
        "first_left_out": without(0),
        "last_left_out": without(-1),
        "by_images": lambda by_rank: [
            len(by_rank[0][1]) / by_rank[0][1].shape[1] * one for one in big_batch(by_rank)
        ],
        "by_all_images": lambda by_rank: [
            one / by_rank[0][1].shape[1] for one in big_batch(by_rank)
        ],
        "halved": times(lambda ranks, steps: steps / 2),
        "averaged_twice": times(lambda ranks, steps: 1 / ranks),
        "times_ranks": times(lambda ranks, steps: ranks * ranks),
        "not_scaled": times(lambda ranks, steps: steps),
        "not_averaged": times(lambda ranks, steps: ranks),
        "neither": times(lambda ranks, steps: ranks * steps),
        "scaled_twice": times(lambda ranks, steps: 1 / steps),
    },
    demand=once,
    forbidden=("labkit.distributed.data_parallel", "labkit.distributed.ddp"),
)
