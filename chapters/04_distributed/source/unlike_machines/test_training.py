"""Unequal shards in real ranks: one big batch's weights, and the rehearsal's moments."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from labkit.distributed import CostModel, LaunchError, launch
from labkit.distributed.collectives import ring_all_reduce
from labkit_lessons.distributed.unlike_machines.splits import (
    Group,
    Machine,
    equal_split,
    split_batch,
)
from labkit_lessons.distributed.unlike_machines.training import (
    BYTES,
    Speeds,
    gradient_and_speeds,
    rehearse,
    shard_gradient,
    train,
)

LINK = CostModel(2e-3, 10e6)
FAST, SLOW = Machine(1e-3, 4e-3), Machine(4e-3, 4e-3)
GROUP = Group([FAST, FAST, SLOW], LINK, jitter=0.1)
STEPS = 4


def alone():
    return train(Group([FAST]), split_batch, gradient_and_speeds, STEPS).weights


@pytest.fixture(scope="module")
def together():
    return train(GROUP, split_batch, gradient_and_speeds, STEPS)


def test_unequal_shards_give_the_weights_of_one_big_batch(together):
    assert len({tuple(counts) for counts in together.counts.tolist()}) > 1
    assert any(len(set(counts)) > 1 for counts in together.counts.tolist())
    assert (together.weights - alone()).abs().max() < 1e-6


def test_the_plain_mean_does_not(together):
    def plain(rank, ranks, gradient, count, seconds, batch):
        _, speeds = gradient_and_speeds(rank, ranks, gradient, count, seconds, batch)
        return ring_all_reduce(gradient) / ranks, speeds

    run = train(GROUP, split_batch, plain, STEPS)
    assert (run.weights - alone()).abs().max() > 1e-4


def test_a_rehearsal_has_the_moments_of_the_ranks(together):
    rehearsed = rehearse(GROUP, split_batch, STEPS)
    assert (rehearsed.counts == together.counts).all()
    for name in ("begin", "computed", "end"):
        assert getattr(rehearsed, name) == pytest.approx(getattr(together, name), abs=1e-9)


def test_ranks_that_sleep_take_at_least_their_time():
    """A busy machine may take longer, and never less."""
    group = replace(GROUP, jitter=0.0)
    run = train(group, equal_split, gradient_and_speeds, 2, batch=9, sleeps=True)
    assert run.counts.tolist() == [[3, 3, 3], [3, 3, 3]]
    least = [machine.seconds(3) for machine in group.machines]
    assert (run.computed - run.begin >= np.array(least)).all()
    assert (run.end >= run.computed.max(axis=1, keepdims=True)).all()
    assert (run.idle >= 0).all() and (run.idle.min(axis=1) == 0).all()


def test_the_emulated_clock_by_hand():
    run = rehearse(Group([FAST, SLOW], LINK), equal_split, 2, batch=8)
    ring = 2 * (2e-3 + BYTES / 2 / 10e6)
    assert run.idle == pytest.approx(np.array([[12e-3, 0], [12e-3, 0]]))
    assert run.waiting == pytest.approx([0.3, 0.3])
    assert run.steps == pytest.approx([20e-3 + ring] * 2)
    assert run.seconds == pytest.approx(2 * (20e-3 + ring))


def test_a_split_follows_a_change_and_a_fixed_one_does_not():
    changing = Group([replace(FAST, change_step=4, change=3.0), FAST], LINK)
    last = {}
    for share in (0, 0.5, 1):
        run = rehearse(changing, split_batch, 14, batch=40, share_of_new=share)
        assert run.counts[3].tolist() == [20, 20]
        last[share] = run.counts[-1].tolist()
    assert last[0] == [20, 20]
    assert last[0.5] == last[1]
    balanced = 4 + 3 * last[1][0], 4 + last[1][1]
    assert abs(balanced[0] - balanced[1]) <= 3  # one photograph of the slow machine


def test_speeds_are_smoothed_behind_the_first():
    speeds = Speeds(2, 0.25)
    assert speeds.split(split_batch, 5) == [3, 2]
    speeds.note([8, 4])
    speeds.note([4, 8])
    assert speeds.smoothed.tolist() == [7, 5]
    assert speeds.split(split_batch, 12) == [7, 5]
    with pytest.raises(ValueError, match="share_of_new is a number from 0 to 1"):
        Speeds(2, 1.5)
    with pytest.raises(ValueError, match="does not add up"):
        speeds.split(lambda speeds, batch: [1, 1], 12)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": "2"}, {"batch": 0}, {"batch": 1.5}])
def test_a_run_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="is 1 or more, not"):
        rehearse(Group([FAST]), split_batch, **{"steps": 2, **wrong})


@pytest.mark.parametrize("split", [lambda speeds, batch: [batch], lambda speeds, batch: None])
def test_a_split_for_other_ranks_is_refused(split):
    with pytest.raises(ValueError, match="a count for each of 2 ranks"):
        rehearse(Group([FAST, FAST]), split, 2)


def test_a_split_that_does_not_add_up_ends_all_ranks():
    with pytest.raises(LaunchError, match=r"The split of 64 photographs is \[1, 1\]"):
        train(Group([FAST, FAST]), lambda s, batch: [1, 1], gradient_and_speeds, 2)


def test_shards_have_each_photograph_once():
    """Of linear models, gradients add up: with the counts as weights, to that of all."""
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 10))
    counts = [3, 0, 5]
    whole = shard_gradient(model, [8], 0, 249)  # the last eight of 2,000
    parts = [shard_gradient(model, counts, rank, 249) for rank in range(3)]
    total = sum(count * part for count, part in zip(counts, parts, strict=True)) / 8
    assert (total - whole).abs().max() < 1e-6
    assert not parts[1].any()


def test_gradient_and_speeds_travel_together():
    def program(rank, ranks):
        gradient = torch.tensor([1.0, -2.0]) * (rank + 1)
        count, seconds = ((3, 0.5), (1, 0.25))[rank]
        return gradient_and_speeds(rank, ranks, gradient, count, seconds, 4)

    for mean, speeds in launch(program, 2, timeout=300.0):
        assert mean.tolist() == [1.25, -2.5]
        assert speeds.tolist() == [6, 4]


def test_a_rank_without_photographs_takes_part_and_is_never_measured_again():
    def nothing_for_rank_1(speeds, batch):
        return [batch, 0] if speeds[1] < speeds[0] else split_batch(speeds, batch)

    run = train(Group([FAST, SLOW]), nothing_for_rank_1, gradient_and_speeds, STEPS, batch=8)
    assert run.counts.tolist() == [[4, 4]] + [[8, 0]] * (STEPS - 1)
    assert run.idle[1:, 1] == pytest.approx([12e-3] * (STEPS - 1))
    whole = train(Group([FAST]), split_batch, gradient_and_speeds, STEPS, batch=8)
    assert (run.weights - whole.weights).abs().max() < 1e-6
