"""The small GPT: tokens in, for each of them the logits of the token that follows.

    tokens [N,T]
      token_embedding + position_embedding      [N,T,D]
      L blocks, each                            [N,T,D]
          x + attention(norm1(x))
          x + mlp(norm2(x))
      final_norm, head                          [N,T,V]

N sequences of T tokens; D is the width, V the vocabulary. The norm comes before each half of a
block (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"). There is no
dropout, so equal inputs give equal outputs, and the head has weights of its own.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu, softmax

from labkit.errors import whole


@dataclass(frozen=True)
class Config:
    """The sizes of a GPT; ValueError for one below 1 and for heads that do not divide the width."""

    vocabulary: int = 80  # V
    context: int = 128  # the longest T
    width: int = 128  # D
    heads: int = 4  # H
    layers: int = 4  # L

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            whole(f"Config: {name}", value)
        if self.width % self.heads:
            raise ValueError(
                f"Config: {self.heads} heads do not divide a width of {self.width} evenly."
            )

    @property
    def head_width(self) -> int:
        """How many of the D numbers one head works on."""
        return self.width // self.heads


class Attention(nn.Module):
    """Causal self-attention: each token reads from itself and from those before it.

    softmax(Q K^T / sqrt(head width)) V for each head, where later tokens count -infinity
    (Vaswani et al. 2017, arXiv:1706.03762). Q, K and V have weights of their own, so that each can
    be split by heads. How many heads there are is read from the width of Q: a rank that holds half
    the columns of the three computes half the heads with this same code.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.head_width = config.head_width
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[N,T,D] -> [N,T,D]."""
        q = self.by_head(self.query(x))  # [N,H,T,D/H]
        k = self.by_head(self.key(x))
        v = self.by_head(self.value(x))
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head_width)  # [N,H,T,T]
        tokens = x.shape[1]
        later = torch.ones(
            tokens,
            tokens,
            dtype=torch.bool,
            device=x.device,
        ).triu(1)
        weights = softmax(scores.masked_fill(later, -math.inf), dim=3)
        mixed = (weights @ v).transpose(1, 2)  # [N,T,H,D/H]
        return self.output(mixed.flatten(2))

    def by_head(self, x: torch.Tensor) -> torch.Tensor:
        """[N,T,heads * head width] -> [N,heads,T,head width]."""
        return x.unflatten(2, (-1, self.head_width)).transpose(1, 2)


class MLP(nn.Module):
    """Two layers for each token by itself: D -> 4D, GELU, 4D -> D."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.expand = nn.Linear(config.width, 4 * config.width)
        self.contract = nn.Linear(4 * config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[N,T,D] -> [N,T,D]."""
        return self.contract(gelu(self.expand(x)))


class Block(nn.Module):
    """One of the L equal layers: tokens exchange what they know, then each thinks by itself."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[N,T,D] -> [N,T,D]."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Embedding(nn.Module):
    """What goes into the first block: each token's row plus its position's row."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocabulary, config.width)
        self.position = nn.Embedding(config.context, config.width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[N,T] -> [N,T,D]."""
        context = self.position.num_embeddings
        if tokens.shape[1] > context:
            raise ValueError(
                f"GPT: {tokens.shape[1]} tokens do not fit into a context of {context}."
            )
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.token(tokens) + self.position(positions)


class GPT(nn.Module):
    """The whole model. Equal seeds give equal weights, whatever was drawn before."""

    def __init__(self, config: Config | None = None, seed: int = 0) -> None:
        super().__init__()
        self.config = config or Config()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = Embedding(self.config)
            self.blocks = nn.ModuleList(Block(self.config) for _ in range(self.config.layers))
            self.final_norm = nn.LayerNorm(self.config.width)
            self.head = nn.Linear(self.config.width, self.config.vocabulary, bias=False)
            self._draw()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[N,T] -> [N,T,V]."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))

    def _draw(self) -> None:
        """GPT-2's start: normal weights of deviation 0.02, biases 0.

        What is added to the stream, twice in each block, begins smaller by sqrt(2L), so that the
        stream does not grow with the number of blocks.
        """
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        for block in self.blocks:
            for layer in (block.attention.output, block.mlp.contract):
                nn.init.normal_(layer.weight, std=0.02 / math.sqrt(2 * self.config.layers))


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of logits[N,T,V] with targets[N,T], in nats per token."""
    return cross_entropy(logits.flatten(0, 1), targets.flatten())
