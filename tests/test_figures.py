"""labkit.figures: every figure has an alt text, equal bytes when drawn twice, and reads in grey."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labkit import figures
from labkit.figures import style
from labkit.hardware import machine
from labkit.provenance import counted, measured, predicted
from labkit.reference import conv2d_backward

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
    drawn = []
    monkeypatch.setattr("labkit.figures.layers._grids", lambda parts, *_: drawn.append(parts))
    figures.overlap((6, 5), (3, 2), pixel=(2, 1), stride=2)
    (_, readers, _, _), (_, _, reached, _) = drawn[0]
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
    monkeypatch.setattr("labkit.figures.charts.show", lambda figure, _: drawn.append(figure))
    figures.roofline(machine("h200"), {f"layer{i}": 1.0 + i for i in range(11)})
    assert len(drawn[0].axes[0].get_legend().get_texts()) == 11


@pytest.mark.parametrize("guess", [None, predicted(0, "MAC", "you"), predicted(50, "MAC", "you")])
def test_guesses_take_missing_and_zero_guesses(capsys, guess):
    figures.guesses([("multiply-adds", guess, counted(100, "MAC", "hand"))])
    assert "result 100 MAC" in capsys.readouterr().out


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
