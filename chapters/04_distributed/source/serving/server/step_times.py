"""How long a step takes: a plain unit for examples worked by hand, or the roofline of a GPU.

    Units(1.0)                                                    # each step takes 1
    Roofline(language_model("llama2_7b"), machine("v100"), "fp16")

A step puts some tokens of each of its requests through the network: the whole prompt of one that
has just joined (prefill), one token of the others (decode). Lesson a_tokens_cost derives the bytes
and the FLOPs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from labkit.distributed.costs.language_models import LanguageModel
from labkit.hardware import Machine
from labkit_lessons.distributed.serving.server.requests import is_number

BYTES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0}  # of a number


class Work(Protocol):
    """What a step does for one request: tokens through the network, and tokens in the cache."""

    new: int
    past: int


class StepTime(Protocol):
    """Whatever says how long a step takes."""

    def seconds(self, work: Sequence[Work]) -> float:
        """Of a step that does this work, one entry for each request in it."""


@dataclass(frozen=True)
class Units:
    """Every step takes equally long, whatever is in it."""

    step: float = 1.0

    def __post_init__(self) -> None:
        if not is_number(self.step) or not 0 < self.step < math.inf:
            raise ValueError(f"Units: a step takes a time above 0, not {self.step!r}.")

    def seconds(self, work: Sequence[Work]) -> float:
        """`step`."""
        return self.step


@dataclass(frozen=True)
class Roofline:
    """What memory and arithmetic need at least, and of these the longer: a prediction.

        bytes    weights once + keys and values of all tokens, the new ones included
        FLOPs    `model.forward_flops` of every request
        seconds  max(bytes / bandwidth, FLOPs / peak)

    Real kernels stay below both limits; nothing here is a measurement. `number_format` is that of
    weights, cache and arithmetic, such as "fp16"; the machine needs a peak in it.
    """

    model: LanguageModel
    machine: Machine
    number_format: str

    def __post_init__(self) -> None:
        if self.number_format not in BYTES:
            raise ValueError(f"Roofline: {self.number_format!r} is none of {', '.join(BYTES)}.")
        self.machine.rate(self.number_format)
        if self.weight_bytes >= float(self.machine.memory):
            weights = f"{self.weight_bytes / 1e9:.1f} GB"
            memory = f"{float(self.machine.memory) / 1e9:.0f} GB"
            raise ValueError(
                f"Roofline: the weights of {self.model.name} take {weights}, and "
                f"{self.machine.name} has {memory}."
            )

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights."""
        return self.model.weight_bytes(BYTES[self.number_format])

    @property
    def token_bytes(self) -> float:
        """Bytes of a token's keys and values in all layers."""
        return self.model.kv_bytes_per_token(BYTES[self.number_format])

    @property
    def cache_slots(self) -> int:
        """Tokens whose keys and values fit beside the weights, if nothing else needs memory."""
        return int((float(self.machine.memory) - self.weight_bytes) // self.token_bytes)

    def bytes(self, work: Sequence[Work]) -> float:
        """Bytes that cross the memory's bus in a step."""
        tokens = 0
        for one in work:
            tokens += one.new + one.past
        return self.weight_bytes + tokens * self.token_bytes

    def flops(self, work: Sequence[Work]) -> float:
        """The sum of `model.forward_flops` over the requests."""
        new = 0
        pairs = 0
        for one in work:
            new += one.new
            pairs += one.new * (one.new + one.past)
        return 2 * new * self.model.matmul_parameters + pairs * self.model.attention_flops(1)

    def seconds(self, work: Sequence[Work]) -> float:
        """The longer of the two limits."""
        by_memory = self.bytes(work) / float(self.machine.bandwidth)
        by_arithmetic = self.flops(work) / float(self.machine.rate(self.number_format))
        return max(by_memory, by_arithmetic)
