"""labkit.distributed.pictures: they show the messages, and no two of their texts overlap."""

from itertools import combinations, permutations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from labkit.distributed import pictures
from labkit.distributed.messages import Message
from labkit.figures import style


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def sent(source, target, bytes, begin=0.0, end=1.0):
    return Message(source, target, bytes, begin, end, sent=True)


def received(source, target, bytes, begin=0.0, end=1.0):
    return Message(source, target, bytes, begin, end, sent=False)


def boxes(figure):
    """Where each text is, at 100 dpi."""
    figure.set_dpi(100)
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts]
    return [text.get_window_extent() for text in texts if text.get_text()]


def test_bytes_are_added_up_per_link_and_counted_once(drawn):
    messages = [sent(0, 1, 1000), received(0, 1, 1000), sent(0, 1, 500), sent(1, 2, 3000)]
    pictures.routes_picture(messages, 3)
    ((figure, alt),) = drawn
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["1.5 kB", "3 kB", "0", "1", "2"]
    assert alt.endswith("rank 0 to rank 1 1.5 kB; rank 1 to rank 2 3 kB.")
    thin, thick = (patch.get_linewidth() for patch in figure.axes[0].patches[:2])
    assert thick == pictures.THICK and thin == 1 + (pictures.THICK - 1) / 2


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_all_to_all_has_room(drawn, ranks):
    pictures.routes_picture([sent(a, b, 123_456) for a, b in permutations(range(ranks), 2)], ranks)
    pictures.routes_picture([sent(a, (a + 1) % 6, 123_456) for a in range(6)], 6)
    for figure, _ in drawn:
        assert not any(a.overlaps(b) for a, b in combinations(boxes(figure), 2))
    assert len(boxes(drawn[0][0])) == ranks + ranks * (ranks - 1)


def test_an_arrow_begins_and_ends_at_its_ranks(drawn):
    pictures.routes_picture([sent(2, 0, 8)], 4)
    ((figure, _),) = drawn
    path = figure.axes[0].patches[0].get_path().vertices
    upper_left, lower_right = np.array([-1, 1]) / 2**0.5, np.array([1, -1]) / 2**0.5
    assert np.hypot(*(path[0] - lower_right)) < 0.3 and np.hypot(*(path[2] - upper_left)) < 0.5


def test_routes_that_cannot_be(drawn):
    with pytest.raises(ValueError, match="A message of rank 3"):
        pictures.routes_picture([sent(0, 3, 1)], 3)
    with pytest.raises(ValueError, match="1 to 6 ranks, not 7"):
        pictures.routes_picture([], 7)
    pictures.routes_picture([], 2)
    assert "what each sends: none." in drawn[0][1]


def test_the_timeline_has_a_bar_for_each_and_a_line_for_both(drawn):
    """Rank 0 sends twice and rank 1 receives twice; rank 1's answer comes in between."""
    last = received(0, 1, 8, 5.02, 5.05)
    records = [
        [sent(0, 1, 8, 5.0, 5.01), received(1, 0, 8, 5.01, 5.03), sent(0, 1, 8, 5.03, 5.04)],
        [received(0, 1, 8, 5.002, 5.012), sent(1, 0, 8, 5.012, 5.02), last],
    ]
    pictures.timeline_picture(records, "measured on emulated links")
    ((figure, alt),) = drawn
    (axes,) = figure.axes
    bars = [bar.get_paths()[0].get_extents() for bar in axes.collections if len(bar.get_paths())]
    found = sorted((bar.x0, bar.width) for bar in bars[:6])
    wanted = [(0, 10), (2, 10), (10, 20), (12, 8), (20, 30), (30, 10)]
    assert np.allclose(found, wanted), "milliseconds from the first begin on"
    lines = [line for line in axes.lines if len(line.get_xdata())]
    ends = [(line.get_xdata().tolist(), [round(y) for y in line.get_ydata()]) for line in lines]
    assert [[np.round(x, 6).tolist(), y] for x, y in ends] == [
        [[0, 12], [0, 1]],
        [[30, 50], [0, 1]],
        [[12, 30], [1, 0]],
    ]
    assert axes.get_xlabel() == "ms, measured on emulated links"
    assert "50 ms" in alt and "rank 0 sends 2 and receives 1; rank 1 sends 1 and receives 2" in alt
    assert not any(
        a.y0 < b.y1 and b.y0 < a.y1 and a.x0 < b.x1 - 1e-9 and b.x0 < a.x1 - 1e-9
        for a, b in combinations(bars[:6], 2)
    )


def test_a_timeline_of_nothing(drawn):
    with pytest.raises(ValueError, match="no rank has sent or received"):
        pictures.timeline_picture([[], []])


@pytest.mark.parametrize(("seconds", "unit"), [(2.0, "s"), (0.5, "ms"), (1e-4, "µs")])
def test_units_of_time(drawn, seconds, unit):
    pictures.timeline_picture([[sent(0, 1, 8, 1.0, 1.0 + seconds)], []])
    assert drawn[0][0].axes[0].get_xlabel() == f"{unit}, measured"
    assert to_hex(drawn[0][0].axes[0].collections[0].get_facecolor()[0]) == style.BLUE
