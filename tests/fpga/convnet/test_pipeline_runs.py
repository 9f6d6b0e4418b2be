"""pipeline_runs.py and its pictures: the parts of a stream, and what a picture says."""

import re

import numpy as np
import pytest

from labkit.fpga.convnet import pipeline_runs
from labkit.fpga.sources import RTL
from labkit.provenance import counted
from labkit_lessons.fpga.the_network_as_a_pipeline import pipeline_pictures


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    keep = lambda figure, alt: figures.append((figure, alt))  # noqa: E731
    monkeypatch.setattr(pipeline_pictures, "show", keep)
    return figures


def a_run(work):
    working = {"fc1": np.asarray(work)}
    return pipeline_runs.WatchedRun(
        np.zeros((1, 10)), counted(len(work), "cycles", "nobody"), working, np.arange(0)
    )


def test_the_phases_are_all_cycles():
    assert pipeline_runs.phases(a_run([0, 0, 1, 0, 1, 1, 0]), "fc1") == [2, 3, 1, 1]
    assert pipeline_runs.phases(a_run([1, 1]), "fc1") == [0, 2, 0, 0]


def test_a_picture_says_how_often_a_layer_rests(drawn):
    span = pipeline_pictures.SPAN
    work = np.repeat([0, 1, 1, 0, 0, 1, 0, 1, 0], span)
    assert (
        f"fc1 is idle for {3 * span} cycles, with 2 long rests"
        in pipeline_pictures.spoken_rests({"fc1": work})
    )
    assert pipeline_pictures.shares(work).tolist() == [0, 1, 1, 0, 0, 1, 0, 1, 0]
    assert pipeline_pictures.shares(work[: span + 10]).tolist() == [0, 10 / span]
    run = a_run(work)
    run.working["conv1"] = work[::-1]
    pipeline_pictures.activity(run, until=3000)
    ((figure, alt),) = drawn
    assert figure.axes[0].get_xlim() == (0, 3000) and "fc1 44 % of them" in alt


def test_each_box_is_a_file(drawn):
    pipeline_pictures.blocks()
    ((figure, alt),) = drawn
    files = {path.stem for path in RTL.glob("*.sv")}
    lines = (pipeline_pictures.CONTROL, *pipeline_pictures.NETWORK)
    boxes = [box for line in lines for box in line]
    assert {box.file for box in boxes} <= files
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {box.name for box in boxes} <= texts and all(box.file in alt for box in boxes)
    network = (RTL / "convnet.sv").read_text()
    sections = {"image", "conv1_p", "conv1_w", "conv2_p", "conv2_w", "fc1_p", "fc2_b"}
    fed = {  # the instances that a section of the router's reaches; fc1_w and fc2_w go by a wire
        name
        for name, body in re.findall(r"\) u_(\w+) \((.*?)\);", network, re.DOTALL)
        if any(f"({one}_valid)" in body for one in sections) or "_weights_valid)" in body
    }
    fed -= {"fc1_weights", "fc2_weights"}  # the stores of resident weights
    fed -= {"taps"}  # part of the box conv1: it takes a beat of conv1's weights apart
    named = {"image queue": "image", "int8": "requantize", "biases": "biases"}
    assert fed == {named.get(name, name) for name in pipeline_pictures.FED}
    assert f"lead to {', '.join(pipeline_pictures.FED)}." in alt
    arrows = [one.arrowprops for one in figure.axes[0].texts if getattr(one, "arrowprops", None)]
    blue = [one for one in arrows if one["color"] == pipeline_pictures.BLUE]
    assert len(blue) == len(pipeline_pictures.FED)
    text = "".join((RTL / f"{name}.sv").read_text() for name in ("accelerator", "convnet"))
    assert {box.file for box in boxes} == {name for name in files if f"  {name} " in text} - {
        "convnet",
        "skid_buffer",
        "weight_store",
    }, "all that these two are made of, but registers, and what streamed weights leave out"
