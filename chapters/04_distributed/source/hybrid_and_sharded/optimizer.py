"""An optimiser whose state is cut over the ranks: ZeRO's stage 1, beside any data parallelism.

    optimizer = shard_state(torch.optim.AdamW(net.parameters()))       # all ranks
    ...                                                                # gradients: DataParallel's
    optimizer.step()

Each rank updates a part of every weight, and so keeps the moments of this part alone; then all
gather what the others have updated, (n - 1) / n S bytes. The gradients are the same on all ranks
when it steps. torch calls this `ZeroRedundancyOptimizer`. Lesson hybrid_and_sharded.
"""

import torch

from labkit_lessons.distributed.hybrid_and_sharded.units import Unit
from labkit_lessons.distributed.hybrid_and_sharded.zero import by_dtype


def shard_state(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The optimiser itself, which from now on steps on this rank's part of its weights.

    It has to work on each number by itself, as SGD, Adam and AdamW do, and every rank has the same
    weights. Raises ValueError where it has state already, RuntimeError outside of a launch.
    """
    if optimizer.state:
        raise ValueError("shard_state: the optimiser has stepped already; shard a new one.")
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    trained = {str(place): weight for place, weight in enumerate(weights) if weight.requires_grad}
    units = [Unit(alike) for alike in by_dtype(trained)]

    def gather(*_: object) -> None:
        for unit in units:
            unit.gather()

    def cut(*_: object) -> None:
        for unit in units:
            unit.cut_gradients()

    gather()
    optimizer.register_step_pre_hook(cut)
    optimizer.register_step_post_hook(gather)
    return optimizer
