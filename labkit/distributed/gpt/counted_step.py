"""One step of the small GPT with its KV cache, and everything that is counted of it.

step = counted_step(model, new=1, past=100)
step.flops, step.attention_flops      # by PyTorch's FlopCounterMode
step.bytes                            # {"weights": ..., "cache read": ..., ...}
step.operations                       # that moved something
"""

from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.gpt.cache import Cache, read
from labkit.distributed.gpt.model import GPT
from labkit.distributed.moved_bytes import moved_bytes


@dataclass(frozen=True)
class CountedStep:
    """FLOPs and bytes of a step.

    attention_flops   those of products of two activations: queries with keys, weights with values
    bytes             by the kinds of `moved_bytes`
    """

    flops: int
    attention_flops: int
    bytes: dict[str, int]
    operations: int


def counted_step(model: GPT, new: int, past: int = 0, sequences: int = 1) -> CountedStep:
    """Runs a step in which each sequence gets `new` tokens behind `past` that are read before.

    ValueError for what `Cache` and `read` refuse.
    """
    cache = Cache(model, sequences)
    tokens = torch.zeros(sequences, past + new, dtype=torch.int64)
    if past:
        read(model, tokens[:, :past], cache)
    with FlopCounterMode(display=False) as flops, moved_bytes(model, cache) as moved:
        read(model, tokens[:, past:], cache)
    of_activations = flops.get_flop_counts()["Global"].get(torch.ops.aten.bmm, 0)
    return CountedStep(flops.get_total_flops(), of_activations, moved.by_kind, moved.operations)
