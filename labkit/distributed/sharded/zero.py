"""ZeRO by hand: data parallel training whose state is cut over the ranks, in three stages.

    model = Sharded(GPT(config), stage=3)          # in a function that `launch` runs
    loss = model.step(inputs, targets)             # this rank's sequences

What a rank keeps for each weight, and what it sends in a step (n ranks, S bytes of weights):

    stage   whole                    cut into n               sends in a step
    0       weights, gradients, m v  nothing                  2 (n-1)/n S: all-reduce
    1       weights, gradients       m v                      2 (n-1)/n S: reduce-scatter, gather
    2       weights                  gradients, m v           the same, unit by unit in backward
    3       nothing                  weights, gradients, m v  3 (n-1)/n S: gather in forward and in
                                                              backward, reduce-scatter

m and v are the two moments that AdamW keeps of each weight (Rajbhandari et al. 2020, "ZeRO: Memory
Optimizations Toward Training Trillion Parameter Models", arXiv:1910.02054). AdamW works on each
number by itself, so updating a shard gives what updating all of it would.
"""

import torch
from torch import nn

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.sharded.units import Unit

STAGES = (0, 1, 2, 3)


class Sharded(nn.Module):
    """A GPT in training on all ranks of a launch; every rank begins with the same weights.

    Its parameters are the model's, which come and go in stage 3, and the shards.

    Raises ValueError for a stage other than 0, 1, 2 and 3.
    """

    def __init__(self, model: GPT, stage: int, learning_rate: float = 3e-4) -> None:
        if stage not in STAGES:
            raise ValueError(f"Sharded: ZeRO has the stages 0, 1, 2 and 3, not {stage!r}.")
        super().__init__()
        self.model = model
        self.stage = stage
        self.units = [Unit(part, stage > 0, self._ready) for part in parts_of(model)]
        self.hooks = []
        if stage == 3:
            for unit in self.units:
                unit.keep_own()
                self._gather_when_used(unit)
        self.shards = nn.ParameterList([unit.shard for unit in self.units])
        self.optimizer = torch.optim.AdamW(self.shards, lr=learning_rate)

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        """One step on this rank's inputs[N,T], targets[N,T]; their mean loss before the update.

        All ranks bring equally many tokens, so that the mean of their gradients is that of all.
        """
        loss = self.backward(inputs, targets)
        self.update()
        return loss

    def backward(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        """The first half of a step, forward and backward; the memory table is of its end.

        From stage 2 on every shard has its gradient then; before, each rank has all of its own.
        """
        loss = loss_of(self.model(inputs), targets)
        loss.backward()
        return loss.item()

    def update(self) -> None:
        """The second half: what is left to reduce, the optimizer, what is left to gather."""
        for unit in self.units:
            if self.stage == 0:
                unit.reduce_to_all()
            if self.stage == 1:
                unit.reduce_to_own()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.stage in (1, 2):
            for unit in self.units:
                unit.gather()

    def weights(self) -> dict[str, torch.Tensor]:
        """All ranks: a copy of every weight, by its name, whole in every rank."""
        if self.stage == 3:
            for unit in self.units:
                unit.gather()
        found = {name: w.detach().clone() for name, w in self.model.named_parameters()}
        if self.stage == 3:
            for unit in self.units:
                unit.free()
        return found

    def close(self) -> None:
        """Removes all hooks: afterwards the model is on its own."""
        for hook in self.hooks:
            hook.remove()
        for unit in self.units:
            unit.close()

    def _ready(self, unit: Unit) -> None:
        """All gradients of a unit are there; backward goes on with the next one."""
        if self.stage >= 2:
            unit.reduce_to_own()
        if self.stage == 3:
            unit.free()

    def _gather_when_used(self, unit: Unit) -> None:
        """Gathers before forward and before backward, frees after each."""

        def before(module: nn.Module, inputs: tuple) -> None:
            unit.gather()

        def after(module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
            unit.free()
            if output.requires_grad:
                output.register_hook(again)

        def again(gradient: torch.Tensor) -> None:
            unit.gather()

        self.hooks.append(unit.module.register_forward_pre_hook(before))
        self.hooks.append(unit.module.register_forward_hook(after))


def parts_of(model: GPT) -> list[nn.Module]:
    """What is gathered at one time: the embedding, each block, the last norm, the head."""
    return [model.embedding, *model.blocks, model.final_norm, model.head]
