"""labkit.gpu.step_cost: what a training step keeps, its time at the roofline, the bus."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from labkit import convnet
from labkit.gpu.step_cost import Kept, Offload, bus, gradient_and_kept, roof_time, sixteen_bits
from labkit.hardware import machine

X = torch.arange(24.0).reshape(4, 6) / 10 - 1
LABELS = torch.tensor([0, 2, 1, 1])


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def test_kept_counts_each_memory_once_and_no_weights(net):
    kept = Kept(net)
    with kept:
        x = X.clone().requires_grad_()  # so that the first layer keeps its weights as well
        for kept.layer, layer in net.named_children():
            x = layer(x)
    # x, then the ReLU's output, which the next layer keeps too
    assert kept.bytes == {"0": 4 * 4 * 6, "1": 4 * 4 * 5}


def test_kept_sees_a_wider_type_and_less_under_a_checkpoint(net):
    with Kept(net) as narrow:
        net(X)
    with Kept(net.double()) as wide:
        net(X.double())
    assert wide.bytes.total() == 2 * narrow.bytes.total()
    with Kept(net.float()) as block:
        checkpoint(net, X.clone().requires_grad_(), use_reentrant=False)
    assert block.bytes.total() == 4 * X.numel()


def test_the_gradient_is_the_networks(net):
    gradient, kept = gradient_and_kept(net, net, X, LABELS)
    nn.functional.cross_entropy(net(X), LABELS).backward()
    expected = torch.cat([p.grad.ravel() for p in net.parameters()])
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    assert kept >= 4 * (X.numel() + 4 * 5)


def test_offloading_gives_the_same_gradient_and_counts_both_ways(net):
    offload, seen = Offload(net, "cpu"), []
    count = torch.autograd.graph.saved_tensors_hooks(
        lambda t: seen.append(t.nbytes) or t, lambda t: t
    )
    with count:
        net(X)
    expected, _ = gradient_and_kept(net, net, X, LABELS)
    gradient, kept = gradient_and_kept(net, offload, X, LABELS)
    np.testing.assert_array_equal(gradient, expected)
    assert offload.moved == 2 * sum(seen), "there and back"
    assert kept < 4 * X.numel(), "only the loss keeps something here: the network nothing"


def test_the_roof_time_is_the_longer_of_computing_and_moving():
    h200, costs = machine("h200"), convnet.layer_costs(32)
    seconds = 0
    for o in (o for cost in costs for o in cost.operations):
        seconds += max(o.flops / 67e12, (o.bytes_read + o.bytes_written) / 4.8e12)
    assert float(roof_time(h200, costs)) == pytest.approx(seconds)
    assert roof_time(h200, costs).word == "predicted"
    parts = [float(roof_time(h200, costs, only=[n])) for n in ("forward", "dX", "dW", "update")]
    assert sum(parts) == pytest.approx(seconds)


def test_tf32_is_faster_to_compute_and_as_long_to_move():
    h200, costs = machine("h200"), convnet.layer_costs(32)
    assert roof_time(h200, costs, low="fp32") == roof_time(h200, costs)
    seconds = 0
    for o in (o for cost in costs for o in cost.operations):
        peak = 67e12 if o.name == "update" else 494.5e12
        seconds += max(o.flops / peak, (o.bytes_read + o.bytes_written) / 4.8e12)
    assert float(roof_time(h200, costs, low="tf32")) == pytest.approx(seconds)


def test_in_16_bits_the_update_stays():
    t4, costs = machine("t4"), convnet.layer_costs(32)
    update = roof_time(t4, costs, only=["update"])
    assert roof_time(t4, costs, low="fp16", only=["update"]) == update
    relu = [cost for cost in costs if cost.name == "relu1"]
    assert float(roof_time(t4, relu)) == 2 * float(roof_time(t4, relu, low="fp16"))
    with pytest.raises(ValueError, match="no peak rate in 'bf16'"):
        roof_time(t4, costs, low="bf16")


def test_the_format_of_16_bits_is_one_that_the_device_has(monkeypatch):
    capability = {"cuda": (8, 0), "cuda:1": (7, 5), "cuda:2": (9, 0)}
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability[device])
    formats = {device: sixteen_bits(device) for device in ("cpu", *capability)}
    assert formats.pop("cuda:1") is torch.float16  # a T4
    assert set(formats.values()) == {torch.bfloat16}


def test_the_bus_is_that_of_its_generation():
    assert float(bus(machine("t4"))) == pytest.approx(15.754e9, rel=1e-4)
    assert float(bus(machine("h200"))) == pytest.approx(63.015e9, rel=1e-4)
