"""labkit.figures.rooflines: what is bound by what, and marks that can be told apart."""

import numpy as np

from labkit import figures
from labkit.figures import climbs, style
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
LIBRARY = 23.2  # TFLOP/s, published without an intensity


def drawn_climb(monkeypatch):
    """The figure of LADDER and its alt text."""
    drawn = []
    monkeypatch.setattr("labkit.figures.climbs.show", lambda *given: drawn.append(given))
    theirs = {step: row[2] for step, row in LADDER.items() if row[2] is not None}
    theirs["library"] = LIBRARY
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
    places = [line.get_transform().transform(line.get_xydata()[0]) for line in lines]
    return [72 * place / axes.figure.dpi for place in places]


def test_a_climb_names_every_step_and_both_its_speeds(monkeypatch):
    figure, alt = drawn_climb(monkeypatch)
    assert "four at 15.5 FLOP per byte: 8.1 TFLOP/s predicted, 8.5 TFLOP/s published;" in alt
    assert "mine at 15.5 FLOP per byte: 11.9 TFLOP/s predicted;" in alt
    assert "library: 23.2 TFLOP/s published." in alt
    (axes,) = figure.axes
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == [
        "predicted; passes set those below the roof",
        "published, drawn slightly to the right",
    ]
    names = {text.get_text() for text in axes.texts}
    steps = {"one", "two", "three", "four", "mine", "five", "six"}
    assert names == {*steps, "six, seven", "library, published; traffic unknown", "peak"}
    assert (len(marks(axes, "o")), len(marks(axes, "D"))) == (7, 6)


def test_the_circles_of_a_climb_stand_at_their_intensity_and_the_diamonds_beside_it(monkeypatch):
    figure, _ = drawn_climb(monkeypatch)
    (axes,) = figure.axes
    at = axes.transData.transform([(row[0], 1e12) for row in LADDER.values()])[:, 0]
    at *= 72 / figure.dpi
    for x, _ in marks(axes, "o"):
        assert np.abs(x - at).min() < 0.1, "at a step's intensity"
    for x, _ in marks(axes, "D"):
        assert np.abs(x - climbs.ASIDE - at).min() < 0.1, "right of a step's circle"


def test_the_marks_of_a_climb_can_be_told_apart(monkeypatch):
    figure, _ = drawn_climb(monkeypatch)
    (axes,) = figure.axes
    places = marks(axes, "o") + marks(axes, "D")
    for i, place in enumerate(places):
        assert axes.bbox.contains(*(place * figure.dpi / 72)), "outside of the picture"
        distances = [np.hypot(*(place - other)) for other in places[:i]]
        assert min(distances, default=99) > 8, "a mark is 8 points wide"


def test_the_names_of_a_climb_touch_neither_marks_nor_each_other(monkeypatch):
    figure, _ = drawn_climb(monkeypatch)
    (axes,) = figure.axes
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    for name, box in boxes.items():
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1, f"{name} is cut"
        for other, there in boxes.items():
            assert name == other or not box.overlaps(there), f"{name} and {other}"
        for place in marks(axes, "o") + marks(axes, "D"):
            assert not box.contains(*(place * figure.dpi / 72)), f"{name} on a mark"


def test_roofline_in_another_format(capsys):
    h100 = machine("h100")
    assert h100.ridge("fp32") < 100 < h100.ridge("bf16")
    figures.roofline(h100, {"layer": 100.0}, number_format="bf16")
    said = capsys.readouterr().out
    assert "ridge at 295 FLOP per byte" in said and "Memory bound, left of the ridge: layer" in said
    figures.roofline(h100, {"layer": 100.0})
    assert "Compute bound, right of it: layer" in capsys.readouterr().out
