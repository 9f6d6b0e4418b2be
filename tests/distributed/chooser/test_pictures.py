"""The picture of times and prices: every machine that can do it is in it, priced or not."""

from matplotlib.figure import Figure

from labkit.distributed.chooser import Limits, choose, pictures, serve
from labkit.distributed.chooser.pictures import times_and_prices


def drawn(answer, monkeypatch):
    """The figure and its alt text."""
    shown = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: shown.append((figure, alt)))
    times_and_prices(answer)
    ((figure, alt),) = shown
    return figure, alt


def test_points_have_their_time_and_price(monkeypatch):
    answer = choose(serve("llama31_8b", "bf16", 8, 4096), Limits(seconds=0.02))
    figure, alt = drawn(answer, monkeypatch)
    assert isinstance(figure, Figure)
    (axes,) = figure.axes
    points = {tuple(line.get_xydata()[0]) for line in axes.lines if line.get_marker() == "o"}
    expected = {
        (1000 * row.time.value, row.price.value) for row in answer.rows if row.price is not None
    }
    assert points == expected and len(points) == 3
    texts = [text.get_text() for text in axes.texts]
    assert "2 x tpu_v5e" in texts and "h200, no price here" in texts and "limit " in texts
    assert "h100: 5.76 ms, 2.16 USD." in alt and "The limit is 20 ms." in alt


def test_without_any_price_it_still_has_all_machines(monkeypatch):
    answer = choose(serve("llama31_8b"), among=["a100", "b200"])
    figure, alt = drawn(answer, monkeypatch)
    assert "a100: " in alt and "USD" not in alt
    figure.canvas.draw()
