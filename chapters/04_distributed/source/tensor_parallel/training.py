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

from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan, train
from labkit.distributed.launching.live_bytes import GRADIENTS, PARAMETERS, bytes_of, counted_bytes
from labkit.distributed.tensor_parallel.counting import CommunicationCall, counted_calls
from labkit.distributed.tensor_parallel.group import TensorGroup, tensor_group
from labkit.distributed.tensor_parallel.layers import share_of
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
    peak_gradients     those of them that were gradients
    """

    losses: list[float]
    gradients: State
    weights: State
    calls: list[CommunicationCall]
    weight_bytes: int
    peak_bytes: int
    peak_gradients: int


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
    if way not in WAYS:
        raise ValueError(f"train_split: there is no way {way!r}; take one of {', '.join(WAYS)}.")
    model = WAYS[way](GPT(config).to(dtype), ranks)
    return _recorded(model, plan, lambda: train(model, emma().train, plan))


def train_data_parallel(rank: int, ranks: int, plan: Plan, config: Config | None = None) -> Trained:
    """The same training, each rank with the whole model and every `ranks`-th sequence.

    The gradients are joined, so that one all-reduce averages all of them. Raises ValueError where
    the ranks cannot share the sequences evenly: the plain mean would then be wrong.
    """
    share_of(plan.sequences, ranks, "sequences")
    group = tensor_group()
    model = GPT(config)

    def train_on_shards() -> list[float]:
        optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate)
        losses = []
        for step in range(plan.steps):
            inputs, targets = plan.batch_of(step, emma().train)
            optimizer.zero_grad()
            loss = loss_of(model(inputs[rank::ranks]), targets[rank::ranks])
            loss.backward()
            _average_joined(model, group)
            optimizer.step()
            losses.append(loss.item())
        return losses

    return _recorded(model, plan, train_on_shards)


def _average_joined(model: GPT, group: TensorGroup) -> None:
    """Replaces each gradient by the mean over the ranks, by one all-reduce for all of them."""
    weights = list(model.parameters())
    joined = torch.cat([weight.grad.flatten() for weight in weights])
    mean = group.all_reduce(joined) / group.ranks
    for weight, part in zip(weights, mean.split([one.numel() for one in weights]), strict=True):
        weight.grad = part.view_as(weight)


def _recorded(model: GPT, plan: Plan, training: Callable[[], list[float]]) -> Trained:
    """Runs a training, which returns its losses, and counts what it sends and keeps."""
    with counted_calls() as calls, counted_bytes(model) as memory:
        losses = training()
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    in_a_step = len(calls) // plan.steps
    return Trained(
        losses,
        _local(gradients),
        _local(model.state_dict()),
        calls[:in_a_step],
        bytes_of(model)[PARAMETERS],
        memory.peak,
        memory.at_peak[GRADIENTS],
    )


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
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    if not dist.is_initialized():
        raise RuntimeError(
            "train_split: there are no ranks here. Call it in a function that `launch` runs."
        )

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
