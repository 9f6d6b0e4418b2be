"""What the lesson learns of a training: that it follows from what the ranks did."""

from dataclasses import replace

import pytest
import torch

from labkit.distributed import launch, ring_all_reduce
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.training import Plan
from labkit_lessons.distributed.tensor_parallel.by_functions import attention_of_heads, mlp_of_rank
from labkit_lessons.distributed.tensor_parallel.training import (
    WAYS,
    largest_difference,
    train_data_parallel,
    train_split,
)

ENOUGH = 300.0
SMALL = Config(vocabulary=80, context=12, width=16, heads=4, layers=2)
PLAN = Plan(steps=3, sequences=2, length=6, learning_rate=0.01)
ACTIVATION = 2 * 6 * 16  # numbers


def every_way(rank, ranks):
    exact = train_split(rank, ranks, "by hand", PLAN, SMALL, torch.float64)
    usual = {way: train_split(rank, ranks, way, PLAN, SMALL) for way in WAYS if way in SPLIT}
    return exact, usual, train_data_parallel(rank, ranks, PLAN, SMALL)


SPLIT = ("by hand", "PyTorch")


@pytest.fixture(scope="module")
def trainings():
    return launch(every_way, 2, timeout=ENOUGH)


@pytest.mark.night(
    instead="chapters/04_distributed/source/tensor_parallel/test_training.py::"
    "test_a_learner_s_functions_make_the_halves_of_a_block"
)
def test_in_doubles_the_training_is_that_of_one_process(trainings):
    alone = train_split(0, 1, "one process", PLAN, SMALL, torch.float64)
    ours = [exact for exact, _, _ in trainings]
    assert largest_difference(ours, alone, SMALL) < 1e-10
    assert ours[0].weights["head.weight"].dtype == torch.float64
    assert len(alone.losses) == 3 and alone.calls == []


def test_a_difference_is_found_wherever_it_is(trainings):
    alone = train_split(0, 1, "one process", PLAN, SMALL, torch.float64)
    one, other = (exact for exact, _, _ in trainings)
    losses = [*one.losses[:2], one.losses[2] + 0.25]
    assert largest_difference([one, replace(other, losses=losses)], alone, SMALL) > 0.2
    for part in ("weights", "gradients"):
        tensors = dict(getattr(other, part))
        tensors["blocks.1.mlp.expand.weight"] = tensors["blocks.1.mlp.expand.weight"] + 0.5
        changed = replace(other, **{part: tensors})
        assert largest_difference([one, changed], alone, SMALL) == pytest.approx(0.5, abs=1e-6)


def test_the_calls_are_those_of_a_single_step(trainings):
    for exact, usual, _ in trainings:
        assert [call.bytes for call in exact.calls] == [8 * ACTIVATION] * 8
        for way in SPLIT:
            assert [call.bytes for call in usual[way].calls] == [4 * ACTIVATION] * 8


def test_parts_of_pytorch_are_the_parts_by_hand(trainings):
    for _, usual, _ in trainings:
        ours, theirs = (usual[way] for way in SPLIT)
        assert ours.weight_bytes == theirs.weight_bytes
        for name, weight in ours.weights.items():
            torch.testing.assert_close(theirs.weights[name], weight, rtol=0, atol=1e-4)


def test_memory_is_less_than_that_of_one_process(trainings):
    alone = train_split(0, 1, "one process", PLAN, SMALL)
    for _, usual, _ in trainings:
        peak = usual["by hand"].peak_bytes
        assert alone.peak_bytes / 2 < peak < alone.peak_bytes
        assert peak > 4 * usual["by hand"].weight_bytes  # weights, gradients, Adam's two averages


def test_data_parallel_sums_all_gradients_in_one_call_and_keeps_the_whole_model(trainings):
    alone = train_split(0, 1, "one process", PLAN, SMALL)
    weights = sum(weight.numel() for weight in GPT(SMALL).parameters())
    for _, _, one in trainings:
        assert [call.bytes for call in one.calls] == [4 * weights]
        assert one.weight_bytes == alone.weight_bytes == 4 * weights
        for name, weight in alone.weights.items():
            torch.testing.assert_close(one.weights[name], weight, rtol=0, atol=1e-4)
    losses = zip(*(one.losses for _, _, one in trainings), strict=True)
    assert [sum(pair) / 2 for pair in losses] == pytest.approx(alone.losses, abs=1e-4)


def test_nonsense_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="there is no way 'by magic'; take one of one process"):
        train_split(0, 1, "by magic", PLAN, SMALL)
    with pytest.raises(RuntimeError, match="there are no ranks here"):
        train_split(0, 2, "PyTorch", PLAN, SMALL)
    with pytest.raises(ValueError, match="3 ranks cannot share 2 sequences"):
        train_data_parallel(0, 3, PLAN, SMALL)
    block = GPT(SMALL).blocks[0]
    with pytest.raises(ValueError, match="no rank 9 among 2"):
        mlp_of_rank(9, 2, block.mlp, mlp)
    with pytest.raises(ValueError, match="4 heads are too few for 8 ranks"):
        attention_of_heads(0, 8, block.attention, heads)


def heads(rank, ranks, head_width, query, output):
    width = len(query) // ranks
    return query[rank * width :][:width], output[:, rank * width :][:, :width]


def mlp(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    hidden = torch.nn.functional.gelu(x @ expand.T + expand_bias)
    return ring_all_reduce(hidden @ contract.T) + contract_bias


def halves(rank, ranks, block, x):
    attention = attention_of_heads(rank, ranks, block.attention, heads)
    return ring_all_reduce(attention(x)), mlp_of_rank(rank, ranks, block.mlp, mlp)(x)


def test_a_learner_s_functions_make_the_halves_of_a_block():
    block = GPT(SMALL, seed=2).requires_grad_(False).blocks[0]
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))
    for mixed, after in launch(halves, 2, block, x, timeout=ENOUGH):
        torch.testing.assert_close(mixed, block.attention(x), rtol=0, atol=1e-6)
        torch.testing.assert_close(after, block.mlp(x), rtol=0, atol=1e-6)
    assert block.attention.query.weight.shape == (16, 16), "the whole stays whole"
