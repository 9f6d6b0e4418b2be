"""Activation checkpointing: equal gradients, activations and forward calls counted."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.live_bytes import counted_bytes
from labkit.distributed.sharded.recompute import forward_calls, recomputed

PLAN = Plan(sequences=4, length=16)
KEPT = 4 * 16 * 64 * 4  # the bytes of one block's input [4, 16, 64]


def step(layers, way):
    """Loss, gradients, peak of activations, and the blocks that computed, in order."""
    model = GPT(Config(width=64, context=16, heads=2, layers=layers))
    seen = forward_calls(model)
    if way == "by hand":
        recomputed(model)
    if way == "by torch":
        for block in model.blocks:
            inner = block.forward
            block.forward = lambda x, inner=inner: checkpoint(inner, x, use_reentrant=False)
    inputs, targets = PLAN.batch_of(0, emma().train)
    with counted_bytes(model) as memory:
        loss = loss_of(model(inputs), targets)
        loss.backward()
    gradients = [weight.grad for weight in model.parameters()]
    return loss.item(), gradients, memory.peak_activations, "".join(seen)


@pytest.mark.parametrize("way", ["by hand", "by torch"])
def test_gradients_are_the_same_to_the_bit(way):
    loss, gradients, _, _ = step(3, "plain")
    other_loss, others, _, _ = step(3, way)
    assert loss == other_loss
    assert all(map(torch.equal, gradients, others))


def test_each_block_computes_once_more_when_backward_comes_to_it():
    assert step(4, "plain")[3] == "0123"
    assert step(4, "by hand")[3] == step(4, "by torch")[3] == "01233210"


def test_peak_of_activations_is_that_of_the_formula():
    plain = [step(layers, "plain")[2] for layers in (1, 2, 5)]
    inside = plain[1] - plain[0]
    rest = plain[0] - inside
    assert plain[2] == rest + 5 * inside
    assert inside > 10 * KEPT
    for layers in (2, 5):
        assert step(layers, "by hand")[2] == rest + inside + layers * KEPT
