"""layout_pictures.py: what is drawn is what the tiles hold, and is said in words."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from labkit.figures import style
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer import layout_pictures


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(layout_pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def filled(axes, colour):
    return sum(to_hex(patch.get_facecolor()) == colour for patch in axes.patches)


def test_a_small_array_in_its_tiles_and_in_memory(drawn):
    layout_pictures.in_tiles((3, 5), (2, 4))
    ((figure, alt),) = drawn
    above, below = figure.axes
    for axes in (above, below):
        assert filled(axes, style.SKY) == 15 and filled(axes, style.PALE) == 17
    in_memory = {int(text.get_position()[0]): text.get_text() for text in below.texts}
    own = {place: text for place, text in in_memory.items() if text}
    rows, columns = np.indices((3, 5))
    tile = 2 * (rows // 2) + columns // 4
    places = 8 * tile + 4 * (rows % 2) + columns % 4
    assert own == {places[i, j]: f"{i},{j}" for i, j in np.ndindex(3, 5)}
    assert "32 places for 15 elements" in alt


def test_with_axis_0_fastest_it_takes_fewer_places(drawn):
    layout_pictures.in_tiles((3, 5), (2, 4), order=(0, 1))
    ((figure, alt),) = drawn
    above, below = figure.axes
    for axes in (above, below):
        assert filled(axes, style.SKY) == 15 and filled(axes, style.PALE) == 9
    in_memory = [text.get_text() for text in below.texts]
    assert in_memory[:8] == ["0,0", "1,0", "2,0", "", "0,1", "1,1", "2,1", ""]
    assert "24 places for 15 elements" in alt and "axis 0 fastest: 24" in above.get_title()


def test_an_array_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="at most 64"):
        layout_pictures.in_tiles((9, 9), (8, 128))


def test_one_tile_in_each_order(drawn):
    orders = {"as written": (3, 2, 1, 0), "turned": (0, 2, 3, 1)}
    layout_pictures.one_tile((256, 32, 32, 3), orders, "BHWC")
    ((figure, alt),) = drawn
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["as written: 24 of 1,024 places used", "turned: 1,024 of 1,024 places used"]
    assert "axis C (3) along the 128" in [text.get_text() for text in figure.axes[0].texts]
    assert "axis B (256) along the 128" in [text.get_text() for text in figure.axes[1].texts]
    assert "turned, axis B lies along the 128, 1,024 of 1,024 places used" in alt


def test_the_stairs_are_the_cycles(drawn):
    counted = {128: 1000, 129: 2000, 256: 2100}
    layout_pictures.stairs(counted, {K: 2 * n for K, n in counted.items()}, "v2")
    ((figure, alt),) = drawn
    (axes,) = figure.axes
    line, points = axes.lines
    assert [*line.get_ydata()] == [1, 2, 2.1] and [*points.get_ydata()] == [2, 4, 4.2]
    assert points.get_linestyle() == "None", "nothing between the sizes was compiled"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["one unit, counted", "v2, compiled"]
    assert "v2 from 2,000 to 4,200 (compiled)" in alt


def test_outside_of_a_notebook_the_words_are_printed(capsys):
    layout_pictures.in_tiles((1, 1), (2, 2))
    assert "stored as 2 lines of 2" in capsys.readouterr().out
