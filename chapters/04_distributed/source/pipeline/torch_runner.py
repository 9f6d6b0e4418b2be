"""The same step by `torch.distributed.pipelining`, on the same stages.

    loss = run_by_torch(stage, "1F1B", 4, inputs, targets)

PyTorch's `PipelineStage` finds out by a first exchange which shapes travel, and its schedules keep
the gradients, as ours do, divided by m.
"""

import torch
import torch.distributed as dist

from labkit.distributed.gpt.model import loss_of
from labkit.distributed.pipeline.stages import Stage


def run_by_torch(
    stage: Stage,
    name: str,
    micro_batches: int,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    group: dist.ProcessGroup | None = None,
) -> float | None:
    """One step: the mean loss in the last stage, None in the others; gradients in the weights.

    name   "GPipe" or "1F1B"

    Raises ValueError for another name.
    """
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    kinds = {"GPipe": ScheduleGPipe, "1F1B": Schedule1F1B}
    if name not in kinds:
        raise ValueError(f"PyTorch's schedules here are {' and '.join(kinds)}, not {name!r}.")
    part = PipelineStage(stage, stage.stage, stage.stages, inputs.device, group=group)
    # Gloo needs no first messages to connect two ranks, and PyTorch 2.9's end its process: it sends
    # 8 bytes to a neighbour that waits for 4.
    part._get_init_p2p_neighbors_ops = list
    schedule = kinds[name](part, micro_batches, loss_fn=loss_of)
    losses: list[torch.Tensor] = []
    tokens = (inputs,) if part.is_first else ()
    if part.is_last:
        schedule.step(*tokens, target=targets, losses=losses)
        return torch.stack(losses).mean().item()
    schedule.step(*tokens)
    return None
