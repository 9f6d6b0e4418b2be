"""The simulation against a plain one by ticks, queueing theory, and what has to be conserved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit_lessons.distributed.serving.blocks import blocks_for
from labkit_lessons.distributed.serving.server.requests import Request
from labkit_lessons.distributed.serving.simulation import (
    Contiguous,
    Lengths,
    Paged,
    Units,
    bursts,
    poisson,
    serve,
    serve_in_batches,
    trace,
)
from tests.distributed.serving import by_ticks

LIMIT = 9


@st.composite
def traces(draw):
    """Rows (arrival, prompt, output) with whole arrivals, in order."""
    gaps = draw(st.lists(st.integers(0, 4), min_size=1, max_size=12))
    arrivals = np.cumsum(gaps).tolist()
    sizes = st.tuples(st.integers(1, 12), st.integers(1, LIMIT))
    return [(arrival, *draw(sizes)) for arrival in arrivals]


def times_of(run):
    return [list(one.tokens) for one in run.served]


@given(traces(), st.integers(1, 5))
def test_without_a_cache_it_is_what_ticks_say(rows, most):
    run = serve(trace(rows), Units(), most)
    assert times_of(run) == by_ticks.continuous(rows, most)[0]
    conserved(run, rows)


@settings(max_examples=300)
@given(traces(), st.integers(1, 5), st.integers(1, 6), st.integers(0, 6))
def test_with_blocks_it_is_what_ticks_say_preemptions_included(rows, most, size, spare):
    blocks = spare + max(blocks_for(prompt + output - 1, size) for _, prompt, output in rows)
    cache = Paged(blocks, size)
    run = serve(trace(rows), Units(), most, cache)
    times, preemptions = by_ticks.continuous(rows, most, blocks, size)
    assert times_of(run) == times
    assert [one.preemptions for one in run.served] == preemptions
    conserved(run, rows)
    assert sorted(cache.free) == list(range(blocks)) and not cache.tables


def test_the_traces_preempt_at_all():
    rows = [(0, 4, 9), (0, 4, 9), (0, 4, 9)]
    run = serve(trace(rows), Units(), 3, Paged(6, 4))
    assert run.preemptions > 0 and run.prefilled_tokens > 12
    assert times_of(run) == by_ticks.continuous(rows, 3, 6, 4)[0]


@given(traces(), st.integers(1, 5))
def test_fixed_batches_are_what_ticks_say(rows, most):
    run = serve_in_batches(trace(rows), Units(), most)
    times, wasted = by_ticks.static(rows, most)
    assert times_of(run) == times and run.wasted == wasted
    conserved(run, rows)


@given(traces(), st.integers(1, 5), st.integers(0, 60))
def test_ranges_never_overlap_and_all_are_served(rows, most, spare):
    cache = Contiguous(max(prompt for _, prompt, _ in rows) + LIMIT - 1 + spare, LIMIT)

    def watch(running):
        assert len(running) == len(cache.ranges)
        for one, other in zip(cache.ranges, cache.ranges[1:], strict=False):
            assert one[1] <= other[0]
        assert cache.reserved <= cache.slots

    run = serve(trace(rows), Units(), most, cache, watch)
    conserved(run, rows)
    assert run.preemptions == 0 and not cache.ranges


@given(traces(), st.integers(1, 4), st.integers(1, 4))
def test_who_runs_came_first_and_each_block_has_one_owner(rows, most, size):
    blocks = 1 + max(blocks_for(prompt + output - 1, size) for _, prompt, output in rows)
    cache = Paged(blocks, size)

    def watch(running):
        names = [one.name for one in running]
        assert names == sorted(names) == sorted(cache.tables)
        taken = [block for table in cache.tables.values() for block in table]
        assert sorted(taken + cache.free) == list(range(blocks))
        for one in running:
            assert len(cache.tables[one.name]) == blocks_for(one.cached, size)

    serve(trace(rows), Units(), most, cache, watch)


def conserved(run, rows):
    """Each token of each request is one useful row of one step, at whose end it is there."""
    came = {name: [] for name in range(len(rows))}
    past_end = 0.0
    for step in run.steps:
        assert step.begin >= past_end and step.end > step.begin and step.rows
        past_end = step.end
        assert len(step.rows) <= run.rows
        assert len({row.place for row in step.rows}) == len(step.rows)
        for row in step.rows:
            assert rows[row.request][0] <= step.begin
            if row.useful:
                came[row.request].append(step.end)
    for name, (_, _, output) in enumerate(rows):
        assert came[name] == list(run.served[name].tokens) and len(came[name]) == output
    assert run.computed - run.wasted == run.output_tokens == sum(row[2] for row in rows)


@given(traces(), st.integers(1, 5))
def test_littles_law(rows, most):
    """L = lambda W: those in the system, as the steps count them, and latencies of the requests.

    All arrivals are whole and all steps take 1, so nobody comes in the middle of a step.
    """
    run = serve(trace(rows), Units(), most)
    present = sum(step.waiting + len(step.rows) for step in run.steps)  # times 1
    assert present == sum(run.latencies)


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_one_row_and_one_token_is_an_m_d_1_queue(load):
    """Mean wait rho / (2 (1 - rho)) of the service time (Pollaczek and Khinchine)."""
    requests = poisson(20_000, load, Lengths(1, 1, limit=1), seed=2)
    run = serve(requests, Units(), rows=1)
    waits = np.array(run.latencies) - 1
    assert waits.mean() == pytest.approx(load / (2 * (1 - load)), rel=0.06)
    assert (waits < 1e-9).mean() == pytest.approx(1 - load, abs=0.01)  # who finds nobody


@pytest.mark.parametrize("load", [0.5, 0.97, 1.3])
def test_one_row_follows_lindleys_recursion(load):
    """W' = max(0, W + S - gap), for each request by itself, below and above full load."""
    requests = poisson(2_000, load, Lengths(3, 1, limit=9), seed=5)
    run = serve(requests, Units(1.0), rows=1)
    wait = 0.0
    for place, one in enumerate(run.served):
        assert one.latency - 1 == pytest.approx(wait, abs=1e-6)
        if place + 1 < len(requests):
            wait = max(0.0, wait + 1 - (requests[place + 1].arrival - requests[place].arrival))


