"""Gradient compression against NumPy, and what it has to keep: nothing is lost, only late."""

import numpy as np
import pytest
import torch

from labkit import convnet
from labkit.distributed import LaunchError, launch, one_big_batch, recorded
from labkit.distributed.ddp import DataParallel
from labkit.distributed.gradients.compression import (
    Compressor,
    HalfPrecision,
    LowRank,
    TopK,
    for_model,
)

ENOUGH = 300.0
SHAPE = (12, 5, 3)
NUMBERS = 180
MAKERS = {
    "whole": Compressor,
    "half": HalfPrecision,
    "top tenth": lambda: TopK(0.1),
    "top one": lambda: TopK(1e-9),
    "rank 1": lambda: LowRank(1),
    "rank 3": lambda: LowRank(3),
}


def gradient(rank, step=0):
    """Of both signs, and other ones in each rank and step."""
    numbers = np.random.default_rng([rank, step]).standard_normal(SHAPE) + 0.3 * rank
    return torch.from_numpy(numbers.astype(np.float32))


def sent_bytes(messages):
    return sum(message.bytes for message in messages if message.sent)


def steps_of_all(rank, ranks, steps):
    """By maker: what it averaged, and the error that it kept, in each step; and the bytes sent."""
    found = {}
    for name, make in MAKERS.items():
        compressor = make()
        means, errors = [], []
        with recorded() as messages:
            for step in range(steps):
                means.append(compressor.average(gradient(rank, step)).numpy())
                errors.append(compressor.error.numpy())
        found[name] = means, errors, sent_bytes(messages) // steps
    return found


@pytest.fixture(scope="module")
def three_ranks():
    return launch(steps_of_all, 3, 4, timeout=ENOUGH)


@pytest.mark.parametrize("name", MAKERS)
def test_sent_and_kept_are_together_the_gradients(three_ranks, name):
    """Summed over steps and ranks: the means and the last errors make all gradients there were."""
    for step in range(4):
        given = sum(gradient(r, s) for r in range(3) for s in range(step + 1)).numpy()
        sent = 3 * sum(three_ranks[0][name][0][: step + 1])
        kept = sum(three_ranks[r][name][1][step] for r in range(3))
        assert np.abs(sent + kept - given).max() < (2e-2 if name == "half" else 2e-5)


@pytest.mark.parametrize("name", MAKERS)
def test_all_ranks_get_the_same_bits(three_ranks, name):
    for step in range(4):
        first, *others = (rank[name][0][step] for rank in three_ranks)
        assert all(np.array_equal(first, other) for other in others)


def test_the_bytes_are_those_of_the_formulas(three_ranks):
    whole = 4 * NUMBERS
    around = 2 * 2 / 3  # of an all-reduce among 3, for each byte
    for rank in three_ranks:
        assert rank["whole"][2] == around * whole
        assert rank["half"][2] == around * whole / 2
        assert rank["top tenth"][2] == 2 * 8 * NUMBERS / 10
        assert rank["top one"][2] == 2 * 8
        assert rank["rank 1"][2] == around * 4 * 1 * (12 + 15)
        assert rank["rank 3"][2] == around * 4 * 3 * (12 + 15)


def test_the_first_top_k_is_numpys(three_ranks):
    expected = np.zeros(NUMBERS, np.float32)
    for rank in range(3):
        flat = gradient(rank).numpy().ravel()
        largest = np.argsort(-np.abs(flat))[:18]
        expected[largest] += flat[largest] / 3
    assert np.allclose(three_ranks[0]["top tenth"][0][0].ravel(), expected, atol=1e-6)


def test_the_first_low_rank_is_a_projection_by_numpy(three_ranks):
    """P spans the columns of mean(M) Q, and P P^T mean(M) is what comes out."""
    mean = np.mean([gradient(r).numpy().reshape(12, 15) for r in range(3)], axis=0)
    got = three_ranks[0]["rank 3"][0][0].reshape(12, 15).astype(float)
    u, sizes, _ = np.linalg.svd(got)
    assert sizes[2] > 1e-3 > sizes[3], "three columns, not fewer and not more"
    basis = u[:, :3]
    assert np.allclose(basis @ basis.T @ mean, got, atol=1e-5)


