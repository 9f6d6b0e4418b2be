"""How a training is laid out over ranks: data x tensor x pipeline, and how its batch is cut.

    layout = Layout(data=4, tensor=8, pipeline=2, micro_batches=16)
    layout.ranks                          # 64
    layout.demand_fits(model)             # ValueError in a sentence, where it cannot be

Ranks of a tensor group are neighbours; those of a data group are `tensor` apart, and the stages
of a pipeline `tensor` x `data`. Lessons tensor_parallel, pipeline and hybrid_and_sharded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.errors import whole

if TYPE_CHECKING:
    from labkit.distributed.costs.language_models import LanguageModel

COUNTS = ("data", "tensor", "pipeline", "micro_batches", "sequences", "chunks")


@dataclass(frozen=True)
class Layout:
    """Sides of the mesh, and the batch; nonsense raises ValueError, a sentence each.

    data, tensor, pipeline   ranks along each side
    micro_batches            m: pieces that each data rank's batch is cut into
    sequences                of one micro-batch
    stage                    of ZeRO, 0 to 3, over the data ranks
    chunks                   v: runs of layers that each stage has; above 1 it is interleaved 1F1B
    overlap                  whether gradients (and what ZeRO gathers) travel while others compute
    recompute                whether blocks keep their input only, and compute the rest again
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    micro_batches: int = 1
    sequences: int = 1
    stage: int = 0
    chunks: int = 1
    overlap: bool = True
    recompute: bool = False

    def __post_init__(self) -> None:
        for name in COUNTS:
            whole(f"Layout: {name}", getattr(self, name))
        for name in ("overlap", "recompute"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"Layout: {name} is True or False, not {getattr(self, name)!r}.")
        if self.stage not in (0, 1, 2, 3):
            raise ValueError(f"Layout: ZeRO has the stages 0, 1, 2 and 3, not {self.stage!r}.")
        if self.chunks > 1 and self.pipeline == 1:
            raise ValueError("Layout: chunks are runs of layers of a stage; here is one stage.")

    @property
    def ranks(self) -> int:
        """All accelerators."""
        return self.data * self.tensor * self.pipeline

    @property
    def batch(self) -> int:
        """Sequences of a step, all data ranks together."""
        return self.data * self.micro_batches * self.sequences

    def demand_fits(self, model: LanguageModel) -> None:
        """Raises ValueError where the model cannot be cut like this."""
        if model.heads % self.tensor:
            raise ValueError(
                f"{model.name} has {model.heads} heads, which {self.tensor} tensor ranks cannot "
                "share evenly."
            )
        in_a_stage = math.ceil(model.layers / self.pipeline)
        if model.layers < self.pipeline or in_a_stage < self.chunks:
            raise ValueError(
                f"{model.name} has {model.layers} layers, too few for {self.pipeline} stages of "
                f"{self.chunks} chunks."
            )
