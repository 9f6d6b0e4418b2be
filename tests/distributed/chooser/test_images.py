"""The ConvNet's needs: FLOPs as PyTorch counts them, bytes by the format."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from labkit import convnet
from labkit.distributed.chooser.images import image, train_convnet


def test_the_products_of_an_image_are_those_that_pytorch_counts():
    model = convnet.torch_model()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, 3, 32, 32))
    products = counter.get_total_flops()
    elsewhere = 32 * 32**2 + 64 * 16**2 + 128  # relu, and each pool 3 comparisons for an output
    elsewhere += 3 * (32 * 16**2 + 64 * 8**2)
    assert image().flops.value == products + elsewhere


@pytest.mark.parametrize(("number_format", "size"), [("fp32", 4), ("bf16", 2), ("int8", 1)])
def test_bytes_follow_the_format(number_format, size):
    workload = image(number_format)
    parameters = sum(p.numel() for p in convnet.torch_model().parameters())
    assert workload.held["weights"].value == parameters * size
    assert workload.moved.value == image("fp32").moved.value * size / 4
    assert workload.flops.value == image("fp32").flops.value


def test_a_training_has_three_numbers_for_each_parameter_and_a_batch():
    parameters = sum(p.numel() for p in convnet.torch_model().parameters())
    workload = train_convnet("fp32", images=1000, batch=10)
    assert workload.held["state"].value == 3 * 4 * parameters and workload.steps.value == 100
    more = train_convnet("fp32", images=1000, batch=20)
    assert more.held["activations"].value == 2 * workload.held["activations"].value


@pytest.mark.parametrize(
    ("nonsense", "words"),
    [
        ({"batch": 0}, "batch is a whole number"),
        ({"images": -1}, "images is a number above 0"),
        ({"number_format": "int8"}, "not in int8"),
    ],
)
def test_nonsense_is_a_sentence(nonsense, words):
    with pytest.raises(ValueError, match=words):
        train_convnet(**nonsense)