def test_with_everything_sent_the_mean_is_exact():
    def program(rank, ranks):
        mine = torch.arange(6.0).view(2, 3) * (1 - 3 * rank)
        return [c.average(mine).tolist() for c in (Compressor(), TopK(1.0), LowRank(2))]

    expected = (torch.arange(6.0).view(2, 3) * -0.5).tolist()
    for rank in launch(program, 2, timeout=ENOUGH):
        assert rank == [expected] * 3


def test_only_feedback_brings_a_constant_gradient_home():
    """The mean over 60 steps of what is sent, against the gradient's true mean."""

    def program(rank, ranks):
        found = {}
        for name in ("top tenth", "rank 1"):
            for feedback in (True, False):
                compressor = MAKERS[name]()
                compressor.feedback = feedback
                total = sum(compressor.average(gradient(rank)) for _ in range(60))
                found[name, feedback] = (total / 60).numpy()
        return found

    true = (gradient(0) + gradient(1)).numpy() / 2
    found = launch(program, 2, timeout=ENOUGH)[0]
    for name in ("top tenth", "rank 1"):
        assert np.abs(found[name, True] - true).max() < 0.3
        assert np.abs(found[name, False] - true).max() > 1


def test_warm_start_finds_the_best_rank():
    """Repeated on one matrix without feedback, it becomes the truncated SVD."""

    def program(rank, ranks):
        compressor = LowRank(2, feedback=False)
        for _ in range(100):
            mean = compressor.average(gradient(0))
        return mean.numpy()

    u, sizes, v = np.linalg.svd(gradient(0).numpy().reshape(12, 15))
    best = u[:, :2] * sizes[:2] @ v[:2]
    assert np.allclose(launch(program, 1, timeout=ENOUGH)[0].reshape(12, 15), best, atol=1e-2)


def test_large_and_zero_gradients():
    def program(rank, ranks):
        half = HalfPrecision()
        first = half.average(torch.tensor([60_000.0, 1e6]))
        low = LowRank(1)
        zero = low.average(torch.zeros(6, 6))
        after = low.average(torch.ones(6, 6)) + low.average(torch.ones(6, 6))
        return first.tolist(), half.error.tolist(), zero.abs().sum().item(), after

    first, error, zero, after = launch(program, 2, timeout=ENOUGH)[0]
    assert first == pytest.approx([60_000, 65_504], rel=1e-3)
    assert error[1] == pytest.approx(1e6 - 65_504, rel=1e-3), "the rest comes later"
    assert zero == 0
    assert torch.allclose(after, 2 * torch.ones(6, 6), atol=1e-5), "a step of zeros ends nothing"


def test_a_model_trains_with_whole_gradients_as_without_compressors():
    def program(rank, ranks):
        trained = []
        for compressed in (True, False):
            torch.manual_seed(0)
            net = convnet.torch_model()
            compressors = for_model(net, lambda: TopK(1.0)) if compressed else None
            model = DataParallel(net, 1 << 17, compressors=compressors)
            for step in range(2):
                generator = torch.Generator().manual_seed(10 * step + rank)
                images = torch.randn(4, 3, 32, 32, generator=generator)
                one_big_batch.forward_backward(model, images, torch.arange(4))
                model.finish()
                one_big_batch.descend(model, 0.05)
            model.close()
            trained.append(one_big_batch.weights(net))
        return one_big_batch.largest_difference(*trained)

    assert max(launch(program, 2, timeout=ENOUGH)) < 1e-6


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan")])
def test_a_share_that_is_none(share):
    with pytest.raises(ValueError, match="share is above 0 and at most 1"):
        TopK(share)


@pytest.mark.parametrize("rank", [0, -1, 1.0, True])
def test_a_rank_that_is_none(rank):
    with pytest.raises(ValueError, match="whole number from 1 on"):
        LowRank(rank)


def test_a_compressor_belongs_to_one_weight():
    def another_shape(rank, ranks):
        compressor = TopK(0.5)
        compressor.average(torch.ones(3))
        compressor.average(torch.ones(4))

    with pytest.raises(LaunchError, match=r"of shape \[3\]; this gradient is \[4\]"):
        launch(another_shape, 1, timeout=ENOUGH)
