"""The accelerator's roofline: its roofs by hand, and that no job is above them."""

import pytest

from labkit import convnet
from labkit.costs import step_costs
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.provenance import counted
from labkit_lessons.fpga.folding_under_a_budget.zynq_roofline import (
    device_roof,
    multiply_adds,
    point,
)

FOLDINGS = [
    Folding(1, 1, 8),
    Folding(1, 2, 8),
    Folding(4, 4, 8),
    Folding(1, 2, 16, resident=True),
    Folding(2, 2, 32, resident=True),
]


def test_multiply_adds_are_half_of_the_operations():
    """As `labkit.costs` counts them: a multiply-add is two."""
    assert multiply_adds() == {"conv1": 884_736, "conv2": 4_718_592, "fc1": 524_288, "fc2": 1_280}
    costs = {cost.name: cost for cost in step_costs(convnet.LAYERS, 1, training=False)}
    for name, work in multiply_adds().items():
        assert 2 * work == int(costs[name].flops)


def test_batch_1_by_hand():
    found = point(Folding())
    assert float(found.intensity) == pytest.approx(6_128_896 / 551_136)
    assert float(found.stream_roof) == pytest.approx(6_128_896 / 68_892)
    assert float(found.compute_roof) == 115
    assert found.attainable == float(found.stream_roof)
    assert float(device_roof()) == 220


@pytest.mark.parametrize("folding", FOLDINGS, ids=str)
def test_nothing_is_above_a_roof(folding):
    for images in (1, 2, 16):
        found = point(folding, images)
        assert float(found.reached) <= min(found.attainable, float(found.pipeline))
        assert float(found.pipeline) <= float(found.compute_roof)


def test_resident_weights_move_a_batch_to_the_right():
    streamed = [float(point(Folding(), images).intensity) for images in (1, 16)]
    resident = [float(point(Folding(resident=True), images).intensity) for images in (1, 16)]
    assert streamed[0] == resident[0]
    assert streamed[1] < 1.1 * streamed[0] < 10 * resident[0] < resident[1]


def test_counted_cycles_stand_in_for_predicted_ones():
    cycles = counted(100_000, "cycles", "the register")
    found = point(Folding(), images=2, cycles=cycles)
    assert float(found.reached) == pytest.approx(2 * 61.28896)
    assert (found.reached.word, found.reached.source) == ("counted", "the register")
    assert point(Folding()).reached.word == "predicted"


def test_another_network():
    small = Shapes(side=8, conv1=8, conv2=8, fc1=16)
    assert sum(multiply_adds(small).values()) == 64 * 216 + 16 * 576 + 512 + 160
