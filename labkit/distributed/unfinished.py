"""A step of the optimiser with gradients that are not the mean yet is refused, not taken.

    refuse_steps(self._is_unfinished, weights)      # of a class that has a `finish()`

Whoever forgets `finish()` would train each rank on its own gradients, without a word. Lesson
overlap_and_buckets.
"""

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


def refuse_steps(
    unfinished: Callable[[], bool], weights: "Iterable[torch.Tensor]"
) -> "RemovableHandle":
    """From now on any optimiser of these weights raises RuntimeError where it steps too early.

    unfinished   a method, which says whether `finish()` has to come; its object may die

    The handle's `remove()` ends it. What steps without an optimiser of torch's is not seen.
    """
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    method = weakref.WeakMethod(unfinished)
    mine = {id(weight) for weight in weights}

    def look(optimizer: "torch.optim.Optimizer", *_: object) -> None:
        alive = method()
        if alive is None or not alive():
            return
        stepped = (weight for group in optimizer.param_groups for weight in group["params"])
        if any(id(weight) in mine for weight in stepped):
            raise RuntimeError(FORGOTTEN)

    return register_optimizer_step_pre_hook(look)


FORGOTTEN = (
    "finish() was not called after the last backward(): call it before the optimiser's step, or "
    "its gradients are this rank's alone."
)
