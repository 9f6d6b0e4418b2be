"""Training in one process beside AdamW's formula written out, and bad plans."""

import math

import pytest
import torch

from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import batch
from labkit.distributed.gpt.training import Plan, evaluate, train

SMALL = Config(vocabulary=11, context=6, width=8, heads=2, layers=1)
TOKENS = torch.arange(200) % 11


def by_formula(model, plan):
    """AdamW (Loshchilov and Hutter 2019, algorithm 2) in plain arithmetic; the losses of all steps.

    w <- w - lr * 0.01 * w,   then   w <- w - lr * m / (1 - 0.9^t) / (sqrt(v / (1 - 0.999^t)) + eps)
    """
    weights = list(model.parameters())
    first = [torch.zeros_like(weight) for weight in weights]
    second = [torch.zeros_like(weight) for weight in weights]
    losses = []
    for t in range(1, plan.steps + 1):
        inputs, targets = batch(TOKENS, plan.seed + t - 1, plan.sequences, plan.length)
        loss = loss_of(model(inputs), targets)
        gradients = torch.autograd.grad(loss, weights)
        losses.append(loss.item())
        with torch.no_grad():
            for weight, gradient, m, v in zip(weights, gradients, first, second, strict=True):
                m.mul_(0.9).add_(0.1 * gradient)
                v.mul_(0.999).add_(0.001 * gradient * gradient)
                step = m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
                weight -= plan.learning_rate * 0.01 * weight
                weight -= plan.learning_rate * step
    return losses


@pytest.mark.parametrize("steps", [1, 4])
def test_training_is_adamw_on_the_planned_batches(steps):
    plan = Plan(steps=steps, sequences=3, length=5, learning_rate=0.01, seed=7)
    ours, theirs = GPT(SMALL).double(), GPT(SMALL).double()
    losses = train(ours, TOKENS, plan)
    expected = by_formula(theirs, plan)
    assert losses == pytest.approx(expected, abs=1e-12)
    for weight, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(weight, wanted, atol=1e-10)


def test_equal_plans_give_equal_losses_and_training_learns():
    plan = Plan(steps=60, sequences=8, length=6, learning_rate=0.01)
    losses = train(GPT(SMALL), TOKENS, plan)
    assert losses == train(GPT(SMALL), TOKENS, plan)
    assert losses[-1] < 0.5 * losses[0]


def test_a_second_call_reads_the_batches_that_follow_with_a_fresh_optimizer():
    whole, halves = GPT(SMALL).double(), GPT(SMALL).double()
    losses = train(whole, TOKENS, Plan(steps=4, sequences=2, length=6))
    half = Plan(steps=2, sequences=2, length=6)
    first = train(halves, TOKENS, half)
    second = train(halves, TOKENS, half, first_step=2)
    assert first == losses[:2]
    assert second[0] == losses[2]  # same weights and batch: the moments act on the update
    assert second[1] != losses[3]


def test_evaluate_predicts_each_token_once():
    torch.manual_seed(0)
    model = GPT(SMALL).double()
    tokens = TOKENS[:20]
    losses = []
    for start in (0, 6, 12):  # 18 tokens predicted; the twentieth is left over
        logits = model(tokens[None, start : start + 6])[0].detach()
        for row in range(6):
            shares = torch.softmax(logits[row], 0)
            losses.append(-math.log(shares[tokens[start + row + 1]]))
    expected = sum(losses) / 18
    assert evaluate(model, tokens, length=6) == pytest.approx(expected, abs=1e-12)
    assert evaluate(model, tokens, length=6, sequences=2) == pytest.approx(expected, abs=1e-12)
    assert evaluate(model, tokens[:19], length=6) == pytest.approx(expected, abs=1e-12)


def test_evaluate_leaves_the_model_alone():
    model = GPT(SMALL)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    evaluate(model, TOKENS, length=6)
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())


@pytest.mark.parametrize("length", [0, -2, 6])
def test_pieces_that_the_tokens_do_not_make_are_refused(length):
    with pytest.raises(ValueError, match=f"6 tokens are no piece of {length} and one more"):
        evaluate(GPT(SMALL), TOKENS[:6], length)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"steps": 0}, "steps is a whole number from 1 on, not 0"),
        ({"sequences": 2.0}, "sequences is a whole number from 1 on, not 2.0"),
        ({"length": -1}, "length is a whole number from 1 on, not -1"),
        ({"seed": -1}, "seed is a whole number from 0 on, not -1"),
        ({"learning_rate": 0.0}, "learning_rate is above 0, not 0.0"),
        ({"learning_rate": math.nan}, "learning_rate is above 0, not nan"),
        ({"learning_rate": math.inf}, "learning_rate is above 0, not inf"),
    ],
)
def test_plans_that_train_nothing_are_refused(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        Plan(**bad)


def test_a_sequence_longer_than_the_context_is_refused():
    with pytest.raises(ValueError, match="7 tokens do not fit into a context of 6"):
        train(GPT(SMALL), TOKENS, Plan(steps=1, sequences=1, length=7))
