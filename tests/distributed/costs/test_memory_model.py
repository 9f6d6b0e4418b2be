"""A rank's bytes: activations beside those that PyTorch keeps, state beside ZeRO's table."""

import pytest
from torch.utils.checkpoint import checkpoint

from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.memory_model import block_numbers, bytes_of_rank, sets_alive
from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.launching.live_bytes import counted_bytes
from labkit.distributed.pipeline.schedules import most_alive, one_f_one_b
from labkit.distributed.sharded.memory import bytes_of_state

LLAMA = language_model("llama31_8b")


def peak_of_activations(blocks, recompute=False):
    """Bytes in one step of the small GPT with so many blocks, on 8 sequences of 64 tokens."""
    model = GPT(Config(layers=blocks))
    if recompute:
        for block in model.blocks:
            plain = block.forward
            block.forward = lambda x, plain=plain: checkpoint(plain, x, use_reentrant=False)
    inputs, targets = Plan().batch_of(0, emma().train)
    with counted_bytes(model) as memory:
        loss_of(model(inputs), targets).backward()
    return memory.peak_activations


def test_a_block_keeps_what_pytorch_keeps():
    """The small GPT has numbers of 4 bytes, and keeps attention's matrix; its norms and its mask
    keep a little more."""
    model = LanguageModel.of(Config())
    counted = (peak_of_activations(blocks=4) - peak_of_activations(blocks=2)) / 2
    numbers = block_numbers(model, attention_tokens=64)
    assert 8 * 64 * 4 * numbers == pytest.approx(counted, rel=0.1)


def test_recomputed_blocks_keep_their_input_alone():
    """One block at a time is there beside the inputs, each of 8 x 64 tokens x 128 numbers; PyTorch
    stops before the block's output, and so needs a little less."""
    two, four = peak_of_activations(blocks=2), peak_of_activations(blocks=4)
    inside = (four - two) // 2
    rest = two - 2 * inside
    again = peak_of_activations(blocks=4, recompute=True)
    formula = rest + inside + 4 * (8 * 64 * 128 * 4)
    assert 0.8 * formula < again <= formula < four / 2


def test_a_gpt_without_dropout_keeps_32_bytes_of_korthikantis_34():
    gpt3 = language_model("gpt3")
    assert 2 * block_numbers(gpt3) == 32 * gpt3.width
    # ... and 8 of his 10 are whole in each of 8 tensor ranks: two masks are those of dropout.
    assert 2 * block_numbers(gpt3, tensor=8) == (8 + 24 / 8) * gpt3.width


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_the_state_is_zeros_table(stage):
    memory = bytes_of_rank(LLAMA, Layout(data=16, stage=stage), 1024)
    each = {"weights": 2, "gradients": 2, "moments": 12}
    state = bytes_of_state(LLAMA.parameters, 16, stage, each)
    assert (memory.weights, memory.gradients, memory.moments) == (
        state.weights,
        state.gradients,
        state.moments,
    )
    assert (memory.gathered > 0) == (stage == 3)


def test_cutting_by_tensor_and_pipeline_divides_the_state():
    one = bytes_of_rank(LLAMA, Layout(), 1024)
    cut = bytes_of_rank(LLAMA, Layout(tensor=4, pipeline=2), 1024)
    assert cut.weights == pytest.approx(one.weights / 8)
    assert cut.moments == pytest.approx(one.moments / 8)


@pytest.mark.parametrize("stages, micro_batches", [(1, 1), (2, 8), (4, 2), (4, 16), (8, 8)])
def test_sets_alive_are_those_of_the_schedule(stages, micro_batches):
    schedule = one_f_one_b(stages, micro_batches)
    alive = sets_alive(Layout(pipeline=stages, micro_batches=micro_batches))
    assert alive == most_alive(schedule.orders[0])


def test_activations_follow_the_layout():
    def activations(**given):
        return bytes_of_rank(LLAMA, Layout(**given), 4096).activations

    logits = 4 * 4096 * LLAMA.vocabulary
    assert activations(sequences=3) == pytest.approx(3 * activations())
    assert activations(micro_batches=8) == activations()  # one after the other
    blocks = activations() - logits
    deep = activations(pipeline=4, micro_batches=8)
    assert deep == pytest.approx(blocks)  # four sets of a quarter of the layers
    again = activations(recompute=True)
    assert again == pytest.approx(2 * 32 * 4096 * 4096 + logits, rel=1e-6)
    cut = 4 * 4096 + (2 * 4096 + 2 * 1024 + 3 * 14336) / 8  # numbers of a token in a block
    assert activations(tensor=8) == pytest.approx(2 * 32 * 4096 * cut + logits / 8)
    matrix = bytes_of_rank(LLAMA, Layout(), 4096, attention_matrix=True).activations
    assert matrix - activations() == 2 * 32 * 32 * 4096**2


def test_the_sum_and_what_does_not_fit():
    memory = bytes_of_rank(LLAMA, Layout(data=8, stage=3), 4096)
    parts = [memory.weights, memory.gradients, memory.moments, memory.activations, memory.gathered]
    assert memory.total == sum(parts)
    for sequence in (0, -1, 2.5, "8"):
        with pytest.raises(ValueError, match="sequence is a whole number from 1 on"):
            bytes_of_rank(LLAMA, Layout(), sequence)
    with pytest.raises(ValueError, match="32 heads"):
        bytes_of_rank(LLAMA, Layout(tensor=5), 4096)
