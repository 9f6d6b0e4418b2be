"""The exercises of lesson the_ring: the two halves of a ring, and the ring.

Each is a function of a rank that sends to the next one only. A right sum at the wrong cost is
refused: bytes, links and steps are those that the referee has counted.
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic
from labkit_lessons.distributed.the_ring import solutions

# --- what every ring has to keep


def ring_demand(
    steps: Callable[[int], int], total: Callable[[Traffic], int], what: str
) -> Callable[[Traffic], str | None]:
    """What is wrong with a ring whose results are right, or None.

    steps   steps(ranks): how many messages one after the other are enough
    total   total(traffic): the bytes that all ranks together send
    what    the cause to name where more were sent
    """

    def demand(traffic: Traffic) -> str | None:
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

    return demand


def _itemsize(traffic: Traffic) -> int:
    return max(np.asarray(given[0]).itemsize for given in traffic.inputs)


def tensor_bytes(traffic: Traffic) -> int:
    """S: the bytes of one rank's tensor."""
    return np.asarray(traffic.inputs[0][0]).nbytes


def gathered_bytes(traffic: Traffic) -> int:
    """The bytes of all ranks' chunks together."""
    return sum(np.asarray(given[0]).nbytes for given in traffic.inputs)


# --- distributed.reduce_scatter

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


