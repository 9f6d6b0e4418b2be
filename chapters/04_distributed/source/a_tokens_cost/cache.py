"""The KV cache: a token's keys and values are computed once, and every later token reads them.

    cache = Cache(model)
    read(model, prompt, cache)        # prefill: all tokens of the prompt at once
    read(model, token, cache)         # decode: one more, behind all that were read before

    generate(trained(), "Emma ", tokens=40)     # the same text as that of `generation`

Causal attention lets a token read from itself and from those before it, so a new token changes
nothing in the keys and values of older ones. Lesson a_tokens_cost derives what this saves.
"""

import math

import torch
from torch.nn.functional import softmax

from labkit.distributed.gpt.model import GPT, Attention
from labkit.distributed.gpt.text import decode, encode
from labkit_lessons.distributed.a_tokens_cost.generation import choose


class Cache:
    """Room for the keys and values of N sequences of equal length, in every layer.

    Two buffers [N,H,room,D/H] for each layer, of the weights' type and device. `length` tokens of
    each sequence are in it. ValueError for no sequences, and for a room that is not 1 to the
    model's context, which is what `room=None` takes.
    """

    def __init__(self, model: GPT, sequences: int = 1, room: int | None = None) -> None:
        context = model.config.context
        self.room = context if room is None else room
        if not isinstance(sequences, int) or sequences < 1:
            raise ValueError(f"Cache: {sequences!r} sequences; there is at least 1.")
        if not isinstance(self.room, int) or not 1 <= self.room <= context:
            raise ValueError(f"Cache: a room for {room} tokens; the model reads 1 to {context}.")
        self.sequences = sequences
        self.length = 0
        shape = (sequences, model.config.heads, self.room, model.config.head_width)
        weight = model.head.weight
        self.keys = [weight.new_empty(shape) for _ in model.blocks]
        self.values = [weight.new_empty(shape) for _ in model.blocks]

    @property
    def bytes(self) -> int:
        """Of all buffers: 2 x L x N x H x room x D/H numbers."""
        return sum(buffer.nbytes for buffer in (*self.keys, *self.values))

    def append(
        self, layer: int, k: torch.Tensor, v: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write a layer's new k and v [N,H,new,D/H] behind the others; returns views of them all.

        The views are [N,H,length + new,D/H]; `length` grows when all layers are through (`read`).
        """
        end = self.length + k.shape[2]
        self.keys[layer][:, :, self.length : end] = k
        self.values[layer][:, :, self.length : end] = v
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


@torch.no_grad()
def read(model: GPT, tokens: torch.Tensor, cache: Cache) -> torch.Tensor:
    """Logits [N,new,V] of new tokens [N,new], which then are in the cache, too.

    ValueError for tokens of another number of sequences, for none, and for more than fit.
    """
    _demand_that_they_fit(tokens, cache)
    past = cache.length
    positions = torch.arange(past, past + tokens.shape[1], device=tokens.device)
    x = model.embedding.token(tokens) + model.embedding.position(positions)
    for layer, block in enumerate(model.blocks):
        x = x + attend(block.attention, block.norm1(x), cache, layer)
        x = x + block.mlp(block.norm2(x))
    cache.length += tokens.shape[1]
    return model.head(model.final_norm(x))


def attend(attention: Attention, x: torch.Tensor, cache: Cache, layer: int) -> torch.Tensor:
    """Attention of new tokens x [N,new,D] to themselves and to all in the cache: [N,new,D]."""
    q = attention.by_head(attention.query(x))  # [N,H,new,D/H]
    k = attention.by_head(attention.key(x))
    v = attention.by_head(attention.value(x))
    keys, values = cache.append(layer, k, v)  # [N,H,past+new,D/H]
    scores = q @ keys.transpose(2, 3) / math.sqrt(attention.head_width)  # [N,H,new,past+new]
    new = x.shape[1]
    if new > 1:  # a single one is the last: nothing is later
        every = keys.shape[2]
        later = torch.ones(new, every, dtype=torch.bool, device=x.device).triu(every - new + 1)
        scores = scores.masked_fill(later, -math.inf)
    mixed = (softmax(scores, dim=3) @ values).transpose(1, 2)  # [N,new,H,D/H]
    return attention.output(mixed.flatten(2))


class Reader:
    """What follows a text that grows: each token is read once, as long as the context holds.

    The model's positions count from the first token that it reads. When the context is full, that
    is another token after each step, so all positions change, and nothing in the cache is valid:
    then every step reads the whole context again, as one without a cache does.
    """

    def __init__(self, model: GPT) -> None:
        self.model = model
        self.cache = Cache(model)

    def logits(self, text: torch.Tensor) -> torch.Tensor:
        """Logits [V] of what follows text[T], which begins with the text of the last call."""
        context = self.model.config.context
        if len(text) > context:
            text = text[-context:]
            self.cache.length = 0
        new = text[self.cache.length :]
        return read(self.model, new[None], self.cache)[0, -1]


def generate(
    model: GPT,
    prompt: str,
    tokens: int,
    temperature: float = 1.0,
    seed: int = 0,
    reader: Reader | None = None,
) -> str:
    """The `tokens` characters that follow the prompt: those of `generation.generate`.

    `reader` may compute the logits in another way; its `logits(text)` gets text[T]. Raises
    ValueError for an empty prompt, a number of tokens below 0, and what `choose` refuses.
    """
    if not prompt:
        raise ValueError("generate: the prompt is empty; the model needs a character to follow.")
    if not isinstance(tokens, int) or tokens < 0:
        raise ValueError(f"generate: {tokens!r} tokens; give 0 or more.")
    reader = reader or Reader(model)
    random = torch.Generator().manual_seed(seed)
    text = encode(prompt)
    for _ in range(tokens):
        following = choose(reader.logits(text), temperature, random)
        text = torch.cat([text, following])
    return decode(text[len(prompt) :])


def _demand_that_they_fit(tokens: torch.Tensor, cache: Cache) -> None:
    """ValueError for tokens that the cache has no room for."""
    sequences, new = tokens.shape
    if sequences != cache.sequences:
        raise ValueError(f"read: {sequences} sequences, and a cache for {cache.sequences}.")
    if new < 1:
        raise ValueError("read: there is no new token; give one or more.")
    if cache.length + new > cache.room:
        raise ValueError(
            f"read: {cache.length} tokens are in the cache, and {new} more do not fit into a room "
            f"for {cache.room}."
        )
