"""The order in which gradients become ready, against what the graph demands."""

import torch
from torch import nn

from labkit import convnet
from labkit.distributed.gradients.readiness import watched


def test_the_convnet_s_layers_are_ready_from_the_last_to_the_first():
    model = convnet.torch_model()
    with watched(model) as ready:
        model(torch.ones(2, 3, 32, 32)).sum().backward()
    layers = list(dict.fromkeys(gradient.name.split(".")[0] for gradient in ready))
    assert layers == ["fc2", "fc1", "conv2", "conv1"]
    sizes = {name: weight.numel() * 4 for name, weight in model.named_parameters()}
    assert {gradient.name: gradient.bytes for gradient in ready} == sizes
    moments = [gradient.moment for gradient in ready]
    assert moments == sorted(moments)
    assert all(not weight._post_accumulate_grad_hooks for weight in model.parameters())


def test_order_of_use_counts_not_order_of_definition():
    class Backwards(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(2, 1, bias=False)
            self.first = nn.Linear(2, 2, bias=False)

        def forward(self, x):
            return self.last(self.first(x))

    model = Backwards()
    with watched(model) as ready:
        model(torch.ones(1, 2)).sum().backward()
    assert [gradient.name for gradient in ready] == ["last.weight", "first.weight"]


def test_shared_frozen_and_unused_weights():
    model = nn.ModuleDict({name: nn.Linear(2, 2, bias=False) for name in "abcd"})
    model["b"].weight = model["a"].weight
    model["c"].weight.requires_grad_(False)
    x = torch.ones(1, 2)
    with watched(model) as ready:
        model["a"](model["c"](model["b"](x))).sum().backward()
        seen = model["a"].weight.grad.clone()
    assert [gradient.name for gradient in ready] == ["a.weight"], "once, and d not at all"
    assert torch.equal(seen, model["a"].weight.grad)
