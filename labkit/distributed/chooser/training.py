"""What training a language model needs: `train("llama31_8b", "bf16", tokens=1e9)`.

Each plan is the fastest layout that fits, of data x tensor ranks with or without ZeRO and
recomputed blocks, by the step model and the memory model of lesson a_cost_model. Weights and
gradients have 16 bits, and a float32 copy and Adam's moments stand beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from labkit.distributed.chooser.derivation import Derived, derive, number, total
from labkit.distributed.chooser.formats import training_format
from labkit.distributed.chooser.models import context_of, lookup
from labkit.distributed.chooser.offers import cluster_of
from labkit.distributed.chooser.serving import OPERATORS
from labkit.distributed.chooser.workload import Efficiency, Plan, Workload, above_zero
from labkit.distributed.costs.clusters import Cluster
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import LanguageModel
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.memory_model import RankMemory, bytes_of_rank
from labkit.distributed.costs.step_model import StepTerms, predict_step
from labkit.errors import whole
from labkit.hardware import Machine
from labkit.provenance import rounded

STAGES = (0, 1, 2, 3)  # of ZeRO
KINDS = ("weights", "gradients", "moments", "activations", "gathered")
ASSUMED = Efficiency(0.4, "assumed")
MOST = 1e16  # tokens; Llama 3.1 was trained on 1.5e13
LEFT_OUT = "Not counted: buffers, loading data, failures, evaluation; pipelines are not tried."


@dataclass(frozen=True)
class Training(Workload):
    """A training: batch x context tokens in each step."""

    model: LanguageModel
    batch: int
    context: int

    def efficiency(self, machine: Machine) -> Efficiency:
        """That of clusters.toml: fitted to a published training, or assumed."""
        cluster = cluster_of(machine)
        if cluster.fitted is None:
            return ASSUMED
        return Efficiency(cluster.efficiency, f"fitted to {cluster.fitted} in clusters.toml")

    def is_shared_by(self, count: int, machine: Machine) -> bool:
        """Whether there is a layout that shares the batch evenly."""
        return any(True for _ in self._layouts(count, machine))

    def memory(self, count: int, machine: Machine) -> Derived:
        """Of the layout that needs least."""
        found = [self._memory(layout) for layout in self._layouts(count, machine)]
        return min(found, key=lambda memory: memory.value)

    def plan(self, machine: Machine, count: int, efficiency: float) -> Plan:
        """The fastest layout that fits into the machine's memory, by the step model."""
        cluster = replace(cluster_of(machine, count), efficiency=efficiency)
        room = float(machine.memory)
        fits = [
            layout for layout in self._layouts(count, machine) if self._bytes(layout).total <= room
        ]
        layout = min(fits, key=lambda layout: self._terms(cluster, layout).seconds)
        terms = self._terms(cluster, layout)
        parts = self._parts(machine, layout, terms, efficiency)
        sum_ = total([part.number for part in parts.values()])
        return Plan(
            count=count,
            memory=self._memory(layout),
            parts=parts,
            seconds=derive("s", "compute + update + links that are not hidden", sum_),
            layout=_words(layout),
        )

    def ring(self, machine: Machine, count: int) -> CostModel:
        """The ring for long messages: each layout has its own for each side of its mesh."""
        return cluster_of(machine, count).ring(count)

    def _layouts(self, count: int, machine: Machine) -> Iterator[Layout]:
        """All that share the batch evenly: tensor ranks within a node, data ranks for the rest."""
        per_node = cluster_of(machine, count).per_node
        tensor = 1
        while tensor <= min(count, per_node, self.model.heads):
            data = count // tensor
            if self.batch % data == 0 and self.model.heads % tensor == 0:
                for stage in STAGES if data > 1 else (0,):
                    for recompute in (False, True):
                        yield Layout(
                            data=data,
                            tensor=tensor,
                            micro_batches=self.batch // data,
                            stage=stage,
                            recompute=recompute,
                        )
            tensor *= 2

    def _bytes(self, layout: Layout) -> RankMemory:
        return bytes_of_rank(self.model, layout, self.context)

    def _terms(self, cluster: Cluster, layout: Layout) -> StepTerms:
        return predict_step(self.model, cluster, layout, self.context, self.number_format)

    def _memory(self, layout: Layout) -> Derived:
        """The bytes of a rank, by kind."""
        memory = self._bytes(layout)
        kinds = [kind for kind in KINDS if getattr(memory, kind)]
        parts = [number(getattr(memory, kind), "B") for kind in kinds]
        return derive("B", " + ".join(kinds), total(parts))

    def _parts(
        self, machine: Machine, layout: Layout, terms: StepTerms, efficiency: float
    ) -> dict[str, Derived]:
        """The step model's terms by what they wait for; the arithmetic with all its figures."""
        peak = number(float(machine.rate(self.number_format)), "FLOP/s")
        rate = number(layout.ranks) * peak * efficiency
        sharers = layout.tensor * (layout.data if layout.stage else 1)
        bandwidth = number(sharers) * number(float(machine.bandwidth), "B/s")
        passes = 4 if layout.recompute else 3
        flops = number(passes) * self.model.forward_flops(self.context) * self.batch
        links = terms.tensor + terms.bubble + terms.messages + terms.exposed
        return {
            "compute": derive(
                "s",
                f"{passes} x forward pass x sequences / (machines x peak x efficiency)",
                flops / rate,
            ),
            "bandwidth": derive(
                "s",
                "the update: 2 x 16 bytes x parameters / (machines that share them x bandwidth)",
                number(2) * 16 * self.model.parameters / bandwidth,
            ),
            "links": derive("s", "messages that are not hidden (lesson 16)", number(links, "s")),
        }


def train(
    model: LanguageModel | str,
    number_format: str = "bf16",
    tokens: float = 1e9,
    batch: int = 256,
    context: int = 2048,
) -> Training:
    """Training on so many tokens: a step has `batch` sequences of `context` tokens.

    Raises ValueError for sizes that are none, and for other formats than bf16 and fp16.
    """
    model = lookup(model)
    training_format(number_format, ("bf16", "fp16"))
    whole("batch", batch)
    context_of(model, context)
    above_zero("tokens", tokens, most=MOST)
    size = f"{batch:,} x {context:,} in each step"
    return Training(
        task="train",
        says=f"{model.name} in {number_format}, trained on {_people(tokens)} tokens, {size}",
        number_format=number_format,
        operators=OPERATORS | {"backward"},
        steps=derive(
            "steps", "tokens / tokens of a step", number(tokens) / (number(batch) * context)
        ),
        step="an update of the weights",
        paid="the training",
        left_out=LEFT_OUT,
        unit="h",
        explained="",
        model=model,
        batch=batch,
        context=context,
    )


def _people(tokens: float) -> str:
    """ "15 trillion", "1 billion", "200,000"."""
    for name, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if tokens >= size:
            return f"{rounded(tokens / size)} {name}"
    return rounded(tokens)


def _words(layout: Layout) -> str:
    """ "data 4 x tensor 8, ZeRO-1, recomputed"."""
    said = "one machine" if layout.ranks == 1 else f"data {layout.data} x tensor {layout.tensor}"
    if layout.stage:
        said += f", ZeRO-{layout.stage}"
    if layout.recompute:
        said += ", recomputed"
    return said
