"""Predictions for the trials: from pings alone, and each by its formula."""

import pytest

from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.links.link_predictions import compared, fitted, predict_trials, star
from labkit.distributed.links.link_trials import Trials

LINK = CostModel(0.02, 10e6)


def pings(model, *sizes):
    return {f"ping {size}": model.message(size) for size in sizes}


def test_only_pings_are_used_for_the_fit():
    seconds = pings(LINK, 1_000, 100_000, 900_000)
    model = fitted(seconds | {"ring 300000": 1e9, "overlap": 1e-9})
    assert model.latency == pytest.approx(0.02) and model.bandwidth == pytest.approx(10e6)
    with pytest.raises(ValueError):
        fitted({"ring 300000": 1.0})


def test_sizes_of_the_collectives_are_none_of_the_pings():
    given = Trials()
    assert not set(given.sizes) & set(given.pings)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_stars_and_rings_by_hand(ranks):
    given = Trials(sizes=(800_000,))
    late = predict_trials(LINK, ranks, given, delayed=True)
    at_the_cable = predict_trials(LINK, ranks, given, delayed=False)
    assert late["star 800000"] == pytest.approx(2 * (0.02 + (ranks - 1) * 0.08))
    assert at_the_cable["star 800000"] == pytest.approx(2 * (ranks - 1) * (0.02 + 0.08))
    ring = 2 * (ranks - 1) * (0.02 + 0.08 / ranks)
    assert late["ring 800000"] == at_the_cable["ring 800000"] == pytest.approx(ring)
    if ranks == 2:
        assert star(LINK, 2, 800_000) == pytest.approx(at_the_cable["star 800000"])


def test_steps_by_hand():
    """Two ranks, 100 ms of backward in two layers, each layer's gradient a bucket of 0.4 MB."""
    given = Trials(
        layers=2, gradient=400_000, bucket=400_000, backward=0.05,
        micro_batches=3, tokens=12_500, t_forward=0.01, t_backward=0.02,
    )  # fmt: skip
    expected = predict_trials(LINK, 2, given, delayed=True)
    ring = 2 * (0.02 + 0.02)
    assert expected["after"] == pytest.approx(0.1 + 2 * ring)
    assert expected["overlap"] == pytest.approx(0.05 + 2 * ring)  # the second waits for the first
    message = 0.02 + 12_500 * 64 / 10e6  # 100 ms
    # F0 and its message, B0 of the last stage and its message, and the rest waits for each other
    assert expected["pipeline"] > 2 * message + 3 * 0.03
    assert set(expected) == {
        "star 300000", "ring 300000", "star 1200000", "ring 1200000", "overlap", "after", "pipeline"
    }  # fmt: skip
    assert "overlap" not in predict_trials(LINK, 4, given, delayed=True)


def test_errors_have_their_sign_and_nothing_is_left_out():
    rows = compared({"ring 1": 2.0, "star 1": 1.0}, {"ring 1": 2.2, "star 1": 0.5, "ping 1": 3.0})
    assert [row.name for row in rows] == ["ring 1", "star 1"]
    assert [row.error for row in rows] == pytest.approx([10, -50])
    name, by_formula, by_the_clock, error = rows[0].cells("the formula", "a link")
    assert (name, error) == ("ring 1", "+10.0 %")
    assert (float(by_formula), by_formula.word) == (2.0, "predicted")
    assert (float(by_the_clock), by_the_clock.word) == (2.2, "measured")
    with pytest.raises(ValueError, match="'star 1' was predicted, and never ran"):
        compared({"star 1": 1.0}, {})
