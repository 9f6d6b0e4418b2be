"""Exercise distributed.sharded_step: forward and backward of layers cut over real ranks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import CollectiveCall, Traffic
from labkit_lessons.distributed.hybrid_and_sharded import solutions

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


@dataclass(frozen=True)
class Slips:
    """What a learner's step may do otherwise; the defaults are right.

    own_output    the layer's output stands for its input in dW
    same_x        all layers have the input of the first one
    turned_layer  y = x W^T in forward
    turned_back   dx = dy W^T in backward: right
    turned_dw     dW = dy^T x, which is the transpose of x^T dy
    dy_moves      when dy becomes that of the layer before: "after" dW, "before" it, or "never"
    """

    own_output: bool = False
    same_x: bool = False
    turned_layer: bool = False
    turned_back: bool = True
    turned_dw: bool = False
    dy_moves: str = "after"


RIGHT = Slips()


def own_gradients(
    weights: np.ndarray, x: np.ndarray, dy: np.ndarray, slips: Slips = RIGHT
) -> np.ndarray:
    """[L, D, D] of one rank."""
    inputs = [x]
    for weight in weights:
        inputs.append(inputs[-1] @ (weight.T if slips.turned_layer else weight))
    gradients = np.empty_like(weights)
    for place in reversed(range(len(weights))):
        weight = weights[place]
        dx = dy @ (weight.T if slips.turned_back else weight)
        if slips.dy_moves == "before":
            dy = dx
        gradient = inputs[0 if slips.same_x else place + slips.own_output].T @ dy
        gradients[place] = gradient.T if slips.turned_dw else gradient
        if slips.dy_moves == "after":
            dy = dx
    return gradients


def summed(inputs: Shards, slips: Slips = RIGHT) -> np.ndarray:
    """[L, D * D]: over the ranks."""
    weights = whole_weights(inputs)
    total = sum(own_gradients(weights, x, dy, slips) for _, x, dy in inputs)
    return total.reshape(len(weights), -1)


def cut(gradients: np.ndarray, ranks: int) -> list[list[np.ndarray]]:
    """[L, D * D] -> for each rank its chunk of each layer."""
    return [list(chunk) for chunk in np.split(gradients, ranks, axis=1)]


def mean_shards(inputs: Shards, slips: Slips = RIGHT) -> list[list[np.ndarray]]:
    """What each rank keeps of the mean over the ranks."""
    return cut(summed(inputs, slips) / np.float32(len(inputs)), len(inputs))


def with_slips(slips: Slips) -> Callable[[Shards], list[list[np.ndarray]]]:
    """A wrong idea: all ranks make these slips."""
    return lambda inputs: mean_shards(inputs, slips)


def own_shards(inputs: Shards) -> list[list[np.ndarray]]:
    """As if each rank kept its chunk of its own gradient."""
    return [cut(summed_alone(inputs, rank), len(inputs))[rank] for rank in range(len(inputs))]


def summed_alone(inputs: Shards, rank: int) -> np.ndarray:
    """[L, D * D] of one rank."""
    weights = whole_weights(inputs)
    _, x, dy = inputs[rank]
    return own_gradients(weights, x, dy).reshape(len(weights), -1)


def divided_by(count: Callable[[Shards], float]) -> Callable[[Shards], list[list[np.ndarray]]]:
    """As if the sum were divided by another number than that of the ranks."""
    return lambda inputs: cut(summed(inputs) / np.float32(count(inputs)), len(inputs))


def cut_by_columns(inputs: Shards) -> list[list[np.ndarray]]:
    """As if each row of a layer were reduce-scattered by itself."""
    ranks, width = len(inputs), inputs[0][1].shape[1]
    mean = summed(inputs).reshape(-1, width, width) / np.float32(ranks)
    if width % ranks:
        raise ValueError
    return [[layer.ravel() for layer in part] for part in np.split(mean, ranks, axis=2)]


def of_the_rank_before(inputs: Shards) -> list[list[np.ndarray]]:
    """As if rank r kept chunk r - 1."""
    shards = mean_shards(inputs)
    return [shards[-1], *shards[:-1]]


def scaled_on_the_way(inputs: Shards) -> np.ndarray:
    """As if dy were divided by the ranks in each layer, besides the mean."""
    ranks, layers = len(inputs), len(inputs[0][0])
    times = np.arange(layers)[::-1, None]  # the last layer's dy has not passed any
    return summed(inputs) / np.float32(ranks) / np.float32(ranks) ** times


WRONG_STEP = {
    "undivided": lambda inputs: cut(summed(inputs), len(inputs)),
    "by_two": divided_by(lambda inputs: 2),
    "cut_by_columns": cut_by_columns,
    "of_the_rank_before": of_the_rank_before,
    "by_rows": divided_by(lambda inputs: len(inputs) * len(inputs[0][1])),
    "by_ranks_twice": divided_by(lambda inputs: len(inputs) ** 2),
    "by_layers": divided_by(lambda inputs: len(inputs[0][0])),
    "multiplied": divided_by(lambda inputs: 1 / len(inputs)),
    "dy_divided": lambda inputs: cut(scaled_on_the_way(inputs), len(inputs)),
    "outputs": with_slips(Slips(own_output=True)),
    "own": own_shards,
    "not_turned": with_slips(Slips(turned_back=False)),
    "turned_in_forward": with_slips(Slips(turned_layer=True)),
    "rows_and_columns": with_slips(Slips(turned_layer=True, turned_back=False)),
    "as_in_pytorch": with_slips(Slips(turned_layer=True, turned_back=False, turned_dw=True)),
    "turned_gradient": with_slips(Slips(turned_dw=True)),
    "dy_too_early": with_slips(Slips(dy_moves="before")),
    "dy_never": with_slips(Slips(dy_moves="never")),
    "first_input": with_slips(Slips(same_x=True)),
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
    if gathered_first(traffic) > count + 1:
        return (
            f"The result is right, but {gathered_first(traffic) - count} of {count} layers are "
            "gathered for backward before the first reduce-scatter, so that they are whole at the "
            "same time. Reduce-scatter each layer's gradients before the next gather."
        )
    together = max(
        [m.bytes for m in traffic.messages] + [call.bytes for call in gathers(traffic)], default=0
    )
    if together > shards[0].nbytes:
        return (
            f"The result is right, but a rank sends {together:,} bytes at once, where its shard of "
            f"a layer has {shards[0].nbytes:,}: several layers are whole at the same time. Gather "
            "them one by one, each when it is needed."
        )
    return None


def gathered_first(traffic: Traffic) -> float:
    """How often rank 0 gathers a layer before its first reduce-scatter, forward included."""
    sends, whole = 0, 0
    for call in traffic.calls[0]:
        if call.called.startswith("reduce_scatter"):
            break
        if call.what == "begin" and call.called.startswith("all_gather"):
            sends += call.name.endswith("send")
            whole += call.name.startswith("all_gather")
    return whole + sends // max(traffic.ranks - 1, 1)


def gathers(traffic: Traffic) -> list[CollectiveCall]:
    """PyTorch's own gathers."""
    return [call for call in traffic.collectives if call.name.startswith("all_gather")]


def _sent_in(call: CollectiveCall, ranks: int) -> int:
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
        types={"prime": "float64"},
    ),
    oracle=mean_shards,
    wrong=WRONG_STEP,
    results=("shards",),
    demand=three_rounds,
    forbidden=(
        "torch.distributed.fsdp",
        "torch.autograd",
        "labkit.distributed.sharded",
        "labkit_lessons.distributed.hybrid_and_sharded",
    ),
)
