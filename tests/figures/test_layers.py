"""labkit.figures.layers: the cells shown are those that a convolution and its gradients use."""

import numpy as np
import pytest

from labkit import figures
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


def test_three_sums_in_words_are_those_in_letters(monkeypatch):
    _, _, *letters = drawn_grids(monkeypatch, lambda: figures.three_sums(4, 2, padding=0))
    _, _, *words = drawn_grids(
        monkeypatch, lambda: figures.three_sums(4, 2, padding=0, in_words=True)
    )
    for one, other in zip(letters, words, strict=True):
        assert np.array_equal(np.char.replace(one.values, "w", "tap "), other.values)
        assert np.array_equal(one.shaded, other.shaded)
    assert [grid.title.partition(":")[0] for grid in words] == [
        "output 2",
        "dx, pixel 2",
        "dw, tap 0",
    ]


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
    assert caption.endswith(f"9 products, {9 - products} of them 0") and products < 9
    assert framed[read].shape == (3, 3)


def test_a_tap_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="has no tap"):
        figures.pixels_of_tap((5, 5), (3, 3), (3, 0))
