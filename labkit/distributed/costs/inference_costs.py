"""What inference with a language model costs on a machine, at best: prefill, decode, the roofline.

    llama = language_model("llama31_8b")
    work(llama, new=1000)                          # prefill: a prompt of 1,000 tokens
    work(llama, new=1, past=1000, sequences=16)    # decode: a token more, in each of 16
    seconds(work(llama, new=1), machine("h100"))   # predicted by the roofline

The FLOPs are those of `LanguageModel.forward_flops`. The bytes are the weights, once for all
sequences, and the cache: the keys and values of all tokens are read, those of new ones written.
Activations are left out: what one operation hands on to the next can stay on the chip. Embedding
tables are left out, too, since a token only looks up a row.

A step that does this work takes at least so long: real machines reach less than their peaks, and
take time for each operation. One that does less may be faster: attention is counted with what the
mask hides, which FlashAttention skips (only prefill has any). (Lesson a_tokens_cost.)
"""

import math
from dataclasses import dataclass

from labkit.distributed.costs.language_models import LanguageModel
from labkit.hardware import Machine, machines
from labkit.provenance import Quantity, predicted

# The format that a machine computes in, the first that it has; and the bytes of a number in memory.
# Where only fp32 has a rate, numbers of 2 bytes are widened on their way to the arithmetic.
FORMATS = ("bf16", "fp16", "fp32", "int8")
TWO_BYTES = 2
MEMORY_SHARE = 0.9  # of a machine's memory, for weights and cache; the chooser's `Limits.memory`
OF_FORMAT = {"int8": 1}


@dataclass(frozen=True)
class Work:
    """What a step has to do: FLOPs, and bytes from and to memory."""

    flops: float
    bytes: float

    @property
    def intensity(self) -> float:
        """FLOP/B."""
        return self.flops / self.bytes


def work(
    model: LanguageModel, new: int, past: int = 0, sequences: int = 1, size: float = TWO_BYTES
) -> Work:
    """A step in which each sequence gets `new` tokens behind its `past` ones.

    size   bytes of a number, of weights and cache alike

    Raises ValueError for fewer than one sequence, and what the model refuses.
    """
    if not isinstance(sequences, int) or sequences < 1:
        raise ValueError(f"work: {sequences!r} sequences; give a whole number from 1 on.")
    flops = sequences * model.forward_flops(new, past)
    read = past + new  # tokens, in each sequence
    written = new
    cache = sequences * (read + written) * model.kv_bytes_per_token(size)
    return Work(flops, model.read_parameters * size + cache)


def number_format(machine: Machine) -> str:
    """The first of FORMATS in which the machine has a peak."""
    for name in FORMATS:
        if name in machine.peak:
            return name
    raise ValueError(f"{machine.name} has no peak in any of {', '.join(FORMATS)}.")


def number_bytes(machine: Machine) -> int:
    """Bytes of a number in this machine's memory: 2, or 1 where it only computes in int8."""
    return OF_FORMAT.get(number_format(machine), TWO_BYTES)


def seconds(step: Work, machine: Machine) -> Quantity:
    """The longer of two times: the FLOPs at the machine's peak, the bytes at its bandwidth."""
    for_flops = step.flops / float(machine.rate(number_format(machine)))
    for_bytes = step.bytes / float(machine.bandwidth)
    return predicted(max(for_flops, for_bytes), "s", "the roofline")


def bound(step: Work, machine: Machine) -> str:
    """Which of the two times is the longer one: "compute" or "bandwidth"."""
    ridge = machine.ridge(number_format(machine))
    return "compute" if step.intensity >= ridge else "bandwidth"


def compute_bound_from(model: LanguageModel, past: int, machine: Machine) -> int | None:
    """From how many sequences on decode is bound by compute; None if it never is.

    Each sequence adds f FLOPs and c bytes of cache to the w bytes of weights. At the ridge r,

        n f = r (w + n c),   so   n = r w / (f - r c),

    and if f / c, the intensity of many sequences, is not above r, there is no such n.
    """
    size = number_bytes(machine)
    ridge = machine.ridge(number_format(machine))
    one = work(model, new=1, past=past, size=size)
    weights = model.read_parameters * size
    cache = one.bytes - weights
    gained = one.flops - ridge * cache
    if gained <= 0:
        return None
    return math.ceil(ridge * weights / gained)


def sequences_that_fit(
    model: LanguageModel, tokens: int, machine: Machine, share: float = MEMORY_SHARE
) -> int | None:
    """How many sequences of so many tokens have their cache beside the weights, in this share of
    the memory; None if not even the weights fit. ValueError for a number of tokens that is not
    whole, or below 1.
    """
    if not isinstance(tokens, int) or tokens < 1:
        raise ValueError(f"sequences_that_fit: {tokens!r} tokens; give a whole number from 1 on.")
    size = number_bytes(machine)
    free = share * float(machine.memory) - model.weight_bytes(size)
    if free < 0:
        return None
    return int(free // (tokens * model.kv_bytes_per_token(size)))


@dataclass(frozen=True)
class Served:
    """What a machine makes of a model, at best: one row of the table of all machines."""

    machine: Machine
    number_format: str
    prefill: Quantity  # s for each token of a prompt
    decode: Quantity  # s for a token, one sequence alone
    prefill_bound: str  # "compute" or "bandwidth"
    decode_bound: str
    compute_from: int | None  # so many sequences, or never
    fit: int | None  # so many sequences, or not even the weights


def on_every_machine(model: LanguageModel, tokens: int) -> list[Served]:
    """A prompt of so many tokens, and a step with so many behind, on all machines of the course."""
    found = []
    for machine in machines().values():
        size = number_bytes(machine)
        prompt = work(model, new=tokens, size=size)
        step = work(model, new=1, past=tokens, size=size)
        for_each = float(seconds(prompt, machine)) / tokens
        served = Served(
            machine=machine,
            number_format=number_format(machine),
            prefill=predicted(for_each, "s", "the roofline"),
            decode=seconds(step, machine),
            prefill_bound=bound(prompt, machine),
            decode_bound=bound(step, machine),
            compute_from=compute_bound_from(model, tokens, machine),
            fit=sequences_that_fit(model, tokens, machine),
        )
        found.append(served)
    return found
