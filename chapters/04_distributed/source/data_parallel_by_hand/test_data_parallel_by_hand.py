"""This lesson: the numbers of its text, and that what it prints follows from what it runs."""

import sys
from functools import cache

import cloudpickle
import numpy as np
import pytest
import torch

from labkit import convnet
from labkit.distributed import launch, ring_all_reduce
from labkit.distributed.sampler import ShardedSampler
from tests.notebooks.running import Run


@cache
def lesson():
    """Run by the first test that needs it, and not where tests are only collected."""
    return Run("04_distributed", "3_data_parallel_by_hand")


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as a notebook's functions travel

STEP, COMPARED, BYTES = "def step(", "one_process", "def sent_in_a_step"
MASTER, APART, PRINTED, TRIED = "def master_step", "def right(", "def printed(", "unlike shards"


def printed(words):
    return lesson().printed[lesson().cell(words)]


def rows(said):
    return [line.split() for line in said.splitlines()]


def test_the_exercises_are_solved_and_the_shards_are_those_of_torch():
    for name in ("shard", "average_gradients", "weighted_average"):
        assert "is solved" in printed(f'check("distributed.{name}"')
    assert printed("DistributedSampler").count("as PyTorch: True") == 2


def test_what_the_tables_say():
    compared = rows(printed(COMPARED))
    assert [row[:3] for row in compared[1:]] == [
        ["1", "2", "32"], ["1", "4", "16"], ["5", "2", "32"], ["5", "4", "16"],
    ]  # fmt: skip
    assert all(row[3:] == ["yes", "yes"] for row in compared[1:])
    sent = rows(printed(BYTES))[2:4]
    assert sent == [
        ["2", "2", "2.18", "MB", "2.18", "MB"],
        ["4", "6", "3.27", "MB", "3.27", "MB"],
    ]
    master = printed(MASTER)
    assert "calls, with a batch of shape: [(64, 3, 32, 32)]" in master
    assert ["replicate", "6.54", "MB", "0", "B"] in rows(master)
    assert ["reduce", "0", "B", "6.54", "MB"] in rows(master)
    verdicts = [row[-1] for row in rows(printed(TRIED))[1:]]
    assert verdicts == ["yes", "no", "yes", "no", "no"]


def test_the_numbers_of_the_text():
    assert 256 * 32 == 8_192
    gradients = 10 - np.array([2, 4, 6, 12])
    assert gradients.tolist() == [8, 6, 4, -2]
    assert gradients.mean() == 4 == (gradients[:2].mean() + gradients[2:].mean()) / 2
    assert (gradients[:3].mean() + gradients[3]) / 2 == 2
    assert (3 * gradients[:3].mean() + gradients[3]) / 4 == 4
    assert np.isclose(gradients[:3].mean(), 6) and gradients[3] == -2
    order = np.resize([7, 2, 9, 0, 5, 1, 8, 3, 6, 4], 12)
    assert order[-2:].tolist() == [7, 2]
    assert [order[rank::4].tolist() for rank in range(4)] == [
        [7, 5, 6], [2, 1, 4], [9, 8, 7], [0, 3, 2],
    ]  # fmt: skip
    weights = sum(np.prod(shape, dtype=int) for shape in convnet.SHAPES.values())
    assert weights == 545_098 and round(4 * weights / 1e6, 2) == 2.18
    scattered, scores = 48 * 3 * 32 * 32 * 4, 48 * 10 * 4
    assert round((3 * 4 * weights + scattered + scores) / 1e6, 2) == 7.13
    assert round((3 * 4 * weights + scores) / 1e6, 2) == 6.54  # into the master
    assert round((2 * (3 * 4 * weights + scores) + scattered) / 1e6, 1) == 13.7
    assert round(63 * 4 * weights / 1e6) == 137 and round(2 * 4 * weights / 1e6, 2) == 4.36
    assert (2 + 6) / 2 / ((30 * 2 + 10 * 6) / 40) == 4 / 3  # the quiz


def test_a_step_in_ranks_is_that_of_numpy():
    """Against the network in NumPy, which shares no code with PyTorch's gradients."""
    names = lesson().namespace
    weights = convnet.init(0)
    order = list(ShardedSampler(64, 0, 1))
    images, labels = names["images"][order].numpy(), names["labels"][order].numpy()
    _, gradients = convnet.forward_backward(weights, images, labels)
    start = np.concatenate([weights[name].ravel() for name in convnet.SHAPES])
    expected = -0.01 * np.concatenate([gradients[name].ravel() for name in convnet.SHAPES])
    trained = launch(names["train"], 4, [0] * 4, names["Descent"], 0.01, 1)
    for model in trained:
        moved = names["vector"](model).numpy() - start
        # Perhaps rounding chooses another pixel in a few max-pools than NumPy's float64.
        assert np.linalg.norm(moved - expected) < 0.001 * np.linalg.norm(expected)


def test_some_weights_move_by_much_more_than_the_comparison_allows():
    names = lesson().namespace
    start = names["vector"](convnet.torch_model(convnet.init(0)))
    (one_process,) = launch(names["train"], 1, [0], names["Descent"], 0.01, 1)
    assert (names["vector"](one_process) - start).abs().max() > 0.01


def sums(rank, ranks, gradients):
    """As if the division were forgotten."""
    return [ring_all_reduce(gradient) for gradient in gradients]


def alone(rank, ranks, gradients):
    """As if nobody sent anything."""
    return gradients


def plain_mean(rank, ranks, gradient, count):
    """As if the count did not count."""
    return ring_all_reduce(gradient) / ranks


@pytest.mark.night(instead="chapters/04_distributed/3_data_parallel_by_hand.ipynb")
def test_the_comparison_follows_the_average():
    said, _ = lesson().again(STEP, COMPARED, average_gradients=sums)
    assert all(row[3:] == ["yes", "no"] for row in rows(said)[1:])
    said, _ = lesson().again(STEP, COMPARED, average_gradients=alone)
    assert all(row[3:] == ["no", "no"] for row in rows(said)[1:])


def test_the_bytes_are_those_that_were_sent():
    changed = {"average_gradients": alone}
    said, _ = lesson().again(STEP, COMPARED, BYTES, **changed)
    assert ["4", "0", "3.27", "MB", "0", "B"] in rows(said)


def test_what_was_tried_follows_the_weights():
    said, _ = lesson().again(PRINTED, TRIED, weighted_average=plain_mean)
    assert [row[-1] for row in rows(said)[1:]] == ["yes", "no", "no", "no", "no"]


def test_ranks_that_begin_apart_stay_apart():
    names = lesson().namespace
    assert abs(names["left"].value - 100) < 0.01
    ends = [names["vector"](model) for model in names["own"]]
    start = [names["vector"](convnet.torch_model(convnet.init(seed))) for seed in range(4)]
    for rank in range(1, 4):
        moved = ends[rank] - start[rank]
        torch.testing.assert_close(moved, ends[0] - start[0], rtol=0, atol=1e-5)
    assert moved.norm() > 0.1
    equal = [names["vector"](model) for model in names["equal"]]
    assert all(torch.equal(other, equal[0]) for other in equal)
    assert "140 photographs" in printed(APART)  # as the text says
    assert names["results"]["right of 500"].value < 140
