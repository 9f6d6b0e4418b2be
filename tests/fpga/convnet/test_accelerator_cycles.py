"""The accelerator's cycles by formula, against its registers and against each other.

Further foldings: test_accelerator_cycles_grid.py.
"""

from itertools import product

import pytest

from labkit.fpga.convnet import accelerator_cycles as cycles
from labkit.fpga.convnet.accelerator import Accelerator
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.convnet.accelerator_words import job_words, sections
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import job_cycles, timeline
from tests.fpga.convnet.random_network import random_images, random_network

SMALL = Shapes(side=8, conv1=8, conv2=8, fc1=16)
FOLDINGS = [
    Folding(conv1, conv2, fc1, resident)
    for conv1 in (1, 2, 4)
    for conv2 in (1, 2, 4)
    for fc1, resident in ((8, False), (16, False), (8, True), (16, True), (32, True))
]


@pytest.mark.parametrize(
    ("folding", "shapes", "images"),
    [
        (Folding(conv1=4, conv2=1), SMALL, (1, 2, 3, 16)),
        (Folding(conv2=2), Shapes(), (1, 2, 4)),
    ],
    ids=["small", "the course's network"],
)
def test_the_register_says_what_was_predicted(folding, shapes, images):
    with Accelerator(folding, shapes) as accelerator:
        for n in images:
            run = accelerator.run(random_network(shapes), random_images(shapes, n))
            assert int(run.cycles) == int(job_cycles(folding, n, shapes))
            assert run.beats_in == cycles.stream_beats(folding, n, shapes)


def test_the_networks_layers():
    """What lessons say of them: by hand, from the shapes."""
    layers = cycles.layer_cycles(Folding(conv1=1, conv2=2, fc1=8))
    assert layers["conv1"] == 32 * 32 * 32 + 65
    assert layers["conv2"] == 16 * 16 * 32 * 4 + 33
    assert layers["fc1"] == 4095 * 16 + 128
    assert layers["fc2"] == 160


@pytest.mark.parametrize("shapes", [SMALL, Shapes()], ids=["small", "the course's network"])
@pytest.mark.parametrize("resident", [False, True], ids=["streamed", "resident"])
def test_sections_are_those_of_the_words(shapes, resident):
    folding = Folding(resident=resident)
    network = random_network(shapes)
    found = {name: len(beats) for name, beats in sections(network, folding, shapes).items()}
    said = cycles.section_beats(folding, shapes)
    image = said.pop("image")
    assert said == found
    assert image == shapes.side**2 // 2
    for n in (1, 3):
        words = job_words(network, random_images(shapes, n), folding, shapes)
        assert cycles.stream_beats(folding, n, shapes) == len(words)


def test_a_prediction_says_that_it_is_one():
    assert job_cycles(Folding()).word == "predicted"
    with pytest.raises(ValueError, match="at least one image"):
        job_cycles(Folding(), images=0)


def test_a_job_takes_what_its_slowest_station_needs_and_a_little_more():
    """Resident weights have to be there first: then the stream's time comes before fc1's."""
    for folding, images in product(FOLDINGS, (1, 4)):
        stations = cycles.station_cycles(folding, images)
        busiest = max(stations.values())
        before = stations["stream"] if folding.resident else 0
        assert busiest <= int(job_cycles(folding, images)) <= 1.5 * busiest + before


def test_further_images_cost_what_the_slowest_station_needs():
    """Within 1 %: then neither the start of the pipeline nor its end counts."""
    for folding in FOLDINGS:
        few, many = (int(job_cycles(folding, images)) for images in (16, 24))
        before, after = (cycles.station_cycles(folding, images) for images in (16, 24))
        slowest = max(after[name] - before[name] for name in after)
        assert many - few == pytest.approx(slowest, rel=0.01), folding


def test_what_binds():
    assert cycles.bound(Folding(conv1=1, conv2=1)) == "stream"
    assert cycles.bound(Folding(conv2=4), images=16) == "stream"
    assert cycles.bound(Folding(1, 1, 16, resident=True), images=16) == "conv2"
    assert cycles.bound(Folding(1, 4, 32, resident=True), images=16) == "conv1"
    assert cycles.bound(Folding(2, 4, 8, resident=True), images=16) == "fc1"
    assert cycles.bound(Folding(2, 4, 8, resident=True), images=1) == "stream"


def test_a_small_row_queue_lets_conv2_wait():
    """A pooling layer gives a row in the time of two: without room for it conv1 waits, too."""
    folding = Folding(conv1=1, conv2=2, fc1=16, resident=True)
    roomy, narrow = (int(job_cycles(folding, 8, queues={"ROW_QUEUE": words})) for words in (16, 2))
    assert narrow > 1.1 * roomy


def test_spans_follow_each_other():
    job = timeline(Folding(conv2=2), images=3)
    assert [image for image, _, _ in job.spans["stream"]] == [-1, 0, 1, 2]
    for name, spans in job.spans.items():
        ends = [0]
        for _, begin, end in spans:
            assert ends[-1] <= begin < end <= job.cycles, name
            ends.append(end)
    begins = [spans[0][1] for spans in job.spans.values()]
    assert begins == sorted(begins)
