"""Backward and all-reduces on one axis of time: predicted ones by hand, measured ones by bounds.

An emulated link and layer never take less than their time, on any machine; how much more they
take is in benchmarks/ddp.py.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed import launch
from labkit.distributed.gradients.emulated_compute import emulated_net
from labkit.distributed.gradients.overlap import Span, Work, measure, predict

ENOUGH = 300.0
EASY = Work(layers=3, bytes=1000, seconds=1.0, latency=0.5, bandwidth=1000)  # 2 ranks: 2 s a layer


def test_predictions_by_hand():
    """Two ranks: a ring of two messages, each 0.5 s + half the bytes / 1000."""
    after = predict(EASY, 2, None)
    assert after.layers == [Span(2, 0, 1), Span(1, 1, 2), Span(0, 2, 3)]
    assert after.travel == [Span(0, 3, 5), Span(1, 5, 7), Span(2, 7, 9)]
    assert after.seconds == 9 and after.buckets == [[0], [1], [2]]
    each = predict(EASY, 2, 1000)
    assert each.travel == [Span(0, 1, 3), Span(1, 3, 5), Span(2, 5, 7)]
    pairs = predict(EASY, 2, 2000)
    assert pairs.buckets == [[2, 1], [0]]
    assert pairs.travel == [Span(0, 2, 5), Span(1, 5, 7)]
    assert predict(EASY, 2, 3000).travel == [Span(0, 3, 7)]
    assert predict(EASY, 1, 1000).seconds == 3, "alone nothing travels"


WORKS = st.builds(
    Work,
    layers=st.integers(1, 8),
    bytes=st.integers(1, 10**6),
    seconds=st.floats(0, 1),
    latency=st.floats(0, 1),
    bandwidth=st.floats(1e3, 1e8),
)


@given(WORKS, st.integers(1, 4), st.integers(1, 10**7))
def test_a_predicted_link_carries_one_bucket_at_a_time_and_only_ready_ones(work, ranks, limit):
    timeline = predict(work, ranks, limit)
    done = {span.number: span.end for span in timeline.layers}
    free = 0.0
    for span, layers in zip(timeline.travel, timeline.buckets, strict=True):
        assert span.begin == max([free, *(done[layer] for layer in layers)])
        free = span.end
    backward = work.layers * work.seconds
    assert timeline.seconds >= max(backward * (1 - 1e-9), free)
    each = predict(work, ranks, work.bytes)
    after = predict(work, ranks, None)
    assert each.seconds <= after.seconds * (1 + 1e-9), "with as many all-reduces, during is better"


@pytest.fixture(scope="module")
def measured():
    def all_ways(rank, ranks, work):
        return {ways: measure(rank, ranks, work, ways, warm_up=0) for ways in (None, 4000, 8000)}

    work = Work(layers=4, bytes=4000, seconds=0.01, latency=0.004, bandwidth=1e6)
    return work, launch(all_ways, 2, work, timeout=ENOUGH)


@pytest.mark.parametrize("limit", [None, 4000, 8000])
def test_a_measured_step_takes_at_least_what_is_predicted(measured, limit):
    work, found = measured
    expected = predict(work, 2, limit)
    for timeline in (rank[limit] for rank in found):
        assert timeline.buckets == expected.buckets
        numbers = [span.number for span in timeline.layers], [s.number for s in timeline.travel]
        assert numbers == ([3, 2, 1, 0], list(range(len(expected.buckets))))
        for span, least in zip(
            timeline.layers + timeline.travel, expected.layers + expected.travel, strict=True
        ):
            assert span.end >= least.end * 0.99
        for span, least in zip(timeline.travel, expected.travel, strict=True):
            assert (
                span.end - span.begin >= (least.end - least.begin) * 0.99
            )  # sleeps may be short by a tick


@pytest.mark.parametrize("limit", [None, 4000, 8000])
def test_a_bucket_leaves_after_its_layers_and_after_the_bucket_before(measured, limit):
    _, found = measured
    for timeline in (rank[limit] for rank in found):
        starts = {span.number: span.begin for span in timeline.layers}
        free = 0.0
        for span, layers in zip(timeline.travel, timeline.buckets, strict=True):
            assert span.begin >= max(starts[layer] for layer in layers)
            assert span.begin >= free
            free = span.end
        if limit is None:
            assert timeline.travel[0].begin >= max(span.end for span in timeline.layers)


def test_emulated_layers_have_true_gradients():
    net = emulated_net(layers=3, bytes=20, seconds=0.0)
    assert sum(weight.numel() for weight in net.parameters()) == 15
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.5
    y = net(torch.tensor([2.0]))
    assert y.item() == 2 + 15 * 0.5
    (3 * y).sum().backward()
    for weight in net.parameters():
        assert torch.equal(weight.grad, torch.full((5,), 3.0))
