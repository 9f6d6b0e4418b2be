"""Bytes of a training step, by hand, and what of it fits the XC7Z020."""

import pytest

from labkit.fpga.convnet.budget import available
from labkit.provenance import counted
from labkit_lessons.fpga.folding_under_a_budget import training_bytes as of

PARAMETERS = 32 * 27 + 32 + 64 * 288 + 64 + 128 * 4096 + 128 + 10 * 128 + 10
INPUTS = 3 * 32 * 32 + 32 * 16 * 16 + 4096 + 128
BITS = 32 * 32 * 32 + 2 * 32 * 16 * 16 + 64 * 16 * 16 + 2 * 64 * 8 * 8 + 128


@pytest.mark.parametrize(("number", "size"), [("int8", 1), ("float32", 4)])
def test_the_courses_network_by_hand(number, size):
    found = {name: int(amount) for name, amount in of.kept(number).items()}
    assert found["weights"] == found["gradients"] == found["momentum"] == size * PARAMETERS
    assert found["activations"] == size * INPUTS + BITS // 8
    assert int(of.sum_of(of.kept(number))) == sum(found.values())
    plain = {name: int(amount) for name, amount in of.kept(number, plain=True).items()}
    assert plain == found | {"gradients": 0, "momentum": 0}


def test_the_chip_is_its_block_rams():
    assert int(of.on_chip()) == int(available("bram36")) * 36 * 1024 // 8 == 645_120


def test_our_network_is_trained_on_the_chip_by_plain_sgd_alone():
    """With the largest gradient by an activation as well; with all gradients it does not fit."""
    times = {row[0]: row[2] for row in of.rows()}
    fits = [name for name, share in times.items() if share < 1]
    assert fits == ["ConvNet, weights alone, int8", "ConvNet, a step of plain SGD, int8"]
    plain = of.sum_of(of.kept("int8", plain=True))
    assert int(plain) == 569_818 and int(plain) + 32 * 32 * 32 + 32 * 16 * 16 < int(of.on_chip())
    ours = of.kept("int8")
    assert of.times_the_chip(counted(int(ours["weights"]) + int(ours["gradients"]), "B", "us")) > 1


def test_a_large_model():
    large = of.kept_of_parameters("int8", of.RESNET50_PARAMETERS)
    assert int(of.sum_of(large)) == 3 * 25_557_032
    assert of.times_the_chip(of.sum_of(large)) == pytest.approx(118.8, abs=0.1)
    assert of.times_the_chip(large["weights"]) == pytest.approx(39.6, abs=0.1)
    assert "torchvision" in large["weights"].source


def test_another_type_is_refused():
    with pytest.raises(ValueError, match="int8, float32, not 'int4'"):
        of.kept("int4")
