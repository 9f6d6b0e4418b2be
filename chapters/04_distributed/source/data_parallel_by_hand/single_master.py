"""One master and its helpers: what `nn.DataParallel` does in each step, on our ranks.

`nn.DataParallel` is threads in one process, one for each GPU; the first GPU is the master. Without
a GPU it merely calls the module (`calls` shows it). So its steps run here on processes: our
rendering, with the same tensors travelling between the same places.

    scatter      the master deals the batch                    out  (n - 1) / n  X
    replicate    the master hands out its weights              out  (n - 1)      W
    gather       the master collects all outputs               in   (n - 1) / n  Y
                 ... and hands back the gradients of these     out  (n - 1) / n  Y
    reduce       the master sums the gradients of its weights  in   (n - 1)      W

n ranks; X, Y and W are the bytes of the batch, of the outputs and of the weights. Where n does not
divide the batch, the master keeps the longest part. All of it passes the master's one link, and
grows with n. (On GPUs joined by NCCL, PyTorch replicates by a broadcast and reduces by a reduce,
within one machine; the weights still travel in every step.) Lesson data_parallel_by_hand.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labkit.distributed.messages import Message, receive, recorded, send
from labkit.distributed.network import transport

if TYPE_CHECKING:
    import torch

MASTER = 0
Ledger = dict[str, list[Message]]  # the messages of each step, by the step's name


def calls(module: "torch.nn.Module", batch: "torch.Tensor") -> list[tuple[int, ...]]:
    """The shape of the input in every call that `nn.DataParallel(module)` makes for one batch.

    Without a GPU it is one call, with the whole batch.
    """
    import torch

    seen = []
    handle = module.register_forward_pre_hook(lambda _, inputs: seen.append(tuple(inputs[0].shape)))
    try:
        torch.nn.DataParallel(module)(batch)
    finally:
        handle.remove()
    return seen


def forward_backward(
    model: "torch.nn.Module", images: "torch.Tensor", labels: "torch.Tensor"
) -> tuple[float | None, Ledger]:
    """One step with a master, on all ranks of a launch: the loss, and what was sent and received.

    images, labels   the batch; of the other ranks' only shape and dtype count
    model            its weights replace those of the other ranks; the batch's gradients end in the
                     master's `.grad` alone

    The loss is None on all ranks but the master.
    """
    ledger: Ledger = {}
    model.zero_grad()
    with _noted(ledger, "scatter"):
        part = scatter(images)
    with _noted(ledger, "replicate"):
        replicate(model)
    outputs = model(part)
    with _noted(ledger, "gather"):
        gathered = gather(outputs.detach(), len(images))
    loss, gradient = _loss(gathered, labels)
    with _noted(ledger, "gather, backward"):
        part_of_gradient = scatter(gradient)
    outputs.backward(part_of_gradient)
    with _noted(ledger, "reduce"):
        reduce(model)
    return loss, ledger


def scatter(batch: "torch.Tensor") -> "torch.Tensor":
    """This rank's rows of the master's batch[N, ...]; the first ranks' parts are the longest."""
    rank, ranks = transport().place()
    parts = batch.tensor_split(ranks)
    if rank == MASTER:
        for helper in range(1, ranks):
            send(parts[helper], helper)
        return parts[MASTER]
    mine = parts[rank].clone().contiguous()
    receive(mine, MASTER)
    return mine


def replicate(model: "torch.nn.Module") -> None:
    """Gives every rank the master's weights, as one vector to each."""
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    rank, ranks = transport().place()
    weights = parameters_to_vector(model.parameters()).detach()
    if rank == MASTER:
        for helper in range(1, ranks):
            send(weights, helper)
        return
    receive(weights, MASTER)
    vector_to_parameters(weights, model.parameters())


def gather(outputs: "torch.Tensor", rows: int) -> "torch.Tensor":
    """On the master all ranks' outputs[rows, ...], in order; elsewhere an empty one of that shape.

    rows   of the whole batch, as `scatter` has dealt it
    """
    rank, ranks = transport().place()
    everything = outputs.new_empty(rows, *outputs.shape[1:])
    if rank != MASTER:
        send(outputs, MASTER)
        return everything
    parts = everything.tensor_split(ranks)
    parts[MASTER].copy_(outputs)
    for helper in range(1, ranks):
        receive(parts[helper], helper)
    return everything


def reduce(model: "torch.nn.Module") -> None:
    """Adds the other ranks' gradients to the master's."""
    from torch.nn.utils import parameters_to_vector

    rank, ranks = transport().place()
    total = parameters_to_vector(weight.grad for weight in model.parameters())
    if rank != MASTER:
        send(total, MASTER)
        return
    other = total.new_empty(total.shape)
    for helper in range(1, ranks):
        receive(other, helper)
        total += other
    _take_apart(total, model)


def _take_apart(vector: "torch.Tensor", model: "torch.nn.Module") -> None:
    """Writes a vector into the gradients, weight after weight."""
    sizes = [weight.numel() for weight in model.parameters()]
    for weight, part in zip(model.parameters(), vector.split(sizes), strict=True):
        weight.grad = part.view(weight.shape).clone()


def _loss(outputs: "torch.Tensor", labels: "torch.Tensor") -> tuple[float | None, "torch.Tensor"]:
    """On the master the mean loss of all outputs and its gradient; elsewhere room for one."""
    from torch.nn.functional import cross_entropy

    rank, _ = transport().place()
    if rank != MASTER:
        return None, outputs
    outputs.requires_grad_()
    loss = cross_entropy(outputs, labels)
    loss.backward()
    return loss.item(), outputs.grad


@contextmanager
def _noted(ledger: Ledger, step: str) -> Iterator[None]:
    with recorded() as messages:
        yield
    ledger[step] = messages
