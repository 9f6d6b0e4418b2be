"""What serving a language model needs: `serve("llama31_8b", "bf16", batch=8, context=4096)`.

Lesson a_tokens_cost derives the formulas.
"""

from labkit.distributed.chooser.even import TIME, EvenNeed
from labkit.distributed.chooser.formats import bytes_of
from labkit.distributed.chooser.models import context_of, found
from labkit.distributed.chooser.need import whole
from labkit.distributed.chooser.reckoning import reckon
from labkit.distributed.language_models import LanguageModel

MILLION = 1_000_000
OPERATORS = frozenset({"linear", "attention", "norm", "embedding"})
ALL_REDUCES = 2  # of each layer: behind attention, and behind the MLP
LEFT_OUT = "Not counted: reading the prompt, buffers, and what a runtime keeps for itself."


def serve(
    model: LanguageModel | str, number_format: str = "bf16", batch: int = 1, context: int = 2048
) -> EvenNeed:
    """Generating: a step gives each of `batch` requests its next token.

    context   tokens that the cache holds for each request, the new one included

    As lesson a_tokens_cost counts: the weights are read once for all requests, each request's
    cache once, and its part for the new token is written; of an embedding, only a row is read.
    Raises ValueError for sizes that are none.
    """
    model = found(model)
    size = bytes_of(number_format)
    whole("batch", batch)
    context_of(model, context)
    token = f"{model.kv_bytes_per_token(size):.15g}"  # bytes of a token in the cache
    cache = f"{batch} * {context} * {token}"
    passed = f"{batch} * ({context} + 1) * {token}"
    used = model.matmul_parameters
    attention = model.attention_flops(1, context - 1)
    requests = f"{batch} request{'s' * (batch > 1)} of {context:,} tokens"
    return EvenNeed(
        task="serve",
        says=f"{model.name} in {number_format}, serving {requests}",
        number_format=number_format,
        operators=OPERATORS,
        steps=reckon("steps", "a million tokens / requests", f"{MILLION} / {batch}"),
        step="a token for each request",
        paid="a million tokens",
        left_out=LEFT_OUT,
        unit="s",
        memory_words="(weights + cache) / machines",
        time_words=TIME,
        explained=_weights(model),
        held={
            "weights": reckon("B", "parameters x bytes", f"{model.parameters} * {size}"),
            "cache": reckon("B", "requests x context x cache bytes of a token", cache),
        },
        flops=reckon(
            "FLOP",
            "requests x (2 x weights used + attention over the context)",
            f"{batch} * (2 * {used} + {attention})",
        ),
        moved=reckon(
            "B",
            "weights read + cache read and a token written",
            f"{model.read_parameters} * {size} + {passed}",
        ),
        heads=model.heads,
        all_reduces=ALL_REDUCES * model.layers,
        reduced=reckon("B", "requests x width x bytes", f"{batch} * {model.width} * {size}"),
    )


def _weights(model: LanguageModel) -> str:
    """The three counts of weights in the formulas."""
    return (
        f"weights: {model.parameters:,} are held; {model.read_parameters:,} are read, without "
        f"tables of which a token needs only a row; {model.matmul_parameters:,} are multiplied, "
        "without norms"
    )
