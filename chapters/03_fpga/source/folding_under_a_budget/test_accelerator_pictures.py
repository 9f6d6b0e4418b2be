"""accelerator_pictures.py: they show what the circuit and the formulas say."""

import re

import pytest

from labkit.figures import style
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.sources import RTL, without_comments
from labkit_lessons.fpga.folding_under_a_budget import accelerator_pictures as pictures
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import timeline

RESIDENT = Folding(1, 2, 16, resident=True)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def instances(file):
    """The modules that stand in a file, each as often as it has instances."""
    text = without_comments((RTL / f"{file}.sv").read_text("utf-8"))
    modules = "|".join(path.stem for path in RTL.glob("*.sv"))
    return re.findall(rf"^ +({modules}) (?:#\(|u_)", text, re.MULTILINE)


def test_the_boxes_are_the_instances_of_the_circuit():
    """All kinds of them; registers, and what only puts weights side by side, are left out."""
    shown = [block.file for row in pictures.block_rows(RESIDENT) for block in row]
    in_rtl = instances("accelerator") + instances("convnet")
    assert set(shown) == set(in_rtl) - {"convnet", "skid_buffer"}
    for file in ("conv_layer", "maxpool2x2", "fully_connected", "block_fifo", "stream_fifo"):
        assert shown.count(file) == in_rtl.count(file) == 2


@pytest.mark.parametrize("folding", [Folding(2, 4, 8), RESIDENT], ids=str)
def test_blocks_have_their_knobs(drawn, folding):
    pictures.blocks(folding)
    ((figure, alt),) = drawn
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    boxes = [block for row in pictures.block_rows(folding) for block in row]
    assert len(axes.patches) == len(boxes)
    for block in boxes:
        assert f"{block.file}.sv" in texts and block.role in texts
        assert block.file in alt
    for knob in (f"CONV1_LANES = {folding.conv1}", f"CONV2_LANES = {folding.conv2}"):
        assert knob in texts and knob in alt
    assert ("is left out" in alt) == (not folding.resident)
    assert style.png(figure)


def test_bars_are_the_spans(drawn):
    pictures.pipeline(Folding(conv2=2), images=2)
    ((figure, alt),) = drawn
    (axes,) = figure.axes
    job = timeline(Folding(conv2=2), 2)
    spans = [span for row in job.spans.values() for span in row]
    assert len(axes.patches) == len(spans)
    for bar, (_, begin, end) in zip(axes.patches, spans, strict=True):
        assert bar.get_x() == begin
        assert bar.get_width() == pytest.approx(max(end - begin, 0.003 * job.cycles))
    assert f"{job.cycles:,} clock cycles, predicted" in alt
    assert "fc2, below 1 % busy" in alt and "stream, 99 % busy" in alt
    assert style.png(figure)


def test_marks_lie_on_roofs_and_below(drawn):
    pictures.roofline({"one": (Folding(), 1), "many": (RESIDENT, 16)})
    ((figure, alt),) = drawn
    (axes,) = figure.axes
    marks = {line.get_label(): line.get_ydata()[0] for line in axes.lines if len(line.get_ydata())}
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["hollow: at most, by the roofs", "one", "many"]
    assert marks["one"] == pytest.approx(83.08, rel=1e-3)
    assert "at most 89 and reached 83.1" in alt and "at most 195" in alt
    assert style.png(figure)
