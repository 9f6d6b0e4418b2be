"""The small GPT writes with a learner's attention: one token at a time, in NumPy.

    reader = FunctionReader(trained().double(), attend_one)
    generate(model, "Emma ", tokens=40, reader=reader)

`attend_one` is the exercise of lesson a_tokens_cost, in which one token reads from a cache.
"""

from collections.abc import Callable

import numpy as np
import torch

from labkit.distributed.gpt.model import GPT, Attention

# attend_one(q [H,W], k [K,W], v [K,W], keys [past,K,W], values) -> mixed [H,W], keys, values
AttendOne = Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]


class FunctionReader:
    """What follows a text that grows; `cache.Reader` with its attention left to a function.

    ValueError when the text gets longer than the context.
    """

    def __init__(self, model: GPT, attend_one: AttendOne) -> None:
        self.model = model
        self.attend_one = attend_one
        self.length = 0
        numbers = model.head.weight.detach().numpy().dtype
        empty = np.zeros((0, model.config.heads, model.config.head_width), numbers)
        self.keys = [empty for _ in model.blocks]  # of each layer, [length,H,D/H]
        self.values = [empty for _ in model.blocks]

    @torch.no_grad()
    def logits(self, text: torch.Tensor) -> torch.Tensor:
        """Logits [V] of what follows text[T], which begins with the text of the last call."""
        context = self.model.config.context
        if len(text) > context:
            raise ValueError(f"{len(text)} tokens do not fit into a context of {context}.")
        for token in text[self.length :]:
            x = self._read(token)
        return self.model.head(self.model.final_norm(x))

    def _read(self, token: torch.Tensor) -> torch.Tensor:
        """One more token through all blocks: x [D]."""
        embedding = self.model.embedding
        x = embedding.token(token) + embedding.position(torch.tensor(self.length))
        for layer, block in enumerate(self.model.blocks):
            x = x + self._attend(block.attention, block.norm1(x), layer)
            x = x + block.mlp(block.norm2(x))
        self.length += 1
        return x

    def _attend(
        self,
        attention: Attention,
        x: torch.Tensor,
        layer: int,
    ) -> torch.Tensor:
        """Attention of the new token x [D] by the function: [D]."""
        q, k, v = (
            linear(x).reshape(-1, attention.head_width).numpy()  # [H,D/H]
            for linear in (attention.query, attention.key, attention.value)
        )
        mixed, self.keys[layer], self.values[layer] = self.attend_one(
            q, k, v, self.keys[layer], self.values[layer]
        )
        return attention.output(torch.from_numpy(np.ascontiguousarray(mixed)).flatten())
