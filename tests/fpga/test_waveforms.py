"""Waveform pictures: what is drawn is what the trace holds, and no two texts overlap."""

from pathlib import Path

import pytest

from labkit.fpga import waveforms
from labkit.fpga.errors import RTLError
from labkit.fpga.running.wave_window import Span, Window
from labkit.fpga.simulate import simulate

MODULES = Path(__file__).parent / "modules"
TRACE = {
    "x_valid": [1, 1, 1, 0, 1],
    "x_ready": [0, 1, 1, 1, 1],
    "x_data": [7, 7, -128, 9, 12],
    "count": [0, 0, 1, 1, 300],
}


@pytest.fixture
def shown(monkeypatch):
    """The figures that were shown, with their alt texts."""
    figures = []
    monkeypatch.setattr(waveforms, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def test_each_word_that_moves_stands_alone():
    spans = Window(TRACE, None, {}).spans("x_data")
    assert spans == [
        Span(0, 1, 7, "waits"),
        Span(1, 2, 7, "moves"),
        Span(2, 3, -128, "moves"),
        Span(3, 4, 9, "idle"),
        Span(4, 5, 12, "moves"),
    ]
    assert [span.stop for span in Window(TRACE, None, {}).spans("count")] == [2, 4, 5]


def test_the_parts_of_a_word_move_with_it(shown):
    trace = {**TRACE, "x_last": [0, 0, 1, 1, 1], "low": [7, 7, 128, 9, 12]}
    window = Window(trace, None, {}, {"x": ["low"]})
    states = ["waits", "moves", "moves", "idle", "moves"]
    assert [span.state for span in window.each_cycle("low")] == states
    assert [span.state for span in window.each_cycle("x_last")] == states
    assert {span.state for span in Window(trace, None, {}).each_cycle("low")} == {"plain"}
    waveforms.draw(trace, ["low", "x_last"], parts={"x": ["low"]})
    _, alt = shown[0]
    assert "low: 7 7 128 - 12. x_last: 0 0 1 - 1. low moves in 1, 2, 4." in alt
    assert "x_last moves" not in alt


def test_the_picture_says_every_value(shown):
    waveforms.draw(TRACE, wrong={("count", 2): 2})
    figure, alt = shown[0]
    assert alt == (
        "Waveform of cycles 0 to 4. x_valid: 1 1 1 0 1. x_ready: 0 1 1 1 1. "
        "x_data: 7 7 -128 - 12. count: 0 0 1 1 300. x moves in 1, 2, 4. "
        "Wrong in cycle 2: count is 1, expected 2."
    )
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["7", "7", "-128", "", "12", "0", "1", "1", "300", "≠ 2"]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["clk", "x_valid", "x_ready", "x_data", "count"]


@pytest.mark.parametrize("top", ["skid", "wide"])
def test_no_two_texts_overlap(shown, top):
    inputs = {"skid": {"x": [-128, 127] * 8}, "wide": {"a": [1 << 519] * 9, "b": -5, "c": 7}}[top]
    done = simulate(MODULES / f"{top}.sv", top, inputs)
    name = {"skid": "y_data", "wide": "negated"}[top]
    waveforms.draw(done.trace, wrong={(name, 4): -100, (name, 5): -101})
    figure, _ = shown[0]
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert len(boxes) > 8
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])


def test_cycles_and_signals_are_chosen(shown):
    waveforms.draw(TRACE, ["count"], range(2, 4))
    assert shown[0][1] == "Waveform of cycles 2 to 3. count: 1 1."


@pytest.mark.parametrize(
    "signals, cycles, said",
    [
        (["z"], None, "'z' is not in the trace, which has x_valid"),
        (None, range(3, 9), "cycles 0 to 4"),
        (None, range(0), "cycles 0 to 4"),
    ],
)
def test_what_is_not_in_the_trace(signals, cycles, said):
    with pytest.raises(RTLError, match=said):
        waveforms.draw(TRACE, signals, cycles)


def test_more_cycles_than_fit():
    with pytest.raises(RTLError, match="41 cycles do not fit: show 40 at most"):
        waveforms.draw({"a": [0, 1] * 50}, None, range(41))
