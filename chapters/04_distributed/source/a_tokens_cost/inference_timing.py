"""How long a step of the small GPT takes on this machine, with a KV cache and without.

    measure_step(model, new=1, past=999)         # decode, with a cache of 999 tokens
    measure_step(model, new=64, past=0)          # prefill
    measure_again(model, tokens=1000)            # the whole text again, without a cache

Processor time, so that what else runs on the machine hardly counts: with one thread
(`torch.set_num_threads(1)`) it is what a clock on the wall would show on an idle machine. Of some
rounds the shortest. The tokens are arbitrary: no step takes longer for one than for another.
"""

import time
from collections.abc import Callable

import torch

from labkit.distributed.gpt.model import GPT
from labkit_lessons.distributed.a_tokens_cost.cache import Cache, read

ROUNDS = 5  # after one that is not counted, in which memory is touched first


def measure_step(
    model: GPT, new: int = 1, past: int = 0, sequences: int = 1, rounds: int = ROUNDS
) -> float:
    """Seconds of a step in which each sequence gets `new` tokens behind `past` cached ones.

    ValueError for what `Cache` and `read` refuse, and for no round.
    """
    cache = Cache(model, sequences, room=past + new)
    for buffer in (*cache.keys, *cache.values):
        buffer.normal_()
    tokens = torch.zeros(sequences, new, dtype=torch.int64)

    def step() -> None:
        cache.length = past
        read(model, tokens, cache)

    return _shortest(step, rounds)


@torch.no_grad()
def measure_again(model: GPT, tokens: int, rounds: int = ROUNDS) -> float:
    """Seconds of a step without a cache, which computes all `tokens` of a sequence.

    ValueError for no token, and for no round.
    """
    if not isinstance(tokens, int) or tokens < 1:
        raise ValueError(f"measure_again: {tokens!r} tokens; give a whole number from 1 on.")
    text = torch.zeros(1, tokens, dtype=torch.int64)
    return _shortest(lambda: model(text), rounds)


def _shortest(call: Callable[[], object], rounds: int) -> float:
    if not isinstance(rounds, int) or rounds < 1:
        raise ValueError(f"A time is measured in 1 round or more, not in {rounds!r}.")
    call()
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)
