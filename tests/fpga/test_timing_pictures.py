"""labkit.fpga.timing_pictures: bars as long as the path, and words for them."""

import pytest

from labkit.fpga import timing_pictures
from labkit.fpga.timing import Step, Timing
from labkit.provenance import compiled

PATH = (
    Step("register", "a", 0.5),
    Step("wire", "n", 1.0),
    Step("carry chain", "c", 0.3),
    Step("carry chain", "d", 0.2),
    Step("wire", "m", 0.5),
)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(timing_pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def test_neighbours_of_a_kind_are_one_piece():
    pieces = timing_pictures.joined(PATH)
    assert [what for what, _ in pieces] == ["register", "wire", "carry chain", "wire"]
    assert [ns for _, ns in pieces] == pytest.approx([0.5, 1.0, 0.5, 0.5])


def test_bars_lie_end_to_end_and_the_picture_names_the_fpga(drawn):
    Timing("adder", compiled(400e6, "Hz", "nextpnr"), PATH, {}).draw()
    ((figure, alt),) = drawn
    bars = figure.axes[0].patches
    assert [bar.get_x() for bar in bars] == pytest.approx([0, 0.5, 1.5, 2.0])
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(2.5)
    assert "not the XC7Z020" in alt and "not the XC7Z020" in figure.axes[0].get_xlabel()
    assert "adder: register 0.5 ns, wire 1.5 ns, carry chain 0.5 ns; 400 MHz" in alt
