"""The trials: every one is run, none is faster than its link, and a wrong sum is told."""

from dataclasses import replace

import pytest

from labkit.distributed import LaunchError, collectives, launch
from labkit.distributed.links import link_trials
from labkit.distributed.links.link_trials import Trials, on_an_emulated_link, on_the_loopback

SHORT = replace(
    Trials(), latency=0.002, bandwidth=50e6, layers=2, gradient=40_000, bucket=40_000,
    backward=0.004, micro_batches=2, tokens=100, t_forward=0.004, t_backward=0.008, repeats=1,
)  # fmt: skip


@pytest.mark.parametrize("ranks", [2, 4])
def test_nothing_is_faster_than_an_emulated_link(ranks):
    seconds = launch(on_an_emulated_link, ranks, SHORT, timeout=300)[0]
    alpha, beta = SHORT.latency, SHORT.bandwidth
    for size in SHORT.pings:
        assert seconds[f"ping {size}"] >= alpha + size / beta
    for size in SHORT.sizes:
        assert seconds[f"star {size}"] >= 2 * (ranks - 1) * (alpha + size / beta)
        assert seconds[f"ring {size}"] >= 2 * (ranks - 1) * (alpha + size / ranks / beta)
    assert ("overlap" in seconds) == ("after" in seconds) == (ranks == 2)
    if ranks == 2:
        one = 2 * (alpha + SHORT.gradient / 2 / beta)
        assert seconds["overlap"] >= 2 * SHORT.backward + one
        assert seconds["after"] >= 2 * SHORT.backward + 2 * one
    pieces = SHORT.micro_batches + ranks - 1
    work = pieces * (SHORT.t_forward + SHORT.t_backward)
    assert seconds["pipeline"] >= work + 2 * (ranks - 1) * alpha


def test_the_loopback_runs_the_same_trials():
    loopback = launch(on_the_loopback, 2, SHORT, timeout=300)[0]
    emulated = launch(on_an_emulated_link, 2, SHORT, timeout=300)[0]
    pings = {name for name in emulated if name.startswith("ping")}
    assert set(emulated) - pings < set(loopback)
    assert {f"ping {size}" for size in link_trials.LOOPBACK_PINGS} < set(loopback)


def test_other_work_on_the_machine_hardly_counts():
    """Half of nine runs may wait for something else, and a run alone counts as it is."""
    calm = [1.0, 1.01, 1.02, 1.03, 1.04]
    assert link_trials._lower_quartile([*calm, 9.0, 9.0, 9.0, 9.0]) <= max(calm)
    assert link_trials._lower_quartile([2.0]) == 2.0


@pytest.mark.parametrize(
    ("field", "value"),
    [("latency", -1), ("latency", float("nan")), ("bandwidth", 0), ("repeats", 0)],
)
def test_nonsense_is_told(field, value):
    with pytest.raises(ValueError, match="Trials: "):
        replace(Trials(), **{field: value})


def forgets(rank, ranks, given):
    """An all-reduce that returns what it was given would be the fastest of all."""
    collectives.ring_all_reduce = lambda x: x.clone()
    return link_trials.trials(rank, ranks, given)


def test_a_wrong_sum_is_told():
    with pytest.raises(LaunchError, match="has a wrong sum"):
        launch(forgets, 2, SHORT, timeout=300)


def test_a_host_is_told_everything():
    words = link_trials.command(1, ["10.0.0.1", "10.0.0.2"], SHORT)
    assert {"--rank=1", "--ranks=2", "--meet=10.0.0.1", "--address=10.0.0.2"} <= set(words)
