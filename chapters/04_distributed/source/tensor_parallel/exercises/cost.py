"""What the exercises of lesson tensor_parallel in ranks share: cost of an all-reduce, numbers.

A right result at the wrong cost is refused.
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.checks.phrasing import counted
from labkit.distributed.judging.traffic import Traffic

FORBIDDEN = ("labkit.distributed.tensor_parallel", "labkit_lessons.distributed.tensor_parallel")


def one_all_reduce(size: Callable[[Sequence], int]) -> Callable[[Traffic], str | None]:
    """What is wrong where right results cost more than one all-reduce, or None.

    size   size(inputs of a rank): the bytes of the tensor that is to be summed
    """

    def cost_limit(traffic: Traffic) -> str | None:
        ranks = traffic.ranks
        bytes = size(traffic.inputs[0])
        in_a_ring = (
            2 * (ranks - 1) * (bytes / ranks + traffic.inputs[0][0].itemsize)
        )  # chunks differ by one number
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
        by_rank = [sum(m.source == rank for m in traffic.messages) for rank in range(ranks)]
        around = 2 * (ranks - 1)  # messages of each rank in one ring
        if max(by_rank) > around > 0:
            return (
                f"The result is right, but {max(by_rank)} messages leave a rank, where one "
                f"all-reduce of the whole tensor needs {around}."
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

    return cost_limit


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
