"""The small GPT on a 2-D mesh: data parallel along one side, tensor or pipeline along the other.

    weights = joined_tensor(launch(data_and_tensor, 4, GPT(), emma().train, Plan(), (2, 2)), (2, 2))

Ranks of one tensor group (or of one pipeline) hold one copy of the model together, and see the same
sequences. Ranks of one data group hold the same part of it, see different sequences, and average
their gradients. No message goes to anybody else. Both train as one process does.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.nn.utils import parameters_to_vector

from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.training import Plan
from labkit.distributed.pipeline import runner
from labkit.distributed.pipeline.schedules import one_f_one_b
from labkit.distributed.pipeline.stages import Stage
from labkit.distributed.tensor_parallel.group import tensor_group
from labkit.distributed.tensor_parallel.model import split_model
from labkit.distributed.tensor_parallel.split import join_states
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh
from labkit_lessons.distributed.hybrid_and_sharded.trained import share_of

Weights = dict[str, torch.Tensor]
Trained = tuple[list[float | None], Weights]  # of one rank: its losses, its part of the weights


def data_and_tensor(
    rank: int, ranks: int, model: GPT, tokens: torch.Tensor, plan: Plan, sides: tuple[int, int]
) -> Trained:
    """In a launch: trains this rank's part; sides are (data, tensor).

    Raises ValueError where the sides do not multiply to the ranks, and for what cannot be split.
    """
    mesh = device_mesh(Mesh({"data": sides[0], "tensor": sides[1]}), ranks)
    split_model(model, tensor_group(mesh.get_group("tensor")))
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate)
    losses = []
    for step in range(plan.steps):
        inputs, targets = own_sequences(plan.batch_of(step, tokens), mesh)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()
        average_gradients(model, mesh)
        optimizer.step()
        losses.append(loss.item())
    return losses, weights_of(model)


def data_and_pipeline(
    rank: int,
    ranks: int,
    model: GPT,
    tokens: torch.Tensor,
    plan: Plan,
    sides: tuple[int, int],
    micro_batches: int = 2,
) -> Trained:
    """In a launch: trains this rank's stage by 1F1B; sides are (data, stages).

    The losses are None but in the last stage. Raises ValueError as `data_and_tensor` does.
    """
    grid = Mesh({"data": sides[0], "stage": sides[1]})
    mesh = device_mesh(grid, ranks)
    pipeline = grid.group_of(rank, "stage")
    stage = Stage(model, mesh.get_local_rank("stage"), sides[1])
    schedule = one_f_one_b(sides[1], micro_batches)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=plan.learning_rate)
    losses = []
    for step in range(plan.steps):
        inputs, targets = own_sequences(plan.batch_of(step, tokens), mesh)
        optimizer.zero_grad()
        ran = runner.run(stage, schedule, inputs, targets, pipeline)
        average_gradients(stage, mesh)
        optimizer.step()
        losses.append(ran.loss)
    return losses, weights_of(stage)


def device_mesh(mesh: Mesh, ranks: int) -> DeviceMesh:
    """PyTorch's mesh of these sides, on CPUs; ValueError where they do not fit the ranks."""
    mesh.fits(ranks)
    return init_device_mesh("cpu", tuple(mesh.sides.values()), mesh_dim_names=tuple(mesh.sides))


def own_sequences(batch: tuple[torch.Tensor, ...], mesh: DeviceMesh) -> list[torch.Tensor]:
    """This data rank's part of inputs[N,T] and targets[N,T]; ValueError where N does not divide."""
    return share_of(batch, mesh["data"].size(), mesh.get_local_rank("data"))


def average_gradients(module: nn.Module, mesh: DeviceMesh) -> None:
    """Every gradient becomes the mean over this rank's data group, in one all-reduce."""
    weights = list(module.parameters())
    flat = parameters_to_vector([weight.grad for weight in weights])
    dist.all_reduce(flat, group=mesh.get_group("data"))
    flat /= mesh["data"].size()
    sizes = [weight.numel() for weight in weights]
    for weight, part in zip(weights, flat.split(sizes), strict=True):
        weight.grad = part.view(weight.shape)


def weights_of(module: nn.Module) -> Weights:
    """A copy of every weight, by its name."""
    return {name: weight.detach().clone() for name, weight in module.named_parameters()}


def joined_tensor(results: Sequence[Trained], sides: tuple[int, int], config: Config) -> Weights:
    """The whole weights, from the parts of the first tensor group."""
    return join_states([weights for _, weights in results[: sides[1]]], config)


def joined_pipeline(results: Sequence[Trained], sides: tuple[int, int]) -> Weights:
    """The whole weights, from the stages of the first pipeline."""
    whole: Weights = {}
    for _, weights in results[: sides[1]]:
        whole |= weights
    return whole