def test_geometric_outputs_in_fixed_batches_waste_what_theory_says():
    """The longest of n exponential lengths is H_n means long, so 1 - 1 / H_n is wasted."""
    requests = bursts(16 * 250, 16 * 250, 0.0, Lengths(1, 40, limit=10_000), seed=4)
    run = serve_in_batches(requests, Units(), rows=16)
    harmonic = sum(1 / k for k in range(1, 17))
    assert run.wasted / run.computed == pytest.approx(1 - 1 / harmonic, abs=0.02)


def test_equal_inputs_give_equal_runs():
    requests = poisson(60, 0.3, Lengths(4, 9, limit=40), seed=8)
    assert serve(requests, Units(), 4, Paged(30, 4)) == serve(requests, Units(), 4, Paged(30, 4))


def test_external_fragmentation_is_counted():
    """Ranges of 5, 4 and 5 slots; the outer two leave, and a range of 7 does not fit into 10."""
    rows = [(0, 2, 1), (0, 1, 4), (0, 2, 1), (1, 4, 1)]
    cache = Contiguous(14, limit=4)
    run = serve(trace(rows), Units(), 4, cache)
    assert cache.torn == 3  # before the second, third and fourth step
    assert [one.tokens[0] for one in run.served] == [1, 1, 1, 5]
    assert serve(trace(rows), Units(), 4, Paged(7, 2)).served[3].tokens[0] == 2


def never_free(cache):
    """A cache with a range of somebody who will not leave."""
    cache.ranges.append((0, 8, -1))
    return cache


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: serve([], Units(), 4), "there is no request"),
        (lambda: serve_in_batches([], Units(), 4), "there is no request"),
        (lambda: serve(trace([(0, 1, 1)]), Units(), 0), "Serving: rows is a whole number"),
        (lambda: serve(trace([(0, 1, 1)]), Units(), 2.5), "Serving: rows is a whole number"),
        (
            lambda: serve(trace([(0, 1, 1), (0, 30, 9)]), Units(), 4, Paged(4, 8)),
            "request 1 needs 5 blocks for its 38 tokens, and the whole cache has 4",
        ),
        (
            lambda: serve(trace([(0, 30, 3)]), Units(), 4, Contiguous(38, 10)),
            "request 0 needs a range of 39 slots, and the whole cache has 38",
        ),
        (
            lambda: serve(trace([(0, 3, 11)]), Units(), 4, Contiguous(99, 10)),
            "request 0 asks for 11 tokens, and the limit is 10",
        ),
        (
            lambda: serve([Request(2.0, 1, 1), Request(1.0, 1, 1)], Units(), 4),
            "request 1 arrives before request 0",
        ),
        (
            lambda: serve_in_batches(trace([(0, 1, 1)]), Units(), 4, Paged(4, 8)),
            "give it a Contiguous cache",
        ),
        (lambda: serve([(0, 1, 1)], Units(), 4), "(0, 1, 1) is no Request"),
        (
            lambda: serve(trace([(0, 1, 1)]), Units(), 4, Paged(4, 8, lambda *queue: 0)),
            "1 wait, no request runs, and none may join",
        ),
        (
            lambda: serve_in_batches(trace([(0, 1, 1)]), Units(), 4, never_free(Contiguous(9, 5))),
            "1 wait, no request runs, and none may join",
        ),
        (
            lambda: serve(trace([(0, 1, 1)]), Units(), 4, Paged(4, 8, lambda *queue: 2)),
            "Paged: 2 cannot join; it is a number from 0 to 1",
        ),
        (lambda: Paged(0, 8), "Paged: blocks"),
        (lambda: Paged(8, -1), "Paged: size"),
        (lambda: Contiguous(0, 8), "Contiguous: slots"),
        (lambda: Contiguous(8, 0), "Contiguous: limit"),
    ],
)
def test_nonsense_gets_a_sentence(call, words):
    with pytest.raises(ValueError) as refused:
        call()
    assert words in str(refused.value) and str(refused.value).endswith(".")
