"""What has to happen, or to have happened, before an optimiser steps.

    before_steps(self._refuse_unfinished, weights)      # of a class that has a `finish()`

Whoever forgets `finish()` would train each rank on its own gradients, without a word. With this the
first step says so. Lesson overlap_and_buckets.
"""

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

FORGOTTEN = (
    "finish() was not called after the last backward(): call it before the optimiser's step, or "
    "its gradients are this rank's alone."
)


def before_steps(
    method: Callable[[], None], weights: "Iterable[torch.Tensor]"
) -> "RemovableHandle":
    """Calls a method before each step of any of torch's optimisers that has one of these weights.

    The method's object may die, and the handle's `remove()` ends it. What changes weights without
    an optimiser of torch's is not seen.
    """
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    alive = weakref.WeakMethod(method)
    mine = {id(weight) for weight in weights}

    def call(optimizer: "torch.optim.Optimizer", *_: object) -> None:
        stepped = (weight for group in optimizer.param_groups for weight in group["params"])
        if (found := alive()) and any(id(weight) in mine for weight in stepped):
            found()

    return register_optimizer_step_pre_hook(call)
