"""The figures on shaped links that are committed: complete, and what the formulas say."""

import re
from pathlib import Path

import pytest

from labkit.distributed.links.link_predictions import predict_trials
from labkit.distributed.links.link_trials import Trials
from labkit_lessons.distributed.a_cost_model.shaped_figures import PAGE, shaped_links

ROOT = Path(__file__).resolve().parents[4]
LINKS = shaped_links()


def test_every_kind_of_link_is_there():
    kinds = {(link.kind, link.ranks) for link in LINKS}
    assert {("shaped and relayed", 2), ("shaped and relayed", 4), ("loopback", 2)} <= kinds
    assert {("emulated in process", 2), ("emulated in process", 4)} <= kinds


@pytest.mark.parametrize("link", LINKS, ids=lambda link: f"{link.kind} {link.ranks}")
def test_predictions_follow_from_the_fit(link):
    delayed = link.kind != "emulated in process"
    expected = predict_trials(link.model, link.ranks, Trials(), delayed)
    assert [trial.name for trial in link.trials] == list(expected)
    for trial in link.trials:
        assert trial.predicted == pytest.approx(expected[trial.name], rel=0.01, abs=1e-5)
        assert trial.measured > 0


def test_the_page_says_the_same():
    page = (ROOT / PAGE).read_text("utf-8")
    for link in LINKS:
        for trial in link.trials:
            numbers = f"{1e3 * trial.predicted:.2f} | {1e3 * trial.measured:.2f}"
            row = f"| {link.kind} | {link.ranks} | {trial.name} | {numbers} |"
            assert re.search(re.escape(row), page), row
