"""Text from the small GPT: one character after another, each chosen from what the model expects.

    generate(trained(), "Emma ", tokens=40, temperature=0.8, seed=1)

For each new character the text before it is read again, as far back as the context reaches. That
is the plain way, with which faster ones are compared.
"""

import math

import torch

from labkit.distributed.gpt.model import GPT
from labkit.distributed.gpt.text import CHARACTERS, decode, encode


@torch.no_grad()
def generate(model: GPT, prompt: str, tokens: int, temperature: float = 1.0, seed: int = 0) -> str:
    """The `tokens` characters that follow the prompt, chosen as in `choose`.

    The model reads at most the last `model.config.context` characters. Raises ValueError for an
    empty prompt, a number of tokens below 0, and what `choose` and `encode` refuse.
    """
    if not prompt:
        raise ValueError("generate: the prompt is empty; the model needs a character to follow.")
    if tokens < 0:
        raise ValueError(f"generate: {tokens} tokens; give 0 or more.")
    random = torch.Generator().manual_seed(seed)
    text = encode(prompt)
    for _ in range(tokens):
        context = text[-model.config.context :]  # [T]
        logits = model(context[None])[0, -1]  # [V]: what follows the last character
        following = choose(logits, temperature, random)
        text = torch.cat([text, following])
    return decode(text[len(prompt) :])


def choose(logits: torch.Tensor, temperature: float, random: torch.Generator) -> torch.Tensor:
    """One token[1] by logits[V]: drawn from softmax(logits / temperature).

    A low temperature prefers what is likely; 0 takes the likeliest. Only the book's characters are
    chosen, not the tokens that fill up the vocabulary. ValueError for a temperature below 0.
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"generate: a temperature is 0 or more, not {temperature}.")
    logits = logits[: len(CHARACTERS)]
    if temperature == 0:
        return logits.argmax(0, keepdim=True)
    shares = torch.softmax(logits / temperature, 0)
    return torch.multinomial(shares, 1, generator=random)
