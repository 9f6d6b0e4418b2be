"""A mesh of 1,024 ranks in one process: PyTorch's `fake` backend, whose collectives send nothing.

    with pretended(1024):
        calls = data_parallel(model, tokens)           # what this rank would call in one step

This process is rank 0; each collective returns at once, with numbers that mean nothing. What is
called, on how many bytes, in a group of which size, is what a real rank 0 would call.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.utils import parameters_to_vector

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.tensor_parallel.dtensor import parallelize
from labkit_lessons.distributed.hybrid_and_sharded.collective_calls import CollectiveCalls
from labkit_lessons.distributed.hybrid_and_sharded.fsdp2 import fully_sharded, mesh_of
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh


@contextmanager
def pretended(ranks: int) -> Iterator[None]:
    """A `with` block in which this process is rank 0 of so many.

    Raises ValueError for no whole number from 1 on, RuntimeError within a launch.
    """
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not isinstance(ranks, int) or ranks < 1:
        raise ValueError(f"pretended: at least one rank, not {ranks!r}.")
    if dist.is_initialized():
        raise RuntimeError("pretended: this process is in a group already.")
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def data_parallel(model: GPT, tokens: torch.Tensor) -> CollectiveCalls:
    """One backward, and one all-reduce of all gradients over all ranks."""
    with CollectiveCalls() as calls:
        loss_of(model(tokens), tokens).backward()
        dist.all_reduce(parameters_to_vector([w.grad for w in model.parameters()]))
    return calls


def sharded(model: GPT, tokens: torch.Tensor, *sides: int) -> CollectiveCalls:
    """FSDP2 over all ranks, sides (ranks,), or HSDP with sides (copies, ranks of each)."""
    fully_sharded(model, mesh_of(*sides))
    with CollectiveCalls() as calls:
        loss_of(model(tokens), tokens).backward()
    return calls


def data_and_tensor(model: GPT, tokens: torch.Tensor, data: int, tensor: int) -> CollectiveCalls:
    """DTensor's tensor parallelism within groups of `tensor`, and an all-reduce over the data.

    Raises ValueError where the ranks of a tensor group cannot share the heads.
    """
    Mesh({"data": data, "tensor": tensor}).fits(dist.get_world_size())
    mesh = init_device_mesh("cpu", (data, tensor), mesh_dim_names=("data", "tensor"))
    parallelize(model, mesh["tensor"])
    with CollectiveCalls() as calls:
        loss_of(model(tokens), tokens).backward()
        gradients = [_local(weight.grad) for weight in model.parameters()]
        dist.all_reduce(parameters_to_vector(gradients), group=mesh.get_group("data"))
    return calls


def _local(gradient: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor, or the tensor itself."""
    return gradient.to_local() if hasattr(gradient, "to_local") else gradient
