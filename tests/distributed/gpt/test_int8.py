"""labkit.distributed.gpt.int8: the bound of rounding, bytes, and outputs as from whole weights."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labkit.distributed.gpt.int8 import (
    Int8Linear,
    in_int8,
    largest_error_in_steps,
    linear_bytes,
    quantise,
)
from labkit.distributed.gpt.model import GPT, Config

SMALL = Config(vocabulary=80, context=16, width=12, heads=3, layers=2)
NUMBERS = st.floats(-1e3, 1e3, allow_subnormal=False)


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=NUMBERS))
def test_no_weight_is_off_by_more_than_half_a_step(w):
    quantised, scale = (tensor.numpy() for tensor in quantise(torch.tensor(w)))
    assert quantised.dtype == np.int8 and quantised.min() >= -127
    for row in range(len(w)):
        largest = np.abs(w[row]).max()
        assert scale[row] == pytest.approx(largest / 127 if largest else 1)
        error = np.abs(w[row] - quantised[row].astype(float) * scale[row])
        assert error.max() <= scale[row] * (0.5 + 1e-9)
        if largest:
            assert np.abs(quantised[row].astype(int)).max() == 127


def test_one_row_does_not_touch_another():
    w = torch.randn(4, 9, generator=torch.Generator().manual_seed(0))
    louder = w.clone()
    louder[2, 3] = 1000
    (one, scale), (other, louder_scale) = quantise(w), quantise(louder)
    rest = [0, 1, 3]
    assert torch.equal(one[rest], other[rest]) and torch.equal(scale[rest], louder_scale[rest])
    assert not torch.equal(one[2], other[2])


@pytest.mark.parametrize(
    ("w", "says"),
    [
        (torch.ones(3), "give w"),
        (torch.tensor([[1.0, torch.nan]]), "NaN or infinite"),
        (torch.tensor([[torch.inf, 1.0]]), "NaN or infinite"),
    ],
)
def test_what_has_no_scale_is_refused_in_a_sentence(w, says):
    with pytest.raises(ValueError, match=says):
        quantise(w)


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_multiplies_with_what_its_bytes_stand_for(bias):
    plain = torch.nn.Linear(9, 5, bias=bias)
    layer = Int8Linear(plain)
    x = torch.randn(2, 3, 9)
    expected = x @ layer.weights().T
    if bias:
        expected = expected + plain.bias
    assert torch.allclose(layer(x), expected, atol=1e-5)
    assert layer.weight.dtype == torch.int8
    assert not torch.equal(layer.weights(), plain.weight)


def test_all_linear_layers_and_nothing_else():
    plain, small = GPT(SMALL), in_int8(GPT(SMALL))
    kinds = [type(module) for module in small.modules()]
    layers = sum(type(module) is torch.nn.Linear for module in plain.modules())
    assert kinds.count(Int8Linear) == layers == 6 * 2 + 1 and torch.nn.Linear not in kinds
    weights = 2 * (4 * 12 * 12 + 2 * 4 * 12 * 12) + 80 * 12
    outputs = 2 * (4 * 12 + 4 * 12 + 12)  # each with a bias; the head has none
    assert linear_bytes(plain) == 4 * (weights + outputs)
    assert linear_bytes(small) == weights + 4 * (outputs + outputs + 80)
    assert 0.4 < largest_error_in_steps(plain, small) < 0.5 + 1e-4
    assert torch.equal(small.embedding.token.weight, plain.embedding.token.weight)


def test_an_error_beyond_half_a_step_would_show():
    plain, small = GPT(SMALL), in_int8(GPT(SMALL))
    small.head.weight[3, 4] += 2
    assert largest_error_in_steps(plain, small) > 1.4
