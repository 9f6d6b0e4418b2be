"""The same split by PyTorch: DTensor and `parallelize_module`.

    mesh = init_device_mesh("cpu", (ranks,))        # or one dimension of a larger mesh
    model = parallelize(GPT(), mesh)
    whole_state(model)                              # all-gathers the parts

A DTensor is a tensor of which each rank of a mesh holds a part; operations on it insert the
collectives that they need.
"""

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    parallelize_module,
)

from labkit.distributed.gpt.model import GPT
from labkit.distributed.tensor_parallel.split import COLUMN_SPLIT, ROW_SPLIT, refuse_wrong_ranks


def parallelize(model: GPT, mesh: DeviceMesh, share_input: bool = True) -> GPT:
    """The same model object, with the weights of each attention and each MLP as DTensors.

    mesh         of one dimension: the ranks that share the model
    share_input  x becomes one DTensor for Q, K and V together, and the three gradients of it are
                 summed in this rank before they travel: one all-reduce. Otherwise each of the three
                 has its own.

    Raises ValueError for a mesh of more dimensions, and where its ranks cannot share the heads.
    """
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize: the mesh has {mesh.ndim} dimensions; give one of them, as in "
            "mesh['tensor']."
        )
    refuse_wrong_ranks(model.config, mesh.size())
    for block in model.blocks:
        parallelize_module(block, mesh, _plan(share_input))
    return model


def _plan(share_input: bool) -> dict[str, ParallelStyle]:
    """How each layer of a block is split, by its name."""
    plan: dict[str, ParallelStyle] = {name: ColwiseParallel() for name in COLUMN_SPLIT}
    plan |= {name: RowwiseParallel() for name in ROW_SPLIT}
    if share_input:
        plan["attention"] = PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Replicate()
        )
    return plan


def whole_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Every weight whole, in every rank; all ranks call it."""
    return {name: _whole(weight) for name, weight in model.state_dict().items()}


def whole_gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Every weight's gradient whole, in every rank; all ranks call it after a backward."""
    return {name: _whole(weight.grad) for name, weight in model.named_parameters()}


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor.detach().clone()
