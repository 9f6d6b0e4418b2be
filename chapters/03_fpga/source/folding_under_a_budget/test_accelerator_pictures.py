"""accelerator_pictures.py: they show what the circuit and the formulas say."""

import pytest

from labkit.figures import style
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit_lessons.fpga.folding_under_a_budget import accelerator_pictures as pictures

RESIDENT = Folding(1, 2, 16, resident=True)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


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
