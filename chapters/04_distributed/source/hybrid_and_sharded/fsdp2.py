"""The same GPT under PyTorch's own sharding, `fully_shard`: FSDP2, and HSDP on a 2-D mesh.

    model = fully_sharded(GPT(config), mesh_of(4))          # ZeRO's stage 3 over 4 ranks
    model = fully_sharded(GPT(config), mesh_of(2, 2))       # 2 copies, each cut over 2 ranks

FSDP2 cuts each weight by itself, along its first dimension, where `zero` cuts the flat vector of a
whole unit; both gather and reduce unit by unit. With HSDP only the ranks of one copy gather, and
the shards' gradients are then summed over the copies.
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.gpt.training import Plan
from labkit.distributed.launching.live_bytes import bytes_of
from labkit_lessons.distributed.hybrid_and_sharded.collective_calls import Call, CollectiveCalls
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh
from labkit_lessons.distributed.hybrid_and_sharded.trained import share_of
from labkit_lessons.distributed.hybrid_and_sharded.zero import parts_of


@dataclass(frozen=True)
class TorchRun:
    """A training in one rank; what it called and held is of its last step.

    losses    of this rank's sequences, before each update
    weights   after the last update, whole
    calls     the collectives that it called
    held      bytes by kind between backward and the update
    """

    losses: list[float]
    weights: dict[str, torch.Tensor]
    calls: list[Call]
    held: dict[str, int]


def mesh_of(*sides: int) -> DeviceMesh:
    """A mesh of all ranks on CPUs: (ranks,), or (copies, ranks of each copy).

    Raises ValueError for other than one or two sides, or if they do not multiply to the ranks.
    """
    if len(sides) not in (1, 2):
        raise ValueError(f"mesh_of: one side or two, (ranks,) or (copies, ranks), not {sides}.")
    names = ("copy", "shard")[-len(sides) :]
    mesh = Mesh(dict(zip(names, sides, strict=True))).fits(dist.get_world_size())
    return init_device_mesh("cpu", sides, mesh_dim_names=tuple(mesh.sides))


def fully_sharded(model: GPT, mesh: DeviceMesh) -> GPT:
    """The model itself, its weights cut over the mesh; the units are those of `zero`."""
    for part in parts_of(model):
        fully_shard(part, mesh=mesh)
    return model


def train(
    rank: int, ranks: int, model: GPT, tokens: torch.Tensor, plan: Plan, sides: tuple[int, ...]
) -> TorchRun:
    """In a launch: as `gpt.training.train`, on this rank's share of each step's sequences.

    Raises ValueError where these do not divide into equal shares.
    """
    model = fully_sharded(model, mesh_of(*sides))
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate)
    losses = []
    for step in range(plan.steps):
        inputs, targets = share_of(plan.batch_of(step, tokens), ranks, rank)
        with CollectiveCalls() as calls:
            loss = loss_of(model(inputs), targets)
            loss.backward()
            held = bytes_of(model, optimizer)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    weights = {name: w.full_tensor().detach() for name, w in model.named_parameters()}
    return TorchRun(losses, weights, calls.calls, held)
