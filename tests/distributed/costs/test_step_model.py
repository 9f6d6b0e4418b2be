"""The step model beside counters, simulated schedules, and what each term has to do."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.costs.clusters import cluster
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.step_model import predict_step
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.pipeline import predictions
from labkit.distributed.pipeline.schedules import gpipe, one_f_one_b
from labkit_lessons.distributed.hybrid_and_sharded import pretended

LLAMA = language_model("llama31_8b")
H100 = cluster("h100")
BYTES = replace(H100, per_node=1024, within=CostModel(0.0, 1.0), short=None)  # a second is a byte


def test_flops_are_those_that_pytorch_counts():
    """Of forward and backward. The embedding's input has no gradient, but the first layer's has."""
    small = GPT(Config())
    with FlopCounterMode(display=False) as counter:
        small(torch.zeros(3, 64, dtype=torch.int64)).sum().backward()
    terms = predict_step(LanguageModel.of(Config()), H100, Layout(sequences=3), 64)
    assert terms.flops == counter.get_total_flops()
    assert terms.compute == pytest.approx(terms.flops / H100.rate())


@pytest.mark.parametrize("make", [gpipe, one_f_one_b])
@pytest.mark.parametrize("stages, micro_batches", [(1, 1), (2, 4), (4, 8), (8, 32)])
def test_compute_and_bubble_are_the_simulated_schedule(make, stages, micro_batches):
    layout = Layout(pipeline=stages, micro_batches=micro_batches)
    one = CostModel(0.0, 1e30)
    free = replace(H100, within=one, between=one, short=None)
    terms = predict_step(LLAMA, free, layout, 512)
    forward = terms.compute / micro_batches / 3
    spans = predictions.predict(make(stages, micro_batches), forward, 2 * forward)
    assert terms.compute + terms.bubble == pytest.approx(predictions.seconds_of(spans))


def test_messages_are_those_of_the_simulated_gpipe():
    one = CostModel(1e-3, 1e30)
    slow = replace(H100, within=one, between=one, short=None)
    layout = Layout(pipeline=4, micro_batches=8)
    terms = predict_step(LLAMA, slow, layout, 512)
    forward = terms.compute / 8 / 3
    spans = predictions.predict(gpipe(4, 8), forward, 2 * forward, message=1e-3)
    expected = predictions.seconds_of(spans)
    assert terms.compute + terms.bubble + terms.messages == pytest.approx(expected)


def test_bytes_of_the_data_ranks_are_those_that_pytorch_would_send():
    """FSDP2 on a pretended mesh; it pads weights, and keeps the gradients in float32."""
    model = LanguageModel.of(Config(width=256))
    with pretended.pretended(4):
        calls = pretended.sharded(GPT(Config(width=256)), torch.zeros(1, 64, dtype=torch.int64), 4)
    terms = predict_step(model, BYTES, Layout(data=4, stage=3), 64)
    assert 2 * terms.data == pytest.approx(calls.sent, rel=0.03)  # 4 bytes a number there


def test_bytes_of_the_tensor_ranks_are_those_that_pytorch_would_send():
    model = LanguageModel.of(Config())
    tokens = torch.zeros(1, 64, dtype=torch.int64)
    with pretended.pretended(4):
        calls = pretended.data_and_tensor(GPT(Config()), tokens, 1, 4)
    terms = predict_step(model, BYTES, Layout(tensor=4), 64)
    assert calls.total["all_reduce"].calls - 1 == 4 * model.layers  # and one for the gradients
    each = 2 * 3 / 4 * 64 * 128 * 2  # 2 (n - 1) / n of T x D numbers of two bytes
    assert terms.tensor == pytest.approx(4 * model.layers * each)


@pytest.mark.parametrize("stage, factor", [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_zero_3_sends_half_as_much_again(stage, factor):
    terms = predict_step(LLAMA, BYTES, Layout(data=8, stage=stage), 64)
    assert terms.data == pytest.approx(factor * 7 / 8 * 2 * LLAMA.parameters)


def test_what_is_hidden():
    shown = predict_step(LLAMA, H100, Layout(data=64, overlap=False), 512)
    assert shown.hidden == 0 and shown.exposed == shown.data
    hidden = predict_step(LLAMA, H100, Layout(data=64), 8192)
    assert hidden.exposed == 0 and hidden.hidden == hidden.data > 0
    short = predict_step(LLAMA, H100, Layout(data=64), 512)  # no time to hide behind
    backward = 2 / 3 * short.compute
    assert short.hidden == pytest.approx(backward * 31 / 32)
    assert short.data > short.hidden > 0
    assert predict_step(LLAMA, H100, Layout(), 512).data == 0


@settings(max_examples=60, deadline=None)
@given(
    data=st.sampled_from([1, 2, 8, 64]),
    tensor=st.sampled_from([1, 2, 8]),
    pipeline=st.sampled_from([1, 2, 8]),
    micro_batches=st.integers(1, 64),
    stage=st.integers(0, 3),
    overlap=st.booleans(),
    recompute=st.booleans(),
)
def test_terms_are_never_negative_and_add_up(**sides):
    terms = predict_step(LLAMA, H100, Layout(**sides), 2048)
    assert all(value >= 0 for value in terms.parts.values())
    assert 0 <= terms.hidden <= terms.data
    assert terms.seconds == pytest.approx(sum(terms.parts.values()))
    assert terms.parts[terms.binds] == max(terms.parts.values())
    assert (terms.bubble == 0) == (sides["pipeline"] == 1)
    assert (terms.tensor == 0) == (sides["tensor"] == 1)
    assert (terms.data == 0) == (sides["data"] == 1)
    longer = predict_step(LLAMA, H100, replace(Layout(**sides), recompute=True), 2048)
    assert longer.compute >= terms.compute


def test_interleaving_and_recomputing():
    plain = predict_step(LLAMA, H100, Layout(pipeline=8, micro_batches=8), 2048)
    chunks = predict_step(LLAMA, H100, Layout(pipeline=8, micro_batches=8, chunks=4), 2048)
    assert chunks.bubble == pytest.approx(plain.bubble / 4)
    again = predict_step(LLAMA, H100, Layout(recompute=True), 2048)
    assert again.compute == pytest.approx(4 / 3 * predict_step(LLAMA, H100, Layout(), 2048).compute)


def test_wider_tensor_groups_cost_more_between_nodes():
    near = predict_step(LLAMA, H100, Layout(tensor=8), 2048)
    far = predict_step(LLAMA, H100, Layout(tensor=16), 2048)
    assert far.tensor > near.tensor
    with pytest.raises(ValueError, match="32 heads"):
        predict_step(LLAMA, H100, Layout(tensor=7), 2048)
