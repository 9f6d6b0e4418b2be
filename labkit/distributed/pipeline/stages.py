"""Stages: a GPT cut into p parts of whole blocks.

    tokens [n,T] -> stage 0 -> [n,T,D] -> stage 1 -> ... -> stage p-1 -> logits [n,T,V]

The embedding belongs to the first stage, the last norm and the head to the last one. Every stage
has L/p blocks: with unequal shares the fullest stage would set the pace, and the others would wait
for it. So a number of blocks that p does not divide is refused.
"""

import torch
from torch import nn

from labkit.distributed.gpt.model import GPT


class Stage(nn.Module):
    """Stage `stage` of `stages`, counted from 0: it shares its weights with the model.

    They keep the names that they have there, such as "blocks.3.norm1.weight", so that the
    gradients of all stages together are those of the model, name by name.
    Raises ValueError where there is no such stage, or the blocks do not divide.
    """

    def __init__(self, model: GPT, stage: int, stages: int) -> None:
        super().__init__()
        places = blocks_of(stage, stages, model.config.layers)
        self.stage = stage
        self.stages = stages
        self.width = model.config.width
        is_first = stage == 0
        is_last = stage == stages - 1
        self.embedding = model.embedding if is_first else None
        self.blocks = nn.ModuleDict({str(place): model.blocks[place] for place in places})
        self.final_norm = model.final_norm if is_last else None
        self.head = model.head if is_last else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[n,T] in the first stage, else [n,T,D] -> [n,T,V] from the last stage, else [n,T,D]."""
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks.values():
            x = block(x)
        if self.head is not None:
            x = self.head(self.final_norm(x))
        return x


def cut(model: GPT, stages: int) -> list[Stage]:
    """All stages of a model, in their order: one after the other they compute what it does."""
    return [Stage(model, stage, stages) for stage in range(max(stages, 1))]


def blocks_of(stage: int, stages: int, layers: int) -> range:
    """The places of a stage's blocks among all `layers`; ValueError as for `Stage`."""
    if stages < 1 or not 0 <= stage < stages:
        raise ValueError(f"There is no stage {stage} of {stages}: they count from 0.")
    if layers % stages:
        raise ValueError(
            f"{layers} blocks do not divide into {stages} stages evenly: the fullest stage would "
            "set the pace for all. Take a number of stages that divides the blocks."
        )
    each = layers // stages
    return range(stage * each, (stage + 1) * each)
