"""One training of the small GPT, split in this way or that, and all that is worth knowing of it.

    (alone,) = launch(train_split, 1, "one process", plan)
    found = launch(train_split, 2, "by hand", plan)
    largest_difference(found, alone)        # of losses, gradients and weights, the parts joined

Every rank reads the whole batch, and every rank computes the whole loss.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from labkit.distributed.data_parallel import average_gradients
from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan, train
from labkit.distributed.live_bytes import bytes_of, counted_bytes
from labkit.distributed.tensor_parallel.counting import CommunicationCall, counted_calls
from labkit.distributed.tensor_parallel.group import tensor_group
from labkit.distributed.tensor_parallel.model import split_model
from labkit.distributed.tensor_parallel.split import State, join_states


@dataclass(frozen=True)
class Trained:
    """What one rank has at the end.

    losses             of every step
    gradients, weights of the last step; of what is split, this rank's part
    calls              the collectives of one step
    weight_bytes       of this rank's weights
    peak_bytes         the most that its tensors took at one moment of the training
    """

    losses: list[float]
    gradients: State
    weights: State
    calls: list[CommunicationCall]
    weight_bytes: int
    peak_bytes: int


def train_split(
    rank: int,
    ranks: int,
    way: str,
    plan: Plan,
    config: Config | None = None,
    dtype: torch.dtype = torch.float32,
) -> Trained:
    """What `launch` runs in each rank: `gpt.training.train` on the model of `WAYS[way]`.

    dtype   of weights and activations. With float64, what Adam makes of rounding stays small: it
            divides by the gradient's own size, however small that is.
    """
    model = WAYS[way](GPT(config).to(dtype), ranks)
    with counted_calls() as calls, counted_bytes(model) as memory:
        losses = train(model, emma().train, plan)
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    in_a_step = len(calls) // plan.steps
    return Trained(
        losses,
        _local(gradients),
        _local(model.state_dict()),
        calls[:in_a_step],
        bytes_of(model)["parameters"],
        memory.peak,
    )


def data_parallel_calls(rank: int, ranks: int, plan: Plan) -> list[CommunicationCall]:
    """The collectives of a step in which each rank has the whole model and a part of the batch."""
    model = GPT()
    inputs, targets = plan.batch_of(0, emma().train)
    with counted_calls() as calls:
        loss_of(model(inputs[rank::ranks]), targets[rank::ranks]).backward()
        average_gradients(model, all_reduce=tensor_group().all_reduce)
    return calls


def largest_difference(
    found: Sequence[Trained], alone: Trained, config: Config | None = None
) -> float:
    """Between the ranks' training and that of one process: in any loss, gradient or weight."""
    config = config or Config()
    differences = []
    for one in found:
        for mine, other in zip(one.losses, alone.losses, strict=True):
            differences.append(abs(mine - other))
    weights = join_states([one.weights for one in found], config)
    gradients = join_states([one.gradients for one in found], config)
    for whole, expected in ((weights, alone.weights), (gradients, alone.gradients)):
        for name, tensor in whole.items():
            differences.append((tensor - expected[name]).abs().max().item())
    return max(differences)


def _whole(model: GPT, ranks: int) -> GPT:
    return model


def _by_hand(model: GPT, ranks: int) -> GPT:
    return split_model(model, tensor_group())


def _by_pytorch(model: GPT, ranks: int, share_input: bool) -> GPT:
    from torch.distributed.device_mesh import init_device_mesh

    from labkit.distributed.tensor_parallel.dtensor import parallelize  # takes a second to load

    return parallelize(model, init_device_mesh("cpu", (ranks,)), share_input)


WAYS: dict[str, Callable[[GPT, int], GPT]] = {
    "one process": _whole,
    "by hand": _by_hand,
    "PyTorch": partial(_by_pytorch, share_input=True),
    "PyTorch, columns and rows only": partial(_by_pytorch, share_input=False),
}


def _local(tensors: Mapping[str, torch.Tensor]) -> State:
    """Plain tensors: of a DTensor what this rank has."""
    found = {}
    for name, tensor in tensors.items():
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        found[name] = local.detach().clone()
    return found
