"""labkit.figures.style: an alt text for every figure, equal bytes, and contrast also in grey."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labkit import figures
from labkit.figures import style


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
    monkeypatch.setattr(style, "in_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", lambda data, **kw: shown.append((data, kw)))
    figure, _ = figures.canvas(2, 1)
    figures.show(figure, "An empty pair of axes.")
    figures.image_grid(
        np.zeros((2, 3, 4, 4), np.uint8), ["a", "b"], [0, 0], "Two black photos side by side."
    )
    (data, options), (_, of_photographs) = shown
    assert of_photographs["metadata"]["needs_background"] == "light"  # a dark theme leaves them
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
