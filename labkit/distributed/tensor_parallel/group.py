"""The ranks that share every layer of one model, and how they add up what each has computed.

tensor_group()                                  # all ranks of the launch
tensor_group(mesh["tensor"].get_group())        # one row of a mesh of ranks
tensor_group(all_reduce=ring_all_reduce)        # all ranks, by our own ring
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist

AllReduce = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class TensorGroup:
    """This rank's place among the ranks that share a model.

    rank        this one, counted within the group from 0
    ranks       how many there are
    all_reduce  takes a tensor, leaves it as it is, and returns its sum over the group
    """

    rank: int
    ranks: int
    all_reduce: AllReduce


def tensor_group(
    process_group: dist.ProcessGroup | None = None, all_reduce: AllReduce | None = None
) -> TensorGroup:
    """The group of these processes, or of all that were launched together.

    all_reduce   a sum of our own over the same ranks; PyTorch's by default

    Raises RuntimeError outside of a launch, and ValueError where this rank is not in the group.
    """
    if not dist.is_initialized():
        raise RuntimeError(
            "tensor_group: there are no ranks here. Call it in a function that `launch` runs."
        )
    rank = dist.get_rank(process_group)
    if rank < 0:
        raise ValueError(
            f"tensor_group: rank {dist.get_rank()} of all does not belong to this process group."
        )

    def by_torch(tensor: torch.Tensor) -> torch.Tensor:
        total = tensor.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=process_group)
        return total

    return TensorGroup(rank, dist.get_world_size(process_group), all_reduce or by_torch)