def next_chunk(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if chunk r left rank r in step 1."""
    parts = scattered(inputs)
    return parts[1:] + parts[:1]


def own_missing(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if what arrives last took the place of the rank's own numbers."""
    own = chunks_of(inputs)
    if len(inputs) == 1:
        return own[0]
    return [part - own[rank][rank] for rank, part in enumerate(scattered(inputs))]


def not_summed(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if every rank sent its own numbers in each step."""
    own = chunks_of(inputs)
    if len(inputs) == 1:
        return own[0]
    return [own[rank][rank] + own[rank - 1][rank] for rank in range(len(inputs))]


def replaced(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if what arrives took the place of the rank's numbers: the next one's go round."""
    own = chunks_of(inputs)
    return [own[(rank + 1) % len(inputs)][rank] for rank in range(len(inputs))]


def backwards(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if chunks went to the rank before: what is added to chunk r never comes to rank r."""
    own = chunks_of(inputs)
    ranks = len(inputs)
    now = [list(parts) for parts in own]
    for step in range(1, ranks):
        sent = [now[rank][(rank - step) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            chunk = (rank - step - 1) % ranks
            arrived = sent[(rank + 1) % ranks]
            if arrived.shape == now[rank][chunk].shape:
                now[rank][chunk] = now[rank][chunk] + arrived
    return [now[rank][rank] for rank in range(ranks)]


def equal_chunks(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the last chunk were the longer one."""
    total = summed(inputs).ravel()
    size = len(total) // len(inputs)
    places = [rank * size for rank in range(1, len(inputs))]
    return np.split(total, places)


reduce_scatter = rank_exercise(
    "distributed.reduce_scatter",
    solution=solutions.reduce_scatter,
    cases=ranks_cases(SIZES, tensors, TYPES),
    oracle=scattered,
    wrong={
        "next_chunk": next_chunk,
        "own_missing": own_missing,
        "not_summed": not_summed,
        "nothing_added": lambda inputs: [own[r] for r, own in enumerate(chunks_of(inputs))],
        "replaced": replaced,
        "equal_chunks": equal_chunks,
        "backwards": backwards,
        "averaged": lambda inputs: [part / len(inputs) for part in scattered(inputs)],
    },
    demand=ring_demand(
        steps=lambda ranks: ranks - 1,
        total=lambda traffic: (traffic.ranks - 1) * tensor_bytes(traffic),
        what="In each step, a rank sends a single chunk.",
    ),
    forbidden=FORBIDDEN,
)

# --- distributed.all_gather


def finished(rng: np.random.Generator, ranks: int, length: int) -> list[tuple[np.ndarray, int]]:
    """For each rank its chunk of one tensor, and the tensor's length."""
    return [(part, length) for part in np.array_split(distinct(rng, length), ranks)]


def whole(inputs: Sequence[tuple]) -> np.ndarray:
    """The tensor that the chunks are of."""
    return np.concatenate([part for part, _ in inputs])


def with_chunks(inputs: Sequence[tuple], chosen: Callable[[int], Sequence[int]]) -> list:
    """The tensor in each rank, with 0 where the chunks are none of chosen(rank)."""
    ranks = len(inputs)
    found = []
    for rank in range(ranks):
        parts = [part if k in chosen(rank) else 0 * part for k, (part, _) in enumerate(inputs)]
        found.append(np.concatenate(parts))
    return found


def in_order(inputs: Sequence[tuple], order: Callable[[int], Sequence[int]]) -> list:
    """The chunks in each rank behind each other, in order(rank)."""
    return [
        np.concatenate([inputs[k % len(inputs)][0] for k in order(rank)])
        for rank in range(len(inputs))
    ]


def neighbours_everywhere(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the rank before sent its own chunk in each step; cut or filled up with 0 to fit."""
    found = []
    for rank in range(len(inputs)):
        before = inputs[rank - 1][0]
        parts = []
        for k, (part, _) in enumerate(inputs):
            fits = np.resize(before, len(part)) if len(before) else 0 * part
            parts.append(part if k == rank else fits)
        found.append(np.concatenate(parts))
    return found


all_gather = rank_exercise(
    "distributed.all_gather",
    solution=solutions.all_gather,
    cases=ranks_cases(SIZES, finished, TYPES),
    oracle=lambda inputs: [whole(inputs)] * len(inputs),
    wrong={
        "one_step": lambda inputs: with_chunks(inputs, lambda r: (r, (r - 1) % len(inputs))),
        "only_own": lambda inputs: with_chunks(inputs, lambda r: (r,)),
        "one_step_less": lambda inputs: with_chunks(
            inputs, lambda r: [(r - step) % len(inputs) for step in range(max(len(inputs) - 1, 1))]
        ),
        "one_too_early": lambda inputs: with_chunks(inputs, lambda r: ()),
        "own_first": lambda inputs: in_order(inputs, lambda r: range(r, r + len(inputs))),
        "by_arrival": lambda inputs: in_order(inputs, lambda r: range(r, r - len(inputs), -1)),
        "neighbours_everywhere": neighbours_everywhere,
    },
    demand=ring_demand(
        steps=lambda ranks: ranks - 1,
        total=lambda traffic: (traffic.ranks - 1) * gathered_bytes(traffic),
        what="In each step, a rank sends a single chunk.",
    ),
    forbidden=FORBIDDEN,
)

# --- distributed.ring_all_reduce


def everywhere(total: np.ndarray, inputs: Sequence[tuple]) -> list[np.ndarray]:
    """The same in every rank."""
    return [total] * len(inputs)


def partial(inputs: Sequence[tuple], rank: int, chunk: int) -> np.ndarray:
    """What a rank has as a chunk after the first half, if it is not its own."""
    parts = chunks_of(inputs)
    ranks = len(inputs)
    passed = [(chunk + 1 + k) % ranks for k in range((rank - chunk - 1) % ranks + 1)]
    return sum(parts[one][chunk] for one in passed)


def half(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if there were no second half."""
    ranks = range(len(inputs))
    shape = inputs[0][0].shape
    return [np.concatenate([partial(inputs, r, k) for k in ranks]).reshape(shape) for r in ranks]


def twice(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the second half added what arrives."""
    ranks = len(inputs)
    now = [[partial(inputs, rank, chunk) for chunk in range(ranks)] for rank in range(ranks)]
    for step in range(1, ranks):
        sent = [now[rank][(rank - step + 1) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            chunk = (rank - step) % ranks
            now[rank][chunk] = now[rank][chunk] + sent[rank - 1]
    return [np.concatenate(row).reshape(inputs[0][0].shape) for row in now]


def only_its_chunk(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """As if the chunk of the sum were written into a tensor of zeros."""
    parts = scattered(inputs)
    return [
        np.concatenate([part if k == rank else 0 * part for k, part in enumerate(parts)]).reshape(
            inputs[0][0].shape
        )
        for rank in range(len(inputs))
    ]


def neighbour_only(inputs: Sequence[tuple]) -> list[np.ndarray]:
    """The sum of two ranks."""
    if len(inputs) == 1:
        return [inputs[0][0]]
    return [inputs[rank][0] + inputs[rank - 1][0] for rank in range(len(inputs))]


ring_all_reduce = rank_exercise(
    "distributed.ring_all_reduce",
    solution=solutions.ring_all_reduce,
    cases=ranks_cases(
        {
            "one number": (1, 1),
            "two ranks": (2, 5),
            "three ranks": (3, 2, 4),
            "four ranks": (4, 5, 1, 3),
            "fewer numbers than ranks": (4, 2, 1),
            "a few long rows": (3, 4, 41, 1),
            "no numbers": (2, 0, 2, 5),
        },
        tensors,
        types={"three ranks": "float64", "four ranks": "int64"},
    ),
    oracle=lambda inputs: everywhere(summed(inputs), inputs),
    wrong={
        "own_only": lambda inputs: [x for (x,) in inputs],
        "averaged": lambda inputs: everywhere(summed(inputs) / len(inputs), inputs),
        "half": half,
        "twice": twice,
        "neighbour_only": neighbour_only,
        "only_its_chunk": only_its_chunk,
        "gathers_x": lambda inputs: everywhere(
            np.concatenate([own[rank] for rank, own in enumerate(chunks_of(inputs))]).reshape(
                inputs[0][0].shape
            ),
            inputs,
        ),
        "the_tutorials": lambda inputs: [x * (1 + (len(inputs) - 1) // 2) for (x,) in inputs],
    },
    demand=ring_demand(
        steps=lambda ranks: 2 * (ranks - 1),
        total=lambda traffic: 2 * (traffic.ranks - 1) * tensor_bytes(traffic),
        what="A ring of whole tensors sends n (n - 1) S, and one with chunks 2 (n - 1) S.",
    ),
    forbidden=FORBIDDEN,
)

EXERCISES = [reduce_scatter, all_gather, ring_all_reduce]
