"""Inference of the small GPT on several ranks, with everything that travels between them counted.

    launch(infer, 2, "tensor parallel", 3)       # 3 batches; an Inference of each rank

Nothing in inference changes a weight, so none has to travel. That is counted, not argued: what the
ranks send is compared, byte for byte, with the activations that they add up, and each weight with
its bits before the first batch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from labkit.distributed import ring_all_reduce
from labkit.distributed.gpt.model import GPT
from labkit.distributed.gpt.text import batch, emma
from labkit.distributed.gpt.weights import trained
from labkit.distributed.tensor_parallel.counting import counted_calls
from labkit.distributed.tensor_parallel.group import tensor_group
from labkit.distributed.tensor_parallel.model import split_model

SEQUENCES, LENGTH = 4, 32  # of a batch, over all ranks
AfterBatch = Callable[[GPT], None]


@dataclass(frozen=True)
class Inference:
    """What one rank has seen.

    tokens       [batches, sequences] its next token for each of its sequences
    sends        messages and collectives that it began, of whatever library
    sent         their bytes
    activations  bytes that adding up its halves of blocks sends: in a ring of n, 2 (n - 1) / n S
    weights      bytes of its weights
    unchanged    whether each bit of them is as it was before the first batch
    """

    tokens: torch.Tensor
    sends: int
    sent: int
    activations: int
    weights: int
    unchanged: bool

    @property
    def other(self) -> int:
        """Bytes sent that are no activations: parameters would be among them."""
        return self.sent - self.activations


def infer(
    rank: int, ranks: int, parallelism: str, batches: int, after_batch: AfterBatch | None = None
) -> Inference:
    """What `launch` runs in each rank: `batches` batches through the trained small GPT.

    parallelism  "tensor parallel": all ranks read the whole batch, each has a part of each block;
                 "data parallel": each has the whole model, and its share of the sequences
    after_batch  is called with the model behind each batch: what somebody may think has to be done
    """
    model = trained().requires_grad_(False)
    if parallelism == "tensor parallel":
        model = split_model(model, tensor_group(all_reduce=ring_all_reduce))
    elif parallelism != "data parallel":
        known = "neither 'tensor parallel' nor 'data parallel'"
        raise ValueError(f"infer: {parallelism!r} is {known}.")
    before = [one.clone() for one in model.state_dict().values()]
    found = []
    with _added_up(model, ranks, parallelism) as activations, counted_calls() as calls:
        for number in range(batches):
            inputs, _ = batch(emma().validation, number, SEQUENCES, LENGTH)
            own = inputs if parallelism == "tensor parallel" else inputs.chunk(ranks)[rank]
            found.append(model(own)[:, -1].argmax(1))
            if after_batch is not None:
                after_batch(model)
    after = model.state_dict().values()
    unchanged = all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    return Inference(
        torch.stack(found),
        len(calls),
        sum(call.bytes for call in calls),
        sum(activations),
        sum(one.nbytes for one in before),
        unchanged,
    )


@contextmanager
def _added_up(model: GPT, ranks: int, parallelism: str) -> Iterator[list[int]]:
    """A list that gets the bytes a rank sends for each output of an attention or an MLP."""
    sizes: list[int] = []

    def note(module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        sizes.append(2 * (ranks - 1) * output.nbytes // ranks)

    handles = []
    if parallelism == "tensor parallel":
        for block in model.blocks:
            handles.append(block.attention.register_forward_hook(note))
            handles.append(block.mlp.register_forward_hook(note))
    yield sizes
    for handle in handles:
        handle.remove()
