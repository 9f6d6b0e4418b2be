"""What serving a language model needs: `serve("llama31_8b", "bf16", batch=8, context=4096)`.

    serve("llama31_70b", weights="int4")                      # arithmetic and cache in bf16
    serve("llama31_8b", batch=8, context=4096, prompt=4000)   # and the time to the first token
    serve("llama31_8b", batch=64, context=1000, prompt=800, rate=20)     # 20 requests a second

Lesson a_tokens_cost derives the formulas, and lesson serving simulates the requests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from labkit.distributed.chooser.derivation import Sum, derive, number
from labkit.distributed.chooser.even import EvenWorkload, Pass, together
from labkit.distributed.chooser.formats import bytes_of
from labkit.distributed.chooser.models import context_of, lookup
from labkit.distributed.chooser.workload import HOUR, Efficiency, Plan, above_zero
from labkit.distributed.costs.language_models import LanguageModel
from labkit.errors import whole
from labkit.hardware import Machine

MILLION = 1_000_000
OPERATORS = frozenset({"linear", "attention", "norm", "embedding"})
ALL_REDUCES = 2  # of each layer: behind attention, and behind the MLP
SUMMED = 2  # bytes at least of a number in an all-reduce: sums of int8 or fp8 are wider than these
REACHED = Efficiency(
    0.68,
    "105 of at most 154 tokens/s: gpt-fast, Llama 2 7B in bf16 on one A100, "
    "https://github.com/pytorch-labs/gpt-fast",
)
PROMPT = "reading the prompt (--prompt), "
QUEUE = "waiting for other requests (lesson 15), "
LEFT_OUT = (
    "Where several machines share it, they add up by rings. A one-shot all-reduce, in which each "
    "reads all others' numbers at once, waits less where the tensors are small: for several, the "
    "best case is no bound. "
    "Not counted: {prompt}buffers, scales beside narrow weights (4 % in int4, by groups of 128), "
    "and what a runtime keeps for itself. Pipelines are not tried."
)


@dataclass(frozen=True)
class Serving(EvenWorkload):
    """Requests that get their next token together.

    batch    requests that share a step
    prompt   what reading the prompt of one request does; None: it is not counted
    outputs  tokens that each request gets behind its prompt
    rate     requests that come each second; None: as many as can be served
    """

    batch: int = 1
    prompt: Pass | None = None
    outputs: int = 0
    rate: float | None = None

    def efficiency(self, machine: Machine) -> Efficiency:
        """What gpt-fast reached, whatever the machine."""
        return REACHED

    def plan(self, machine: Machine, count: int, efficiency: float) -> Plan:
        """As lesson serving has it: while a prompt is read, the other requests wait."""
        plan = super().plan(machine, count, efficiency)
        if self.prompt is None:
            return plan
        first = together(self.parts(self.prompt, machine, count, efficiency), count)
        seconds = number(self.outputs) * plan.seconds.number / self.batch + first.number
        words = "1 / (tokens x step / requests of a step + reading a prompt)"
        rate = derive("requests/s", words, number(1) / seconds)
        groups = math.ceil(self.rate / rate.value) if self.rate else 1
        return replace(plan, first=first, rate=rate, groups=groups)

    def paid_hours(self, plan: Plan) -> Sum:
        """Of a million tokens, prompts included; where requests come, idle time included."""
        if self.rate:
            return number(MILLION) / (number(self.rate, "requests/s") * self.outputs) / HOUR
        if plan.first is None:
            return super().paid_hours(plan)
        prompts = plan.first.number * MILLION / self.outputs
        return (plan.seconds.number * self.steps.number + prompts) / HOUR


def serve(
    model: LanguageModel | str,
    number_format: str = "bf16",
    batch: int = 1,
    context: int = 2048,
    weights: str | None = None,
    cache: str | None = None,
    prompt: int | None = None,
    rate: float | None = None,
) -> Serving:
    """Generating: a step gives each of `batch` requests its next token.

    number_format   of the arithmetic, and of what follows no other
    context         tokens that the cache holds for each request, the new one included
    weights, cache  formats in which they are kept; None: that of the arithmetic
    prompt          tokens of the context that are given, and not generated
    rate            requests that come in each second

    As lesson a_tokens_cost counts: the weights are read once for all requests, each request's
    cache once, and its part for the new token is written; of an embedding, only a row is read.
    Raises ValueError for sizes that are none, and for a rate without a prompt.
    """
    model = lookup(model)
    whole("batch", batch)
    context_of(model, context)
    _demand_requests(context, prompt, rate)
    weight_size = bytes_of(weights or number_format)
    token = _number(model.kv_bytes_per_token(bytes_of(cache or number_format)))
    summed = max(SUMMED, bytes_of(number_format))
    read = number(model.read_parameters) * weight_size
    held = number(batch) * context * token
    return Serving(
        task="serve",
        says=f"{model.name} in {number_format}{_kept(weights, cache)}, serving "
        f"{_requests(batch, context, prompt, rate)}",
        number_format=number_format,
        operators=OPERATORS,
        steps=derive("steps", "a million tokens / requests", number(MILLION) / batch),
        step="a token for each request",
        paid="a million tokens",
        left_out=LEFT_OUT.format(prompt=QUEUE if prompt else PROMPT),
        unit="s",
        explained=_weights(model),
        held={
            "weights": derive("B", "parameters x bytes", number(model.parameters) * weight_size),
            "cache": derive("B", "requests x context x cache bytes of a token", held),
        },
        step_pass=_step(model, batch, context, read, token, summed),
        heads=model.heads,
        all_reduces=ALL_REDUCES * model.layers,
        batch=batch,
        prompt=_prompt(model, prompt, read, token, summed) if prompt else None,
        outputs=context - (prompt or 0),
        rate=rate,
    )


def _step(
    model: LanguageModel, batch: int, context: int, read: Sum, token: Sum, summed: float
) -> Pass:
    """A token more for each request."""
    used = number(2) * model.matmul_parameters + model.attention_flops(1, context - 1)
    return Pass(
        flops=derive(
            "FLOP",
            "requests x (2 x weights used + attention over the context)",
            number(batch) * used,
        ),
        moved=derive(
            "B",
            "weights read + cache read and a token written",
            read + number(batch) * (number(context) + 1) * token,
        ),
        reduced=derive("B", "requests x width x bytes", number(batch) * model.width * summed),
    )


def _prompt(model: LanguageModel, tokens: int, read: Sum, token: Sum, summed: float) -> Pass:
    """Reading one prompt: all of its tokens go through the network at once."""
    attention = model.attention_flops(tokens)
    used = number(2) * tokens * model.matmul_parameters
    return Pass(
        flops=derive("FLOP", "2 x tokens x weights used + attention", used + attention),
        moved=derive("B", "weights read + cache", read + number(2) * tokens * token),
        reduced=derive("B", "tokens x width x bytes", number(tokens) * model.width * summed),
    )


def _demand_requests(context: int, prompt: int | None, rate: float | None) -> None:
    """ValueError where the prompt leaves no token, or requests come without one."""
    if prompt is not None and whole("prompt", prompt) >= context:
        raise ValueError(
            f"A prompt of {prompt:,} tokens leaves none of the {context:,} of the context to be "
            "generated: give a longer context."
        )
    if rate is not None:
        above_zero("rate", rate)
        if prompt is None:
            raise ValueError("A rate of requests needs their prompt, in tokens: give prompt, too.")


def _number(size: float) -> Sum:
    """Bytes of a token in the cache, whole where they are."""
    return number(int(size) if float(size).is_integer() else size)


def _kept(weights: str | None, cache: str | None) -> str:
    """ " (weights in int4)", or nothing."""
    formats = {"weights": weights, "cache": cache}
    kept = [f"{kind} in {form}" for kind, form in formats.items() if form]
    return f" ({', '.join(kept)})" if kept else ""


def _requests(batch: int, context: int, prompt: int | None, rate: float | None) -> str:
    """ "8 requests of 4,096 tokens, of which 4,000 are the prompt"."""
    said = f"{batch:,} request{'s' * (batch > 1)} of {context:,} tokens"
    if prompt:
        said += f", of which {prompt:,} are the prompt"
    if rate:
        said += f", {rate:g} new ones each second"
    return said


def _weights(model: LanguageModel) -> str:
    """The three counts of weights in the formulas."""
    return (
        f"weights: {model.parameters:,} are held; {model.read_parameters:,} are read, without "
        f"tables of which a token needs only a row; {model.matmul_parameters:,} are multiplied, "
        "without norms"
    )
