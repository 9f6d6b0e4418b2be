"""What the exercises of lesson the_ring share: cases, sums, and what every ring has to keep."""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.distributed.judging.traffic import Traffic


def ring_cost_limit(
    steps: Callable[[int], int], total: Callable[[Traffic], int], what: str
) -> Callable[[Traffic], str | None]:
    """What is wrong with a ring whose results are right, or None.

    steps   steps(ranks): how many messages one after the other are enough
    total   total(traffic): the bytes that all ranks together send
    what    the cause to name where more were sent
    """

    def cost_limit(traffic: Traffic) -> str | None:
        ranks = traffic.ranks
        for source, target in traffic.links:
            if target != (source + 1) % ranks:
                return (
                    f"The result is right, but rank {source} sends to rank {target}: in this ring "
                    f"it sends to rank {(source + 1) % ranks} only."
                )
        if traffic.bytes != total(traffic):
            return (
                f"The result is right, but its cost is not: {ranks} ranks sent {traffic.bytes:,} "
                f"bytes altogether, where {total(traffic):,} are enough. {what}"
            )
        size = _itemsize(traffic)
        share = traffic.bytes / max(ranks, 1)
        for rank, sent in enumerate(traffic.sent):
            if abs(sent - share) > 2 * (ranks - 1) * size:
                counts = {source: 0 for source in range(ranks)}
                for message in traffic.messages:
                    counts[message.source] += 1
                if len(set(counts.values())) == 1:
                    return (
                        f"The result is right, but the chunks are unequal: rank {rank} sent "
                        f"{sent:,} bytes, and {share:,.0f} is the mean. Cut the numbers, not the "
                        "rows, into chunks."
                    )
                return (
                    f"The result is right, but rank {rank} sent {sent:,} bytes, where its share "
                    f"is {share:,.0f}: in each step, every rank sends one chunk."
                )
        if traffic.steps > steps(ranks):
            return (
                f"The result is right, but {traffic.steps} messages came one after the other, "
                f"where {steps(ranks)} are enough: all ranks send in the same step, with "
                "`exchange`."
            )
        return None

    return cost_limit


def _itemsize(traffic: Traffic) -> int:
    return max(np.asarray(given[0]).itemsize for given in traffic.inputs)


def tensor_bytes(traffic: Traffic) -> int:
    """S: the bytes of one rank's tensor."""
    return np.asarray(traffic.inputs[0][0]).nbytes


def gathered_bytes(traffic: Traffic) -> int:
    """The bytes of all ranks' chunks together."""
    return sum(np.asarray(given[0]).nbytes for given in traffic.inputs)


SIZES = {
    "one number": (1, 1),
    "two ranks": (2, 6),
    "chunks of equal size": (3, 6),
    "chunks of 3, 2 and 2": (3, 7),
    "many numbers": (4, 103),
    "fewer numbers than ranks": (4, 3),
    "no numbers": (2, 0),
}
TYPES = {"chunks of 3, 2 and 2": "float64", "many numbers": "int64"}
# The exercises are about `exchange`: neither torch's own functions nor the course's collectives.
FORBIDDEN = ("torch.distributed", "labkit.distributed.collectives")


def tensors(rng: np.random.Generator, ranks: int, *shape: int) -> list[tuple[np.ndarray]]:
    """A tensor for each rank, of both signs; sums of them are exact, in whatever order."""
    return [(distinct(rng, *shape),) for _ in range(ranks)]


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Quarters of whole numbers from -500 to 500, no two of them alike, and none of them 0."""
    numbers = np.delete(np.arange(-2000, 2000), 2000)
    return (rng.permutation(numbers)[: np.prod(shape)] / 4).reshape(shape).astype(np.float32)


def chunks_of(inputs: Sequence[tuple]) -> list[list[np.ndarray]]:
    """chunks[rank][chunk] of every rank's tensor, as `tensor_split` cuts them."""
    return [np.array_split(x.ravel(), len(inputs)) for (x,) in inputs]


def summed(inputs: Sequence[tuple]) -> np.ndarray:
    """The sum of all ranks' tensors."""
    return sum(x for (x,) in inputs)


def scattered(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """For each rank its chunk of the sum."""
    return np.array_split(summed(inputs).ravel(), len(inputs))
