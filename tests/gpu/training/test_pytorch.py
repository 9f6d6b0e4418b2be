"""labkit.gpu.training.pytorch: the network, the photographs and the step that two lessons share."""

import numpy as np
import pytest
import torch

from labkit import convnet
from labkit.datasets import cifar10
from labkit.gpu.step_cost import kept_by_layer
from labkit.gpu.training import pytorch


@pytest.fixture(scope="module")
def batch():
    train, _ = pytorch.photographs("cpu")
    return train.images[:5], train.labels[:5]


def test_the_photographs_are_the_samples_in_their_order():
    train, test = pytorch.photographs("cpu")
    sample = cifar10("sample")
    for part, tensors in ((sample.train, train), (sample.test, test)):
        assert np.array_equal(tensors.labels, part.labels)
        assert tensors.images[7].numpy() == pytest.approx(convnet.normalise(part.images[7:8])[0])


def test_the_network_is_the_convnet_with_fresh_weights(batch):
    x, _ = batch
    fresh = convnet.init(seed=0)
    net = pytorch.network()
    assert {name: tuple(w.shape) for name, w in net.state_dict().items()} == convnet.SHAPES
    assert net(x).detach().numpy() == pytest.approx(convnet.forward(fresh, x.numpy()), abs=1e-4)
    with torch.no_grad():
        net.fc2.bias += 1
    assert not torch.equal(net.fc2.bias, pytorch.network().fc2.bias), "each call begins anew"


def test_a_step_is_that_of_the_formulas(batch):
    x, y = batch
    loss, gradients = convnet.forward_backward(convnet.init(0), x.numpy(), y.numpy())
    net = pytorch.network()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.25)
    assert pytorch.step(net, optimiser, x, y) == pytest.approx(loss, rel=1e-4)
    for name, weight in net.state_dict().items():
        expected = convnet.init(0)[name] - 0.25 * gradients[name]
        assert weight.numpy() == pytest.approx(expected, abs=1e-4)
    assert all(weight.grad is None for weight in net.parameters()), "none is added to the next"


def test_what_each_layer_keeps_is_counted_by_its_name(batch):
    x, _ = batch
    kept = kept_by_layer(pytorch.network(), x)
    places = {"pool1": 32 * 16 * 16, "pool2": 64 * 8 * 8}  # of maxima, int64
    for name, number in places.items():
        assert kept[name] == 5 * 8 * number
    assert kept["conv1"] == x.nbytes and kept["relu1"] == 5 * 4 * 32 * 32 * 32
    short = kept_by_layer(pytorch.network(), x, torch.bfloat16)
    assert short["relu1"] == kept["relu1"] / 2 and short["pool1"] == kept["pool1"]
