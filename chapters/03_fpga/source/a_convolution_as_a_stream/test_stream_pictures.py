"""stream_pictures.py: they show what the circuit holds."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from labkit.figures import style
from labkit.fpga import waveforms
from labkit.fpga.integers.packing import unpack
from labkit_lessons.fpga.a_convolution_as_a_stream import layer_runs, stream_pictures


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(stream_pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def test_the_registers_are_those_of_the_simulator():
    image = np.arange(1, 13).reshape(3, 4)
    found = unpack(layer_runs.windows(image).outputs["window"], 9, 8).reshape(3, 4, 3, 3)
    for row, col in np.ndindex(3, 4):
        assert stream_pictures.window_around(3, 4, row, col) == found[row, col].tolist()


def test_a_step_marks_window_and_memory(drawn):
    stream_pictures.step(4, 4, row=2, col=2)
    ((figure, alt),) = drawn
    left, right = figure.axes
    hexes = [to_hex(patch.get_facecolor()) for patch in left.patches if patch.get_fill()]
    assert hexes.count(style.SKY) == 9 and len(hexes) == 25
    assert hexes.count(style.PALE) == 4, "4, 0, 8, 0"
    texts = [text.get_text() for text in right.texts]
    assert texts.count("line buffer, 5 words") == 2 and "pixel 11" in texts
    assert "1 2 3; 5 6 7; 9 10 11" in alt and "The 13 numbers" in alt


def test_a_step_without_a_window_is_refused():
    for row, col in ((0, 2), (2, 0), (5, 1)):
        with pytest.raises(ValueError, match="no window"):
            stream_pictures.step(4, 4, row, col)


def test_centres_are_those_of_the_windows(monkeypatch):
    drawn = []
    monkeypatch.setattr(waveforms, "draw", lambda trace, **given: drawn.append((trace, given)))
    run = layer_runs.windows(np.arange(1, 7).reshape(2, 3))
    stream_pictures.centres(run, range(4, 9))
    ((trace, given),) = drawn
    moves = np.flatnonzero(run.trace["window_valid"] & run.trace["window_ready"])
    assert [trace["window_data"][cycle] for cycle in moves] == [1, 2, 3, 4, 5, 6]
    assert given["cycles"] == range(4, 9)
