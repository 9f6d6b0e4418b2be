"""Sizes of language models, and what follows from them: parameters, FLOPs and bytes.

    model = language_model("llama31_8b")
    model.parameters                   # 8_030_261_248, as published
    model.forward_flops(new=1)         # 1.5e10: two for each weight that a token is multiplied with
    model.kv_bytes_per_token(2)        # 131_072 bytes with two bytes for a number
    LanguageModel.of(Config())         # the course's small GPT

A decoder-only transformer: an embedding, L blocks of attention and an MLP, a norm and the head.
Lesson a_tokens_cost derives the formulas; the sizes, with their sources, are in
`language_models.toml`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from labkit.errors import row_of, whole

if TYPE_CHECKING:
    from labkit.distributed.gpt.model import Config

SIZES = ("layers", "width", "heads", "kv_heads", "head_width", "mlp_width", "vocabulary")
SWITCHES = ("gated", "tied", "biases")


@dataclass(frozen=True)
class LanguageModel:
    """The sizes of a decoder-only transformer; nonsense raises ValueError, a sentence each."""

    key: str
    name: str
    layers: int  # L
    width: int  # D
    heads: int  # H, of the queries
    kv_heads: int  # K, of the keys and values: H, or fewer that groups of query heads share
    head_width: int  # numbers in a head; H x head_width is usually D
    mlp_width: int  # F
    gated: bool  # three matrices in the MLP instead of two
    vocabulary: int  # V
    tied: bool  # whether the head is the embedding's matrix
    source: str
    biases: bool = False  # in all layers but the head; the norms then have them, too
    position_rows: int = 0  # learned positions; 0 where they are computed, as in RoPE
    longest: int = 0  # tokens of a sequence that it was made for, where positions are computed
    published: int | None = None  # parameters, as the source gives them
    exactly: bool = True  # whether it gives them to the last one
    notes: str = ""
    compared: str = ""  # a page by others that was read instead of the source
    checked: str = ""  # the month in which it was read

    def __post_init__(self) -> None:
        for name in SIZES:
            whole(f"LanguageModel {self.key}: {name}", getattr(self, name))
        for name in ("position_rows", "longest"):
            whole(f"LanguageModel {self.key}: {name}", getattr(self, name), least=0)
        for name in SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"LanguageModel {self.key}: {name} is True or False.")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"LanguageModel {self.key}: {self.heads} query heads cannot share "
                f"{self.kv_heads} heads of keys and values evenly."
            )
        if not str(self.source).strip():
            raise ValueError(f"LanguageModel {self.key}: say where the sizes come from.")

    @classmethod
    def of(cls, config: Config) -> LanguageModel:
        """The course's small GPT (`labkit.distributed.gpt`) of this configuration."""
        return cls(
            key="small_gpt",
            name="the small GPT",
            layers=config.layers,
            width=config.width,
            heads=config.heads,
            kv_heads=config.heads,
            head_width=config.head_width,
            mlp_width=4 * config.width,
            gated=False,
            vocabulary=config.vocabulary,
            tied=False,
            source="labkit/distributed/gpt/model.py",
            biases=True,
            position_rows=config.context,
        )

    @property
    def parameters(self) -> int:
        """All weights and biases, each once: what a file of the model holds."""
        matrices = 1 if self.tied else 2  # embedding and head
        tables = matrices * self.vocabulary * self.width + self.position_rows * self.width
        norms = 2 * self.layers + 1
        in_norms = norms * self.width * (2 if self.biases else 1)
        return tables + self.layers * (self._block_matrices + self._block_biases) + in_norms

    @property
    def matmul_parameters(self) -> int:
        """Weights that each token is multiplied with: matrices of the blocks, and the head.

        Left out are biases, norms and the embedding, of which a token only looks up a row. A tied
        matrix counts once, as the head.
        """
        return self.layers * self._block_matrices + self.vocabulary * self.width

    @property
    def read_parameters(self) -> int:
        """Parameters that every step reads whole: all but tables in which it looks up a row.

        Those are the positions, and the embedding where the head has a matrix of its own.
        """
        looked_up = self.position_rows
        if not self.tied:
            looked_up += self.vocabulary
        return self.parameters - looked_up * self.width

    def forward_flops(self, new: int, past: int = 0) -> int:
        """FLOPs of a forward pass for `new` tokens of one sequence, behind `past` that are cached.

            2 x new x matmul_parameters  +  4 x new x (past + new) x L x H x head_width

        A multiply-add is 2. The second term is attention: queries times keys, and weights times
        values, for all (past + new) tokens: those that the mask hides are multiplied, too, and the
        head runs for every new token. So counts PyTorch's FlopCounterMode, which counts matrix
        products and nothing else.
        """
        whole("forward_flops: new", new)
        whole("forward_flops: past", past, 0)
        products = 2 * new * self.matmul_parameters
        return products + self.attention_flops(new, past)

    def attention_flops(self, new: int, past: int = 0) -> int:
        """The second term of `forward_flops`: Q K^T and the mix of V, in all layers."""
        whole("attention_flops: new", new)
        whole("attention_flops: past", past, 0)
        numbers_in_queries = self.layers * self.heads * self.head_width
        return 4 * new * (past + new) * numbers_in_queries

    def weight_bytes(self, bytes_per_parameter: float) -> float:
        """Bytes of all parameters: 2 for each in bfloat16, 0.5 in int4."""
        _demand_positive("weight_bytes: bytes_per_parameter", bytes_per_parameter)
        return self.parameters * bytes_per_parameter

    def kv_bytes_per_token(self, bytes_per_number: float) -> float:
        """Bytes that the cache keeps for a token: 2 x L x K x head_width keys and values."""
        _demand_positive("kv_bytes_per_token: bytes_per_number", bytes_per_number)
        return 2 * self.layers * self.kv_heads * self.head_width * bytes_per_number

    def training_state_bytes(
        self, weight: float = 2, gradient: float = 2, master: float = 4, moments: float = 8
    ) -> float:
        """Bytes that training with Adam keeps beside activations: 16 for each parameter.

        By default in mixed precision: weight and gradient of 2 bytes, and in float32 a master copy
        of the weight and Adam's two moments (Rajbhandari et al. 2020, arXiv:1910.02054, section
        3.1). In float32 alone it is 4 + 4 + 0 + 8, which is 16 as well.
        """
        kinds = {"weight": weight, "gradient": gradient, "master": master, "moments": moments}
        for name, size in kinds.items():
            if not 0 <= size < math.inf:
                raise ValueError(f"training_state_bytes: {name} is 0 bytes or more, not {size!r}.")
        return self.parameters * (weight + gradient + master + moments)

    @property
    def _block_matrices(self) -> int:
        """Weights in the matrices of one block."""
        queries = self.heads * self.head_width
        keys = self.kv_heads * self.head_width
        attention = self.width * queries + 2 * self.width * keys + queries * self.width
        mlp = (3 if self.gated else 2) * self.width * self.mlp_width
        return attention + mlp

    @property
    def _block_biases(self) -> int:
        """Biases of one block: one for each number that a matrix hands on."""
        if not self.biases:
            return 0
        queries = self.heads * self.head_width
        keys = self.kv_heads * self.head_width
        attention = queries + 2 * keys + self.width
        mlp = (2 if self.gated else 1) * self.mlp_width + self.width
        return attention + mlp


@cache
def language_models() -> Mapping[str, LanguageModel]:
    """All models of the table, by key."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    found = {}
    for key, row in tomllib.loads(text)["models"].items():
        found[key] = LanguageModel(key=key, **row)
    return MappingProxyType(found)


def language_model(key: str) -> LanguageModel:
    """The model with this key, as "llama31_8b". ValueError names the near matches."""
    return row_of(language_models(), key, "model")


def _demand_positive(what: str, number: object) -> None:
    """ValueError for what is no number above 0."""
    if not isinstance(number, (int, float)) or not 0 < number < math.inf:
        raise ValueError(f"{what} is a number above 0, not {number!r}.")
