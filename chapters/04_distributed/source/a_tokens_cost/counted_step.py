"""One step of the small GPT with its KV cache, and everything that is counted of it.

step = counted_step(model, new=1, past=100)
step.flops, step.attention_flops      # by PyTorch's FlopCounterMode
step.bytes                            # {"weights": ..., "cache read": ..., ...}
step.operations                       # that moved something
counted_again(model, tokens=101)      # FLOPs of the same token without a cache
"""

from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.gpt.model import GPT
from labkit_lessons.distributed.a_tokens_cost.cache import Cache, read
from labkit_lessons.distributed.a_tokens_cost.moved_bytes import moved_bytes


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
    """Runs a step in which each sequence gets `new` tokens behind `past` cached ones.

    No count depends on which tokens these are, so the cache is filled with zeros. ValueError for
    what `Cache` and `read` refuse.
    """
    cache = Cache(model, sequences, room=past + new)
    for buffer in (*cache.keys, *cache.values):
        buffer.zero_()
    cache.length = past
    tokens = torch.zeros(sequences, new, dtype=torch.int64)
    with FlopCounterMode(display=False) as flops, moved_bytes(model, cache) as moved:
        read(model, tokens, cache)
    of_activations = flops.get_flop_counts()["Global"].get(torch.ops.aten.bmm, 0)
    return CountedStep(flops.get_total_flops(), of_activations, moved.by_kind, moved.operations)


@torch.no_grad()
def counted_again(model: GPT, tokens: int) -> int:
    """FLOPs of a step without a cache, which computes all `tokens` of a sequence.

    ValueError for no token.
    """
    if not isinstance(tokens, int) or tokens < 1:
        raise ValueError(f"counted_again: {tokens!r} tokens; give a whole number from 1 on.")
    with FlopCounterMode(display=False) as flops:
        model(torch.zeros(1, tokens, dtype=torch.int64))
    return flops.get_total_flops()
