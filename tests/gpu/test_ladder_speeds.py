"""labkit.gpu.ladder_speeds: shares, misses, and what is published as it was published."""

import numpy as np
import pytest

from labkit.gpu import ladder_speeds
from labkit.hardware import machine
from labkit.provenance import predicted, published

GPU = machine("a6000")
GFLOPS = [309, 1986.5, 2980.3, 8474.7, 15971.7, 18237.3, 23249.6]  # SGEMM_CUDA's README


def test_published_speeds_are_those_of_the_source():
    rates = ladder_speeds.published_rates()
    assert [float(rate) / 1e9 for rate in rates.values()] == GFLOPS
    assert {(rate.word, rate.source) for rate in rates.values()} == {
        ("published", ladder_speeds.SOURCE)
    }


def test_predicted_speeds_are_shares_of_the_peak():
    rates = ladder_speeds.predicted_rates(["one", "two"], np.array([0.5, 1.0]), GPU)
    assert [float(rate) for rate in rates.values()] == [19.35e12, 38.7e12]
    assert {rate.word for rate in rates.values()} == {"predicted"}


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.19, "close"),
        (0.84, "close"),
        (1.21, "1.2 times too high"),
        (0.5, "2.0 times too low"),
        (3, "3.0 times too high"),
    ],
)
def test_close_is_within_20_percent(ratio, said):
    ours = predicted(ratio * 1e12, "FLOP/s", "a formula")
    assert ladder_speeds.miss(ours, published(1e12, "FLOP/s", "a paper")) == said


def test_the_trial_shows_both_shares_and_how_far_they_are_apart(capsys):
    ours = {
        "one": predicted(38.7e11, "FLOP/s", "a formula"),
        "three": predicted(38.7e11, "FLOP/s", "a formula"),
    }
    theirs = {
        "one": published(38.7e11 * 2, "FLOP/s", "a paper"),
        "two": published(38.7e12, "FLOP/s", "a paper"),
    }
    ladder_speeds.show_trial(ours, theirs, GPU)
    said = capsys.readouterr().out
    found = [line.split() for line in said.splitlines()]
    assert ["one", "10", "20", *"2.0 times too low".split()] in found
    assert ["three", "10", "-", "-"] in found and ["two", "-", "100", "-"] in found
    assert "predicted" in said and "published" in said and ladder_speeds.SHARES_NOTE[:30] in said


def test_the_naive_estimate_with_the_published_blocks():
    """A warp of 32 rows touches 32 sectors of a and one of b, for 64 FLOP."""
    intensity = 64 / (33 * 32)
    assert round(intensity, 2) == 0.06
    estimate = predicted(intensity * float(GPU.bandwidth), "FLOP/s", "a formula")
    theirs = ladder_speeds.published_rates()["naive"]
    assert ladder_speeds.miss(estimate, theirs) in ladder_speeds.SHARES_NOTE
    assert "38.7 TFLOP/s" in ladder_speeds.SHARES_NOTE and float(GPU.peak["fp32"]) == 38.7e12


def test_the_clock_times_the_product(monkeypatch):
    timed = []

    def timeit(work, number):
        timed.append(work())
        return 0.002 + len(timed) / 1000

    monkeypatch.setattr(ladder_speeds, "timeit", timeit)
    monkeypatch.setattr(ladder_speeds.cuda, "__name__", "the SIMT machine")
    speeds = ladder_speeds.measure_speeds()
    assert list(speeds) == ["NumPy"] and speeds["NumPy"].word == "measured"
    assert float(speeds["NumPy"]) == pytest.approx(2 * 1024**3 / 3e-3), "2 n^3 in 3 ms"
    assert len(timed) == 6 and timed[0].shape == (1024, 1024)
