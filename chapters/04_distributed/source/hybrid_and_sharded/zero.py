"""ZeRO by hand: data parallel training whose state is cut over the ranks, in three stages.

    model = Sharded(net, stage=3)                  # in a function that `launch` runs
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for inputs, targets in batches_of_this_rank:
        loss_of(model(inputs), targets).backward()
        model.finish()                             # gradients: the mean over all ranks
        optimizer.step()                           # on this rank's part of each weight
        optimizer.zero_grad()

What a rank keeps for each weight, and what it sends in a step (n ranks, S bytes of weights):

    stage   whole                    cut into n               sends in a step
    0       weights, gradients, m v  nothing                  2 (n-1)/n S: all-reduce
    1       weights, gradients       m v                      2 (n-1)/n S: reduce-scatter, gather
    2       weights                  gradients, m v           the same, unit by unit in backward
    3       nothing                  weights, gradients, m v  3 (n-1)/n S: gather in forward and in
                                                              backward, reduce-scatter

m and v are the two moments that AdamW keeps of each weight (Rajbhandari et al. 2020, "ZeRO: Memory
Optimizations Toward Training Trillion Parameter Models", arXiv:1910.02054). AdamW works on each
number by itself, so updating a part gives what updating all of it would; so do SGD and Adam.
Lesson hybrid_and_sharded.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import nn
from torch.autograd.graph import register_multi_grad_hook
from torch.utils._pytree import tree_leaves

from labkit.distributed.data_parallel import same_weights
from labkit.distributed.gradients.before_steps import FORGOTTEN, before_steps
from labkit_lessons.distributed.hybrid_and_sharded.units import Unit

STAGES = (0, 1, 2, 3)


class Sharded(nn.Module):
    """A module in training on all ranks of a launch; its values become rank 0's.

    module          calls its parts as modules, and gives all weights a gradient in every step.
                    Weights may be shared by several parts. What is frozen stays whole.
    parts           the modules that are gathered at one time, none within another; weights outside
                    of them stay whole. By default `parts_of(module)`, which leaves out none.
    compute_dtype   of the weights in forward and backward, and of what gathers send, for the parts;
                    the optimiser's weights and the gradients' sums keep the weights' own dtype

    From here, and from each `finish`, to the next forward, the weights of `module` and their
    gradients are this rank's parts, flat or empty. Gradients add up until the optimiser steps.

    Raises ValueError for a stage other than 0, 1, 2 and 3, or where nothing is trained.
    """

    def __init__(
        self,
        module: nn.Module,
        stage: int,
        parts: Sequence[nn.Module] | None = None,
        compute_dtype: torch.dtype | None = None,
    ) -> None:
        if stage not in STAGES:
            raise ValueError(f"Sharded: ZeRO has the stages 0, 1, 2 and 3, not {stage!r}.")
        super().__init__()
        same_weights(module)
        module.zero_grad()
        self.module = module
        self.stage = stage
        self.units: list[Unit] = []
        self.hooks = []
        homes: dict[nn.Parameter, Unit] = {}
        parts = parts_of(module) if parts is None else parts
        for part, weights in trained_by_part(module, parts):
            how = (stage > 0, stage == 3, compute_dtype) if part in parts else (False,)
            for alike in by_dtype({n: w for n, w in weights.items() if w not in homes}):
                unit = Unit(alike, *how)
                homes |= dict.fromkeys(alike.values(), unit)
                self.hooks += unit.collect(self._ready)
                self.units.append(unit)
            self._gather_when_used(part, list(dict.fromkeys(homes[w] for w in weights.values())))
        if not self.units:
            raise ValueError("Sharded: no weight of the module is trained (requires_grad=True).")
        self.hooks.append(before_steps(self._turn_to_parts, homes))

    def forward(self, *inputs: object, **named: object) -> object:
        """The module's own."""
        return self.module(*inputs, **named)

    def finish(self) -> None:
        """After the last backward of a step: each rank has its part of the mean gradients.

        Raises RuntimeError, instead of waiting without end, where a weight has no gradient.
        """
        for unit in self.units:
            unit.refuse_missing()
        for unit in self.units:
            if unit.gradient is not None:
                unit.reduce()
            unit.release()
            unit.complete = False

    def weights(self) -> dict[str, torch.Tensor]:
        """All ranks: a copy of every weight, by its name, whole in every rank."""
        found = {name: w.detach() for name, w in self.module.named_parameters()}
        for unit in self.units:
            found |= unit.collected()
        return {name: weight.clone() for name, weight in found.items()}

    def close(self) -> None:
        """Removes all hooks: afterwards nothing is gathered or reduced."""
        for hook in self.hooks:
            hook.remove()

    def _turn_to_parts(self) -> None:
        """The optimiser steps: on this rank's part of each weight, even after a validation."""
        if any(unit.complete or unit.gradient is not None for unit in self.units):
            raise RuntimeError(FORGOTTEN)
        for unit in self.units:
            unit.release()
            unit.spent = True

    def _ready(self, unit: Unit) -> None:
        """All gradients of a unit are there; backward goes on with the next one."""
        if self.stage >= 2:
            unit.reduce()

    def _gather_when_used(self, part: nn.Module, units: list[Unit]) -> None:
        """Gathers before forward and before backward; what frees is freed after each."""

        def gather(*_: object) -> None:
            for unit in units:
                unit.gather()

        def after(module: nn.Module, inputs: tuple, output: object) -> None:
            for unit in units:
                if unit.frees:
                    unit.release()
            leaves = [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor)]
            if leaves := [leaf for leaf in leaves if leaf.requires_grad]:
                register_multi_grad_hook(leaves, gather, mode="any")  # once, for the first of them

        self.hooks.append(part.register_forward_pre_hook(gather))
        self.hooks.append(part.register_forward_hook(after))


def parts_of(module: nn.Module) -> list[nn.Module]:
    """What is gathered at one time: each child, of a list of modules each of it, and the rest.

    Of a GPT the embedding, each block, the last norm and the head; the rest has no weights.
    """
    return [*_children(module), module]


def _children(module: nn.Module) -> list[nn.Module]:
    """A ModuleList and a ModuleDict have no forward of their own: theirs stand in their place."""
    found = []
    for child in module.children():
        is_list = isinstance(child, nn.ModuleList | nn.ModuleDict)
        found += _children(child) if is_list else [child]
    return found


def trained_by_part(
    module: nn.Module, parts: Sequence[nn.Module]
) -> Iterator[tuple[nn.Module, dict[str, nn.Parameter]]]:
    """Each part with the weights that it uses and that are trained, by name; then the rest.

    Each weight has one name; one that is shared stands in each part that uses it.
    """
    names = {weight: name for name, weight in module.named_parameters() if weight.requires_grad}
    seen: set[nn.Module] = set()
    for part in dict.fromkeys([*parts, module]):
        own = [inner for inner in part.modules() if inner not in seen]
        seen.update(own)
        used = [weight for inner in own for weight in inner.parameters(recurse=False)]
        yield part, {names[weight]: weight for weight in used if weight in names}


def by_dtype(weights: dict[str, nn.Parameter]) -> list[dict[str, nn.Parameter]]:
    """One group for each dtype."""
    groups: dict[torch.dtype, dict[str, nn.Parameter]] = {}
    for name, weight in weights.items():
        groups.setdefault(weight.dtype, {})[name] = weight
    return list(groups.values())
