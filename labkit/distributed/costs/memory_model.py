"""Bytes of one rank of a training: state by ZeRO's table, activations by what each block keeps.

    memory = bytes_of_rank(model, Layout(data=8, tensor=8, stage=1), sequence=4096)
    memory.weights, memory.gradients, memory.moments, memory.activations, memory.total

For one token, a block keeps these numbers for its backward, with D the width, Q = H x head width
numbers of queries, K those of keys and of values each, and F the width of the MLP:

    inputs of both norms, and what they hand on           4 D        whole in each tensor rank
    queries, keys, values, and the mix                    2 Q + 2 K  cut by the tensor ranks
    the MLP: before and behind its activation             2 F, gated 3 F       cut as well

Two bytes each. That is 32 of the 34 s b h bytes that Korthikanti et al. 2022 (arXiv:2205.05198,
section 4.1) count for a GPT; their other two are masks of dropout. Attention's matrix of
H x T numbers for each token counts only if it is asked for: fused kernels do not keep it. The
gated sum leaves out the activation's own output, which a compiler computes again.
Lesson a_cost_model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.distributed.sharded.memory import MIXED, bytes_of_state
from labkit.errors import whole

if TYPE_CHECKING:
    from labkit.distributed.costs.language_models import LanguageModel
    from labkit.distributed.costs.layouts import Layout

NUMBER = 2  # bytes of a number in bfloat16
LOGIT = 4  # bytes: the loss is computed in float32


@dataclass(frozen=True)
class RankMemory:
    """Bytes of the rank that needs most, by kind.

    weights, gradients, moments   its state; `moments` has the float32 copy of the weights, too
    activations                   of all micro-batches that wait for their backward, and the logits
    gathered                      the block that ZeRO-3 has whole for a moment
    """

    weights: float
    gradients: float
    moments: float
    activations: float
    gathered: float

    @property
    def total(self) -> float:
        """Of all kinds."""
        return self.weights + self.gradients + self.moments + self.activations + self.gathered


def bytes_of_rank(
    model: LanguageModel,
    layout: Layout,
    sequence: int,
    attention_matrix: bool = False,
    each: dict[str, int] | None = None,
) -> RankMemory:
    """What a rank needs at the peak of a step on sequences of so many tokens.

    attention_matrix   whether attention keeps its H x T numbers for each token
    each               bytes of state for each weight, by kind, as in `sharded.memory`: MIXED

    Raises ValueError where the model cannot be laid out like this, and for nonsense as `sequence`.
    """
    layout.demand_fits(model)
    whole("bytes_of_rank: sequence", sequence)
    weights = round(parameters_of_rank(model, layout))
    state = bytes_of_state(weights, layout.data, layout.stage, each or MIXED)
    block = NUMBER * (model.matmul_parameters - model.vocabulary * model.width) / model.layers
    is_gathered = layout.stage == 3 and layout.data > 1
    return RankMemory(
        weights=state.weights,
        gradients=state.gradients,
        moments=state.moments,
        activations=_activations(model, layout, sequence, attention_matrix),
        gathered=block / layout.tensor if is_gathered else 0.0,
    )


def parameters_of_rank(model: LanguageModel, layout: Layout) -> float:
    """Weights of one rank before ZeRO cuts them, as if all ranks had equally many."""
    return model.parameters / (layout.tensor * layout.pipeline)


def block_numbers(model: LanguageModel, tensor: int = 1, attention_tokens: int = 0) -> float:
    """Numbers that one block keeps for one token, in one of so many tensor ranks.

    attention_tokens   tokens of the sequence, where attention's matrix is kept; else 0
    """
    queries = model.heads * model.head_width
    keys = model.kv_heads * model.head_width
    mlp = (3 if model.gated else 2) * model.mlp_width
    in_attention = 2 * queries + 2 * keys + model.heads * attention_tokens
    return 4 * model.width + (in_attention + mlp) / tensor


def sets_alive(layout: Layout) -> float:
    """Micro-batches whose activations the first stage keeps under 1F1B: min(m, p).

    Interleaved, with v chunks, it is p + (p - 1) / v of them, if there are as many (Narayanan et
    al. 2021, arXiv:2104.04473, section 2.2; Korthikanti et al. 2022, section 4.2.3).
    """
    stages = layout.pipeline
    more = (stages - 1) / layout.chunks if layout.chunks > 1 else 0.0
    return min(layout.micro_batches, stages + more)


def _activations(
    model: LanguageModel, layout: Layout, sequence: int, attention_matrix: bool
) -> float:
    """Bytes of the first stage or of the last one, whichever needs more."""
    tokens = layout.sequences * sequence  # of a micro-batch
    matrix = sequence if attention_matrix else 0
    whole = NUMBER * tokens * block_numbers(model, layout.tensor, matrix)  # of one block
    layers = model.layers / layout.pipeline
    one_set = layers * whole
    again = 0.0
    if layout.recompute:
        one_set = layers * NUMBER * tokens * model.width  # the inputs alone
        again = whole  # the block that is computed again
    logits = LOGIT * tokens * model.vocabulary / layout.tensor
    first = sets_alive(layout) * one_set
    last = one_set + logits  # the last stage keeps one set
    if layout.pipeline == 1:
        return max(first + logits, first + again)
    return max(first + again, last + again)
