"""The book that the small GPT learns from: Jane Austen's Emma, as whole numbers.

    book = emma()
    book.train[:5]            # 5 tokens: each is a character's place in CHARACTERS
    decode(book.train[:5])    # '[Emma'
    inputs, targets = batch(book.train, seed=0, sequences=8, length=64)

The book has 887,071 characters, 77 different ones. The model's vocabulary is 80, with three that
never occur, so that 2 and 4 ranks can share it evenly. Source and terms: DATA.md.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

BOOK = Path(__file__).parents[2] / "data" / "emma.txt"
CHARACTERS = "\n !\"&'(),-.01234678:;?ABCDEFGHIJKLMNOPQRSTUVWXY[]_`abcdefghijklmnopqrstuvwxyz"
TRAINING_SHARE = 0.9  # of the book, from its start; the rest is for validation


@dataclass(frozen=True)
class Book:
    """The tokens of a book, int64: the part to train on, and the part that only judges."""

    train: "torch.Tensor"
    validation: "torch.Tensor"


@cache
def emma() -> Book:
    """The whole book: 798,363 tokens to train on and 88,708 that follow them."""
    tokens = encode(BOOK.read_text(encoding="ascii"))
    split = int(TRAINING_SHARE * len(tokens))
    return Book(tokens[:split], tokens[split:])


def encode(text: str) -> "torch.Tensor":
    """Tokens[T], int64, of a text of T characters; ValueError names one that the book lacks."""
    import torch

    places = {character: place for place, character in enumerate(CHARACTERS)}
    tokens = []
    for position, character in enumerate(text):
        if character not in places:
            raise ValueError(f"encode: the book has no {character!r} (position {position}).")
        tokens.append(places[character])
    return torch.tensor(tokens, dtype=torch.int64)


def decode(tokens: "torch.Tensor") -> str:
    """The text of tokens[T]: the way back from `encode`."""
    return "".join(CHARACTERS[token] for token in tokens.tolist())


def batch(
    tokens: "torch.Tensor", seed: int, sequences: int, length: int
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Inputs[N,T] and targets[N,T], both int64: N pieces of the tokens from seeded places.

    A target is the token that follows its input, so targets are inputs moved on by one.
    Raises ValueError for sizes below 1 and for tokens too short for one piece.
    """
    import torch

    if sequences < 1 or length < 1:
        raise ValueError(f"batch: {sequences} sequences of {length} tokens; both are at least 1.")
    last = len(tokens) - length - 1
    if last < 0:
        raise ValueError(f"batch: a piece takes {length + 1} tokens, and there are {len(tokens)}.")
    random = torch.Generator().manual_seed(seed)
    starts = torch.randint(0, last + 1, (sequences, 1), generator=random)
    pieces = tokens[starts + torch.arange(length + 1)]  # [N,T+1]
    return pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()
