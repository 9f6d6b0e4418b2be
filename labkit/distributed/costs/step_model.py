"""Seconds of one training step, term by term: a language model, a cluster and a layout.

    terms = predict_step(language_model("llama31_8b"), cluster("h100"), Layout(data=8), 8192)
    terms.compute, terms.tensor, terms.bubble, terms.exposed, ...       # seconds
    terms.seconds, terms.binds, terms.tokens_per_second

With t_F = forward FLOPs of a micro-batch / (t p) / (peak x efficiency), t_B = 2 t_F, and a second
forward where blocks are recomputed, for t tensor ranks, p stages of v chunks, m micro-batches:

    compute    m (t_F + t_B)
    tensor     m layers / p times 4 ring all-reduces of a micro-batch's activations (6 recomputed)
    bubble     (p - 1) / v pieces, each (t_F + t_B) and its share of `tensor`
    messages   2 (p - 1) messages of a micro-batch's activations
    data       a ring all-reduce of the rank's gradients; under ZeRO-3 gathers of weights as well
    hidden     what of `data` travels while the rank computes
    update     the optimizer reads and writes a rank's state once

It leaves out that embedding and head make two stages heavier, that small matrices are less
efficient than large ones, that batches have to be loaded, and that ranks wait for the slowest.
Lesson a_cost_model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.distributed.costs.memory_model import NUMBER, parameters_of_rank
from labkit.distributed.sharded.memory import MIXED

if TYPE_CHECKING:
    from labkit.distributed.costs.clusters import Cluster
    from labkit.distributed.costs.cost_model import CostModel
    from labkit.distributed.costs.language_models import LanguageModel
    from labkit.distributed.costs.layouts import Layout

BACKWARD = 2  # times the forward: gradients by the input, and by the weights
ALL_REDUCES = 2  # of a block, in one direction: behind attention, and behind the MLP


@dataclass(frozen=True)
class StepTerms:
    """Seconds of one step of one rank. `data` includes `hidden`; `seconds` counts what shows.

    tokens   of a step, all ranks together
    flops    of a step that one rank computes, recomputed ones included
    """

    compute: float
    tensor: float
    bubble: float
    messages: float
    data: float
    hidden: float
    update: float
    tokens: int
    flops: float

    @property
    def exposed(self) -> float:
        """Of `data`, what the rank waits for."""
        return self.data - self.hidden

    @property
    def parts(self) -> dict[str, float]:
        """The terms whose sum is the step, by name."""
        return {
            "compute": self.compute,
            "tensor": self.tensor,
            "bubble": self.bubble,
            "messages": self.messages,
            "data, not hidden": self.exposed,
            "update": self.update,
        }

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return sum(self.parts.values())

    @property
    def binds(self) -> str:
        """The name of the largest part."""
        return max(self.parts, key=self.parts.get)

    @property
    def tokens_per_second(self) -> float:
        """Of all ranks together."""
        return self.tokens / self.seconds


def predict_step(
    model: LanguageModel,
    cluster: Cluster,
    layout: Layout,
    sequence: int,
    number_format: str = "bf16",
) -> StepTerms:
    """The terms of one step on sequences of so many tokens.

    number_format   of the matrix products, whose peak counts; what travels has 2 bytes a number

    Raises ValueError where the model cannot be laid out like this.
    """
    layout.demand_fits(model)
    rate = cluster.rate(number_format)
    m, p, t = layout.micro_batches, layout.pipeline, layout.tensor
    forwards = 1 + BACKWARD + layout.recompute
    flops = layout.sequences * model.forward_flops(sequence) / (t * p)  # of one forward
    activations = layout.sequences * sequence * model.width * NUMBER  # bytes of a micro-batch

    forward = flops / rate
    compute = forwards * forward
    all_reduces = (2 + layout.recompute) * ALL_REDUCES * model.layers / p
    tensor_ring = cluster.ring(t, message=activations / t)
    all_reduce = tensor_ring.predict("ring_all_reduce", t, activations)
    tensor = all_reduces * all_reduce
    stages = cluster.link(p, stride=t * layout.data)
    messages = 2 * (p - 1) * stages.message(activations)
    weights = NUMBER * parameters_of_rank(model, layout)  # bytes, and as many of gradients
    ring = cluster.ring(layout.data, stride=t, message=weights / layout.data)
    data, behind = _data_traffic(model, ring, layout, forward)
    return StepTerms(
        compute=m * compute,
        tensor=m * tensor,
        bubble=(p - 1) / layout.chunks * (compute + tensor),
        messages=messages,
        data=data,
        hidden=min(data, behind),
        update=_bytes_of_update(model, layout) / float(cluster.machine.bandwidth),
        tokens=layout.batch * sequence,
        flops=m * forwards * flops,
    )


def _data_traffic(
    model: LanguageModel, ring: CostModel, layout: Layout, forward: float
) -> tuple[float, float]:
    """Seconds that gradients (and ZeRO's weights) travel, and those behind which they could hide.

    Gradients leave in the backward of the last micro-batch. ZeRO-1 and 2 reduce-scatter them, and
    gather the weights in the next forward: as many bytes. ZeRO-3 gathers for each forward and each
    backward. In each pass, the first unit to come or the last to go has nothing to hide behind.
    """
    ranks = layout.data
    bytes = NUMBER * parameters_of_rank(model, layout)
    backward = (BACKWARD + layout.recompute) * forward
    scatter = ring.predict("reduce_scatter", ranks, bytes)
    gather = ring.predict("all_gather", ranks, bytes / ranks)
    if layout.stage == 3:
        seconds = scatter + 2 * layout.micro_batches * gather
        computing = layout.micro_batches * (forward + backward)
    elif layout.stage > 0:
        seconds = scatter + gather
        computing = forward + backward
    else:
        seconds = ring.predict("ring_all_reduce", ranks, bytes)
        computing = backward
    units = max(model.layers / layout.pipeline, 1)
    return seconds, layout.overlap * computing * (1 - 1 / units)


def _bytes_of_update(model: LanguageModel, layout: Layout) -> float:
    """What the optimizer reads and writes: all 16 bytes of each weight that it updates, twice."""
    shared = layout.data if layout.stage >= 1 else 1
    return 2 * sum(MIXED.values()) * parameters_of_rank(model, layout) / shared
