"""Exercise distributed.sharded_step: forward and backward of layers cut over real ranks."""

from collections.abc import Sequence

import numpy as np

from labkit.distributed.exercises.solutions import hybrid_and_sharded as solutions
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Together, Traffic

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
