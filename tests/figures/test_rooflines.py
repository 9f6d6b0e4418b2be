"""labkit.figures.rooflines: what is bound by what, and marks that can be told apart."""

import numpy as np

from labkit import figures
from labkit.figures import style
from labkit.hardware import machine
from labkit.provenance import measured, predicted, published


def test_roofline_says_which_layers_are_bound_by_what(capsys):
    h200 = machine("h200")
    ridge = float(h200.peak["fp32"]) / float(h200.bandwidth)
    rates = {"left": measured(2e12, "FLOP/s", "an H200")}
    figures.roofline(h200, {"left": ridge / 2, "right": ridge * 2}, rates)
    said = capsys.readouterr().out
    assert "left of the ridge: left." in said
    assert "right of it: right." in said
    assert "Measured: left 2 TFLOP/s." in said


def test_roofline_marks_every_layer(monkeypatch):
    drawn = []
    monkeypatch.setattr("labkit.figures.rooflines.show", lambda figure, _: drawn.append(figure))
    figures.roofline(machine("h200"), {f"layer{i}": 1.0 + i for i in range(11)})
    assert len(drawn[0].axes[0].get_legend().get_texts()) == 11


LADDER = {  # FLOP/B and TFLOP/s of a climb with a crowded end; the last two are one point
    "one": (0.12, 0.09, 0.31),
    "two": (0.4, 0.31, 2.0),
    "three": (7.9, 4.4, 3.0),
    "four": (15.5, 8.1, 8.5),
    "mine": (15.5, 11.9, None),
    "five": (21.3, 14.7, 16.0),
    "six": (30.1, 23.1, 18.2),
    "seven": (30.1, 23.1, None),
}


def drawn_climb(monkeypatch):
    """The figure of LADDER and its alt text."""
    drawn = []
    monkeypatch.setattr("labkit.figures.rooflines.show", lambda *given: drawn.append(given))
    theirs = {step: row[2] for step, row in LADDER.items() if row[2] is not None}
    figures.climb(
        machine("a6000"),
        {step: row[0] for step, row in LADDER.items()},
        {step: predicted(row[1] * 1e12, "FLOP/s", "a formula") for step, row in LADDER.items()},
        {step: published(rate * 1e12, "FLOP/s", "a paper") for step, rate in theirs.items()},
    )
    figure, alt = drawn[0]
    style.png(figure)  # so that every mark has its place
    return figure, alt


def marks(axes, marker):
    """Where the marks of this kind lie, in points."""
    lines = [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata())]
    inches = [axes.transData.transform(line.get_xydata()[0]) / axes.figure.dpi for line in lines]
    return [72 * place for place in inches]


def test_a_climb_names_every_step_and_both_its_speeds(monkeypatch):
    figure, alt = drawn_climb(monkeypatch)
    assert "four at 15.5 FLOP per byte: 8.1 TFLOP/s predicted, 8.5 TFLOP/s published;" in alt
    assert "mine at 15.5 FLOP per byte: 11.9 TFLOP/s predicted;" in alt
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(legend) == {"predicted", "published"} | {
        f"{i + 1} {s}" for i, s in enumerate(LADDER)
    }
    names = [text.get_text() for axes in figure.axes[:2] for text in axes.texts]
    assert sorted(names) == ["1", "2", "3", "4", "5", "6", "7,8", "peak", "peak"]
    whole, zoomed = figure.axes[:2]
    assert [len(marks(axes, "_")) for axes in (whole, zoomed)] == [2, 4]


def test_the_marks_of_a_climb_can_be_told_apart(monkeypatch):
    figure, _ = drawn_climb(monkeypatch)
    for axes in figure.axes[:2]:
        circles = marks(axes, "o")
        for i, place in enumerate(circles):
            assert axes.bbox.contains(*(place * axes.figure.dpi / 72)), "outside of the picture"
            distances = [np.hypot(*(place - other)) for other in circles[:i]]
            assert min(distances, default=99) > 15, "a circle is 15 points wide"
        bars = marks(axes, "_")
        for i, (x, y) in enumerate(bars):
            for other_x, other_y in bars[:i]:
                assert abs(x - other_x) > 30 or abs(y - other_y) > 3, "a bar is 30 by 3 points"
