"""A GPT's weights cut for the ranks, and the parts joined again, equal to the original in each bit.

    part = split_state(model.state_dict(), model.config, rank=1, ranks=4)
    join_states([part_0, part_1, part_2, part_3], model.config)

Split are attention and MLP of every block; norms, embeddings and head are whole in every rank.
"""

from collections.abc import Sequence

import torch

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.tensor_parallel.layers import share_of
from labkit.errors import whole

State = dict[str, torch.Tensor]
COLUMN_SPLIT = ("attention.query", "attention.key", "attention.value", "mlp.expand")
ROW_SPLIT = ("attention.output", "mlp.contract")


def split_axis(name: str) -> int | None:
    """The axis of a weight along which the ranks share it; None where each has all of it.

    Weights are stored as [outputs, inputs]: columns of x A are axis 0, rows axis 1.
    """
    layer, _, kind = name.rpartition(".")
    if layer.endswith(COLUMN_SPLIT):
        return 0
    if layer.endswith(ROW_SPLIT) and kind == "weight":
        return 1
    return None


def split_state(state: State, config: Config, rank: int, ranks: int) -> State:
    """The part of a whole GPT's weights, or of its gradients, that one of the ranks has.

    Raises ValueError for heads that the ranks do not divide, for a rank that is not one of them,
    and for the weights of another model.
    """
    refuse_wrong_ranks(config, ranks)
    if not 0 <= rank < ranks:
        raise ValueError(f"split_state: there is no rank {rank} among {ranks}, counted from 0.")
    _refuse_another_model(state, _shapes(config, 1), "split_state: this is not the model's state")
    part = {}
    for name, tensor in state.items():
        axis = split_axis(name)
        part[name] = tensor.clone() if axis is None else tensor.chunk(ranks, axis)[rank].clone()
    return part


def join_states(parts: Sequence[State], config: Config) -> State:
    """The whole again, from the parts of all ranks in their order.

    Raises ValueError for parts of another model or of another number of ranks, and where a weight
    that every rank has whole is not the same in all.
    """
    ranks = len(parts)
    refuse_wrong_ranks(config, ranks)
    shapes = _shapes(config, ranks)
    for rank, part in enumerate(parts):
        what = f"join_states: rank {rank} does not have a part for {ranks} ranks"
        _refuse_another_model(part, shapes, what)
    whole = {}
    for name in parts[0]:
        tensors = [part[name] for part in parts]
        axis = split_axis(name)
        whole[name] = _same(name, tensors) if axis is None else torch.cat(tensors, axis)
    return whole


def refuse_wrong_ranks(config: Config, ranks: int) -> None:
    """Raises ValueError where a GPT of this size cannot be shared by so many ranks."""
    whole("Tensor parallel: ranks", ranks)
    share_of(config.heads, ranks, "heads")


def _shapes(config: Config, ranks: int) -> dict[str, tuple[int, ...]]:
    """The shape of every weight of a rank."""
    with torch.device("meta"):  # nothing is allocated
        whole = GPT(config).state_dict()
    shapes = {}
    for name, tensor in whole.items():
        shape = list(tensor.shape)
        axis = split_axis(name)
        if axis is not None:
            shape[axis] //= ranks
        shapes[name] = tuple(shape)
    return shapes


def _refuse_another_model(state: State, shapes: dict[str, tuple[int, ...]], what: str) -> None:
    for name, shape in shapes.items():
        if name not in state:
            raise ValueError(f"{what}: {name} is missing.")
        found = tuple(state[name].shape)
        if found != shape:
            raise ValueError(f"{what}: {name} is {list(found)}, and should be {list(shape)}.")
    for name in state:
        if name not in shapes:
            raise ValueError(f"{what}: this GPT has no {name}.")


def _same(name: str, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    for rank, other in enumerate(tensors):
        if not torch.equal(tensors[0], other):
            raise ValueError(
                f"join_states: {name} is not the same in ranks 0 and {rank}, which both have it "
                "whole: their training has come apart."
            )
    return tensors[0].clone()
