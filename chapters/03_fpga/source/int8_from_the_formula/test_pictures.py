"""pictures.py: pieces as wide as the shares, and errors beside their bound."""

import numpy as np
import pytest

from labkit_lessons.fpga.int8_from_the_formula import pictures
from labkit_lessons.fpga.int8_from_the_formula.sigma_table import SigmaTable, sigma

BARS = {
    "work": {"a": 10, "b": 60, "c": 30, "d": 0},
    "bytes": {"a": 1, "b": 2, "c": 96, "d": 1},
}


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def test_the_pieces_are_as_wide_as_the_shares(drawn):
    pictures.shares(BARS)
    ((figure, alt),) = drawn
    (axes,) = figure.axes
    assert [piece.get_width() for piece in axes.patches] == [10, 60, 30, 0, 1, 2, 96, 1]
    assert [piece.get_x() for piece in axes.patches] == [0, 10, 70, 100, 0, 1, 3, 99]
    names = [text.get_text() for text in axes.texts]
    assert names == ["a\n10 %", "b\n60 %", "c\n30 %", "c\n96 %"], "narrow pieces have no name"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["work", "bytes"]
    assert "work: a 10.0 %, b 60.0 %, c 30.0 %, d 0.0 %; bytes: a 1.0 %" in alt


def test_the_errors_are_those_of_every_input():
    table = SigmaTable(entries=64)
    x, error = pictures.errors(table)
    assert x[0] == -16 and x[-1] == 16 - 1 / 256 and len(x) == 32 * 256
    q = (256 * x).astype(int)
    np.testing.assert_allclose(error, table(q) / 255 - sigma(x))


def test_sigma_beside_its_table_and_within_its_bound(drawn):
    small, large = SigmaTable(entries=32), SigmaTable(entries=256)
    pictures.sigma(small, large)
    ((figure, alt),) = drawn
    left, right = figure.axes
    stairs, curve = left.lines
    assert len(np.unique(stairs.get_ydata())) <= 32 < len(np.unique(curve.get_ydata()))
    points, below, above = right.lines
    assert below.get_ydata()[0] == -large.error_bound and above.get_ydata()[0] == large.error_bound
    assert np.abs(points.get_ydata()).max() <= large.error_bound
    assert f"within the bound of {large.error_bound:.5f}" in alt
