"""Pictures of lesson what_stays_in_float32: they show what they are given, and say it."""

from labkit_lessons.tpu.what_stays_in_float32 import spot_pictures


def shown(monkeypatch, draw, *args, **options):
    found = []
    monkeypatch.setattr(spot_pictures, "show", lambda figure, alt: found.append((figure, alt)))
    draw(*args, **options)
    return found[0]


def test_variances(monkeypatch):
    given = {"a": [1, 1.1], "b": [0.9, 1], "c": [1, 0]}
    figure, alt = shown(monkeypatch, spot_pictures.variances, [1, 16], given)
    assert {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].lines} == given
    assert "where mean / deviation is 1, 16. a: 1.00, 1.10; b: 0.90, 1.00; c: 1.00, 0.00." in alt


def test_over_steps(monkeypatch):
    given = {"one": [3, 2, 1], "other": [3, 3, 3]}
    figure, alt = shown(monkeypatch, spot_pictures.over_steps, given, "loss", digits=1)
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert labels == ["one: 1.0", "other: 3.0"]
    assert alt == "loss over 3 steps. At the end: one 1.0, other 3.0."
