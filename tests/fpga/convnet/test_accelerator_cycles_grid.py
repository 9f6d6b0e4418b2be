"""The accelerator's register CYCLES against the formulas, over many foldings and batches."""

import pytest

from labkit.fpga.convnet.accelerator import Accelerator
from labkit.fpga.convnet.accelerator_cycles import station_cycles, stream_beats
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import job_cycles
from tests.fpga.convnet.random_network import random_images, random_network
from tests.night import others_by_night

HERE = "tests/fpga/convnet/test_accelerator_cycles_grid.py::test_small_networks"
SMALL = {side: Shapes(side=side, conv1=8, conv2=8, fc1=16) for side in (8, 16)}
GRID = [(8, Folding(conv1, conv2, 8)) for conv1, conv2 in ((1, 1), (1, 4), (2, 2), (4, 1), (4, 4))]
GRID += [(8, Folding(1, 1, 16, resident=True)), (8, Folding(4, 4, 16, resident=True))]
GRID += [(16, Folding(1, 4, 16)), (16, Folding(4, 1, 8)), (16, Folding(4, 4, 16, resident=True))]
# Each has another station that binds, or another number of beats in a word of fc1's weights.
REAL = [
    Folding(conv1=1, conv2=1),
    Folding(conv1=4, conv2=4),
    Folding(conv1=1, conv2=2, fc1=16, resident=True),
    Folding(conv1=2, conv2=4, fc1=32, resident=True),
]


@pytest.mark.parametrize(("side", "folding"), others_by_night(GRID, HERE), ids=str)
def test_small_networks(side, folding):
    """Here the start of the pipeline and its end are a good part of a job."""
    same(folding, SMALL[side], (1, 2, 4, 16))


@pytest.mark.parametrize("folding", others_by_night(REAL, HERE, by_day=0), ids=str)
def test_the_courses_network(folding):
    same(folding, Shapes(), (1, 2, 4))


QUEUES = [{"ROW_QUEUE": 2}, {"VALUE_QUEUE": 16}]


@pytest.mark.parametrize("queues", others_by_night(QUEUES, HERE, by_day=0), ids=str)
def test_small_queues(queues):
    same(Folding(conv1=2, conv2=2, fc1=16, resident=True), SMALL[16], (1, 4), queues)


def same(folding, shapes, images, queues=None):
    """The register says within 2 % what was predicted, and counts as many beats.

    And the prediction is nearer than what one knows without it: the cycles of the busiest station.
    """
    with Accelerator(folding, shapes, queues=queues) as accelerator:
        for n in images:
            run = accelerator.run(random_network(shapes), random_images(shapes, n))
            expected = int(job_cycles(folding, n, shapes, queues))
            assert int(run.cycles) == pytest.approx(expected, rel=0.02)
            busiest = max(station_cycles(folding, n, shapes).values())
            assert abs(int(run.cycles) - expected) < abs(int(run.cycles) - busiest)
            assert run.beats_in == stream_beats(folding, n, shapes)
