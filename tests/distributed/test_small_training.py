"""The small training: it learns, it repeats itself, and its learning rates follow the rules."""

from dataclasses import replace

import pytest
import torch

from labkit.distributed import small_training
from labkit.distributed.small_training import Plan, learning_rate, plan_by, train

SHORT = Plan(batch=500, learning_rate=0.2, epochs=2, momentum=0.5, seed=3)


def test_equal_plans_give_equal_runs_and_leave_torchs_random_numbers_alone():
    torch.manual_seed(1)
    first = train(SHORT)
    after = torch.rand(1)
    torch.manual_seed(2)
    assert train(SHORT) == first
    torch.manual_seed(1)
    assert torch.equal(torch.rand(1), after)
    assert train(replace(SHORT, seed=4)).losses != first.losses


def test_the_steps_are_counted_and_the_loss_falls():
    run = train(replace(SHORT, batch=300))
    assert run.steps == 2 * 7, "six batches of 300, and one of 200, in each epoch"
    assert len(run.losses) == 2
    assert run.loss < run.losses[0]
    assert 0.1 < run.accuracy < 1
    assert not run.diverged


def test_momentum_and_learning_rate_are_used():
    assert train(replace(SHORT, momentum=0.0)).loss != train(SHORT).loss
    assert train(replace(SHORT, learning_rate=0.1)).loss != train(SHORT).loss


def test_a_run_that_diverges_ends_there():
    run = train(Plan(batch=100, learning_rate=1e6, epochs=3))
    assert run.diverged
    assert run.steps < 60
    assert run.loss == float("inf")


def test_the_rules():
    assert plan_by("unscaled", 64, seed=1) == Plan(64, 0.02, seed=1)
    assert plan_by("linear", 64) == Plan(64, 0.08)
    assert plan_by("linear with warm-up", 512) == Plan(512, 0.64, warm_up=5)
    assert plan_by("linear", 16) == plan_by("unscaled", 16)
    with pytest.raises(ValueError, match="the rule is one of unscaled, linear"):
        plan_by("square root", 16)


def test_the_warm_up_is_a_straight_line_from_the_base_rate():
    plan = plan_by("linear with warm-up", 160)
    rates = [learning_rate(plan, epoch) for epoch in (0, 2.5, 5, 19.9)]
    assert rates == pytest.approx([0.02, 0.11, 0.2, 0.2])
    assert learning_rate(plan_by("linear", 160), 0) == 0.2
    assert learning_rate(Plan(8, 0.01, warm_up=5), 0) == 0.01, "a smaller one needs no warm-up"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"batch": 0}, "batch is a whole number from 1 on, not 0"),
        ({"batch": 1.5}, "batch is a whole number"),
        ({"epochs": 0}, "epochs is a whole number from 1 on"),
        ({"warm_up": -1}, "warm_up is a whole number from 0 on"),
        ({"learning_rate": 0.0}, "learning_rate is above 0"),
        ({"learning_rate": float("inf")}, "learning_rate is above 0"),
        ({"momentum": 1.0}, "momentum is at least 0 and below 1"),
    ],
)
def test_plans_that_are_none(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SHORT, **wrong)


def test_the_network_has_the_parameters_that_its_text_says():
    sizes = [weight.numel() for weight in small_training.network().parameters()]
    assert sizes == [8 * 27, 8, 16 * 72, 16, 10 * 256, 10]
