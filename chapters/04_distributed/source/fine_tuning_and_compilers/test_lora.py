"""lora.py: the formula, what learns, and that merging changes no output."""

import pytest
import torch

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan, train
from labkit_lessons.distributed.fine_tuning_and_compilers.lora import (
    LAYERS,
    LoRA,
    adapt,
    learning,
    merge,
)

SMALL = Config(vocabulary=80, context=16, width=12, heads=3, layers=2)
EVERY = ("query", "key", "value", "output", "expand", "contract")
PLAN = Plan(steps=3, sequences=2, length=8, learning_rate=1e-2)


def tokens():
    return torch.randint(0, 77, (2, 9), generator=torch.Generator().manual_seed(3))


def test_at_the_start_it_is_the_old_model():
    assert torch.equal(adapt(GPT(SMALL), 3, 5.0, EVERY)(tokens()), GPT(SMALL)(tokens()))


@pytest.mark.parametrize(("rank", "alpha"), [(1, 1.0), (2, 8.0), (5, 3.0)])
def test_a_layer_is_its_formula(rank, alpha):
    plain = torch.nn.Linear(7, 4).double()
    layer = LoRA(plain, rank, alpha, torch.Generator().manual_seed(1))
    torch.nn.init.normal_(layer.b)
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    with torch.no_grad():
        whole = plain.weight.clone()
        for row in range(rank):  # a sum of outer products, the definition of a matrix product
            whole += alpha / rank * torch.outer(layer.b[:, row], layer.a[row])
        expected = x @ whole.T + plain.bias
    assert torch.allclose(layer(x), expected, atol=1e-12)
    assert torch.allclose(layer.merged()(x), expected, atol=1e-12)
    assert layer.a.shape == (rank, 7) and layer.b.shape == (4, rank)


@pytest.mark.parametrize("layers", [LAYERS, EVERY, ("expand",)])
def test_only_the_small_matrices_learn(layers):
    model = adapt(GPT(SMALL), 2, 4, layers)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    train(model, emma().train, PLAN)
    for name, weight in model.state_dict().items():
        small = name.rpartition(".")[2] in ("a", "b")
        assert torch.equal(weight, before[name]) != small
    wide = {"expand": 5, "contract": 5}  # in and out: D + 4D instead of D + D
    assert learning(model) == sum(2 * 2 * 12 * wide.get(name, 2) for name in layers)


def test_merged_it_is_a_plain_gpt_with_the_same_outputs():
    model = adapt(GPT(SMALL), 2, 4, EVERY)
    train(model, emma().train, PLAN)
    outputs = model(tokens())
    merged = merge(model)
    assert torch.allclose(merged(tokens()), outputs, atol=1e-5)
    plain = GPT(SMALL)
    plain.load_state_dict(merged.state_dict())  # equal names and shapes
    assert learning(merged) == learning(plain)
    assert not torch.allclose(GPT(SMALL)(tokens()), outputs, atol=1e-5)


def test_equal_seeds_draw_equal_matrices():
    one, same = (adapt(GPT(SMALL), 2, 4, seed=7).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    other = adapt(GPT(SMALL), 2, 4, seed=8).state_dict()
    assert any(not torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rank": 0, "alpha": 1}, "rank is a whole number"),
        ({"rank": 1.5, "alpha": 1}, "rank is a whole number"),
        ({"rank": True, "alpha": 1}, "rank is a whole number"),
        ({"rank": 1, "alpha": 0}, "alpha is above 0"),
        ({"rank": 1, "alpha": "8"}, "alpha is above 0"),
        ({"rank": 1, "alpha": float("nan")}, "alpha is above 0"),
        ({"rank": 1, "alpha": 1, "layers": ("norm1",)}, "no linear layer 'norm1'"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(wrong, says):
    with pytest.raises(ValueError, match=says):
        adapt(GPT(SMALL), **wrong)


def test_a_layer_is_not_adapted_twice():
    with pytest.raises(ValueError, match="not adapted yet"):
        adapt(adapt(GPT(SMALL), 1, 1), 1, 1)
