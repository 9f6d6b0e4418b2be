"""step_pictures.py: the roof is that of the formula, the marks are the compiler's."""

from types import SimpleNamespace

import numpy as np
import pytest

from labkit.hardware import machine
from labkit_lessons.tpu.what_a_training_step_costs import step_pictures

V5E = machine("tpu_v5e")


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(step_pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def test_the_road_names_every_station_and_its_figures(drawn):
    step_pictures.road()
    ((figure, alt),) = drawn
    texts = " ".join(text.get_text() for text in figure.axes[0].texts)
    for said in (
        "HBM",
        "16 GiB",
        "VMEM",
        "matrix units",
        "vector unit",
        "819 GB/s",
        "128 MiB",
        "197 TFLOP",
    ):
        assert said in texts and said in alt
    assert "published" in texts


def test_the_roof_is_the_smaller_of_peak_and_traffic():
    few, many = step_pictures.attainable(V5E, np.array([1.0, 1e6]), 4096, 4096)
    numbers = 4096 + 4096**2 + 4096
    assert few == pytest.approx(2 * 4096**2 / (2 * numbers) * float(V5E.bandwidth))
    assert many == float(V5E.peak["bf16"])


def test_a_mark_is_the_flop_over_the_estimated_seconds(drawn):
    answers = {16: SimpleNamespace(seconds=1e-5), 1024: SimpleNamespace(seconds=2e-4)}
    step_pictures.batch_roofline(V5E, (4096, 4096), answers, 272.5)
    ((figure, alt),) = drawn
    roof, marks, critical = figure.axes[0].lines
    x, y = marks.get_data()
    assert list(x) == [16, 1024]
    flop = 2 * 4096**2 * np.array([16, 1024])
    assert y == pytest.approx(flop / np.array([1e-5, 2e-4]) / 1e12)
    assert critical.get_xdata()[0] == 272.5 and "The critical batch is 272." in alt
    assert max(roof.get_ydata()) == pytest.approx(197)
