"""The pictures show what they were given, and no two of their texts overlap."""

from itertools import combinations

import pytest
from matplotlib.colors import to_hex

from labkit.distributed.gradients.overlap import Work, predict
from labkit.distributed.gradients.readiness import Ready
from labkit_lessons.distributed.overlap_and_buckets import pictures

WORK = Work(layers=8, bytes=1000, seconds=0.02, latency=0.001, bandwidth=1e5)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def boxes(figure):
    figure.set_dpi(100)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    texts = [*axes.texts, *axes.get_yticklabels()]
    return [text.get_window_extent() for text in texts if text.get_text()]


def bars(figure):
    """(left, width, row, colour) of each box."""
    found = []
    for bar in figure.axes[0].collections:
        (x0, y0), (x1, _) = bar.get_paths()[0].vertices[[0, 2]]
        found.append((x0, x1 - x0, y0 + 0.45, to_hex(bar.get_facecolor()[0])))
    return found


def test_a_bucket_and_its_layers_have_one_colour(drawn):
    timeline = predict(WORK, 2, 3000)
    pictures.overlap_picture({"buckets of 3": timeline}, "predicted")
    ((figure, alt),) = drawn
    shown = bars(figure)
    assert len(shown) == 8 + 3
    computes, link = shown[:8], shown[8:]
    for bar, span in zip(shown, timeline.layers + timeline.travel, strict=True):
        assert bar[0] == pytest.approx(1e3 * span.begin)
        assert bar[1] == pytest.approx(1e3 * (span.end - span.begin))
    colours = [colour for _, _, _, colour in link]
    assert len(set(colours)) == 3
    assert [bar[3] for bar in computes] == [colours[k // 3] for k in range(8)]
    assert {bar[2] for bar in computes} == {0.0} and {bar[2] for bar in link} == {1.0}
    numbers = [text.get_text() for text in figure.axes[0].texts]
    assert numbers == ["7", "6", "5", "4", "3", "2", "1", "0", "0", "1", "2"]
    assert "buckets of 3: 8 layers in 160 ms, 3 all-reduces from 60 to" in alt


def test_several_steps_have_room(drawn):
    ways = {"after": None, "each": 1000, "pairs": 2000, "one bucket": 8000}
    pictures.overlap_picture({name: predict(WORK, 2, limit) for name, limit in ways.items()})
    ((figure, alt),) = drawn
    assert not any(a.overlaps(b) for a, b in combinations(boxes(figure), 2))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:3] == ["after: backward", "link", "each: backward"]
    assert alt.count("all-reduces from") == 3 and alt.count(" 1 all-reduce from") == 1
    assert figure.axes[0].get_xlabel().startswith("ms, measured")


def test_readiness(drawn):
    names = ["fc2.bias", "fc2.weight", "fc1.bias", "fc1.weight", "conv2.bias", "conv2.weight"]
    sizes = [40, 5120, 512, 2_097_152, 256, 73_728]
    ready = [
        Ready(name, size, 7 + 0.001 * k)
        for k, (name, size) in enumerate(zip(names, sizes, strict=True))
    ]
    pictures.readiness_picture(ready, 6.999)
    ((figure, alt),) = drawn
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert dots == pytest.approx([1, 2, 3, 4, 5, 6])
    assert [text.get_text() for text in axes.texts][3] == "2.1 MB"
    assert not any(a.overlaps(b) for a, b in combinations(boxes(figure), 2))
    assert alt == f"When 6 gradients became ready within 6 ms, in order: {', '.join(names)}."


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no gradient became ready"):
        pictures.readiness_picture([], 0.0)
    with pytest.raises(ValueError, match="there is no step"):
        pictures.overlap_picture({})
