"""labkit.figures: every figure has an alt text, equal bytes when drawn twice, and reads in grey."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labkit import figures
from labkit.figures import style
from labkit.hardware import machine
from labkit.provenance import counted, measured, predicted, published
from labkit.reference import conv2d, conv2d_backward

X = np.arange(25).reshape(5, 5)
W = np.arange(9).reshape(3, 3)


def test_outside_a_notebook_the_alt_text_is_printed(capsys):
    figures.convolution(X, W, p=1, q=2)
    window = X[1:4, 2:5]
    said = capsys.readouterr().out
    assert f"Output cell (1, 2) = {np.sum(window * W)}" in said
    assert "rows 1 to 3 and columns 2 to 4" in said


def test_a_window_outside_the_input_is_refused():
    with pytest.raises(ValueError, match=r"Output cell \(3, 0\).*reads outside the input"):
        figures.convolution(X, W, p=3, q=0)


def test_im2col_says_which_row(capsys):
    figures.im2col(X, (3, 3), p=1, q=2)
    assert "is row 5 of the im2col matrix of 9 rows and 9 columns" in capsys.readouterr().out


def test_overlap_counts_the_windows_of_each_pixel(monkeypatch):
    _, _, *parts = drawn_grids(
        monkeypatch, lambda: figures.overlap((6, 5), (3, 2), pixel=(2, 1), stride=2)
    )
    (_, readers, _, _), (_, _, reached, _) = parts
    # dx of a sum of outputs, with weights of one, counts the same: an independent oracle
    ones = np.ones((1, 1, 2, 2))
    dx = conv2d_backward(ones, np.zeros((1, 1, 6, 5)), np.ones((1, 1, 3, 2)), stride=2)[0]
    assert np.array_equal(readers, dx[0, 0])
    assert reached.sum() == readers[2, 1] == 2


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


@pytest.mark.parametrize("guess", [None, predicted(0, "MAC", "you"), predicted(50, "MAC", "you")])
def test_guesses_take_missing_and_zero_guesses(capsys, guess):
    figures.guesses([("multiply-adds", guess, counted(100, "MAC", "hand"))])
    said = capsys.readouterr().out
    assert "result 100 MAC" in said
    assert ("no guess recorded" in said) == (guess is None)


def test_an_alt_text_must_say_something():
    figure, _ = figures.canvas()
    with pytest.raises(ValueError, match="says too little"):
        figures.show(figure, "a plot")


def test_equal_figures_are_equal_bytes():
    def draw():
        figure, axes = figures.canvas(3, 2)
        axes.plot([1, 2], [3, 1], label="line")
        axes.legend()
        return style.png(figure)

    assert draw() == draw()


def test_in_a_notebook_the_picture_carries_its_alt_text(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(style, "_in_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", lambda data, **kw: shown.append((data, kw)))
    figure, _ = figures.canvas(2, 1)
    figures.show(figure, "An empty pair of axes.")
    (data, options), *rest = shown
    assert not rest
    assert data["text/plain"] == "An empty pair of axes."
    assert data["image/png"].startswith("iVBOR")  # base64 of the PNG signature
    assert options["metadata"] == {"image/png": {"alt": "An empty pair of axes."}}


def _luminance(colour: str) -> float:
    """Relative luminance, WCAG 2: 0 is black, 1 is white."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def _contrast(a: str, b: str) -> float:
    low, high = sorted([_luminance(a), _luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_text_is_readable_on_the_card_and_series_differ_in_grey():
    assert _contrast(style.INK, style.CARD) >= 7
    assert _contrast(style.CARD, style.BLUE) >= 4.5  # numbers on a filled cell
    assert _contrast(style.INK, style.SKY) >= 4.5
    assert _contrast(style.INK, style.ORANGE) >= 4.5
    assert _contrast(style.BLUE, style.ORANGE) >= 2  # two series, told apart without colour
    assert _contrast(style.ORANGE, style.CARD) >= 2


def drawn_grids(monkeypatch, draw):
    drawn = []
    monkeypatch.setattr("labkit.figures.layers.show_grids", lambda *given, **_: drawn.append(given))
    draw()
    return drawn[0]


@pytest.mark.parametrize(("pixels", "taps", "stride", "padding"), [(6, 3, 1, 1), (7, 2, 2, 0)])
def test_three_sums_shows_the_products_of_a_convolution(monkeypatch, pixels, taps, stride, padding):
    _, _, *parts = drawn_grids(
        monkeypatch, lambda: figures.three_sums(pixels, taps, stride, padding)
    )
    (_, names, y, _), (_, _, dx, _), (_, _, dw, _) = parts
    # the products are where the Jacobian of a convolution is not 0: an independent oracle
    eye = np.eye(pixels)[:, None, None]  # one image for each pixel
    for tap in range(taps):
        w = np.zeros((1, 1, 1, taps))
        w[..., tap] = 1
        framed = np.pad(eye, ((0, 0), (0, 0), (0, 0), (padding, padding)))
        seen = conv2d(framed, w, stride=stride)[:, 0, 0].T  # [P, pixels]
        assert np.array_equal(names == f"w{tap}", seen == 1)
    assert np.array_equal(y, (names != "") & (np.arange(len(names)) == 2)[:, None])
    assert np.array_equal(dx, (names != "") & (np.arange(pixels) == 2))
    assert np.array_equal(dw, names == "w0")


def test_pixels_of_tap_are_those_that_feed_the_weight(monkeypatch):
    geometry = {"tap": (0, 2), "stride": 2, "padding": 1}
    caption, _, *parts = drawn_grids(
        monkeypatch, lambda: figures.pixels_of_tap((5, 6), (3, 3), **geometry)
    )
    (_, framed, read, _) = parts[1]
    x, dy = np.arange(1.0, 31).reshape(1, 1, 5, 6), np.zeros((1, 1, 3, 3))
    products = 0
    for p, q in np.ndindex(3, 3):
        one = dy.copy()
        one[0, 0, p, q] = 1
        dw = conv2d_backward(one, x, np.zeros((1, 1, 3, 3)), stride=2, padding=1)[1][0, 0, 0, 2]
        place = np.argwhere(framed == f"{p},{q}")
        assert len(place) == (dw != 0), "only pixels carry the name of an output"
        assert dw == 0 or np.pad(x[0, 0], 1)[tuple(place[0])] == dw
        products += dw != 0
    assert caption.endswith(f"{products} products")
    assert framed[read].shape == (3, 3)


def test_a_tap_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="has no tap"):
        figures.pixels_of_tap((5, 5), (3, 3), (3, 0))
