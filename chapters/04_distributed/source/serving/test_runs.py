"""Figures of a run against NumPy and against an example that is worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit_lessons.distributed.serving.server.requests import Request
from labkit_lessons.distributed.serving.server.runs import Served
from labkit_lessons.distributed.serving.simulation import (
    Contiguous,
    Paged,
    Units,
    percentile,
    serve,
    serve_in_batches,
    trace,
)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 100))
def test_percentiles_are_nearest_ranks(values, percent):
    """By the definition: the smallest value that at least `percent` % do not exceed."""
    expected = min(
        value
        for value in values
        if 100 * sum(one <= value for one in values) >= percent * len(values)
    )
    assert percentile(values, percent) == expected


@pytest.mark.parametrize("percent", [50, 95, 99, 100])
def test_numpy_agrees(percent):
    values = np.random.default_rng(0).normal(size=321).tolist()
    assert percentile(values, percent) == np.percentile(values, percent, method="inverted_cdf")


@pytest.mark.parametrize("percent", [0, 101, 2.5, True, "50"])
def test_other_percents_get_a_sentence(percent):
    with pytest.raises(ValueError, match="from 1 to 100"):
        percentile([1.0], percent)
    with pytest.raises(ValueError, match="there are no values"):
        percentile([], 50)


def test_a_small_run_by_hand():
    """Row 0: request 0 in steps 1 to 3. Row 1: request 1 in step 2, which it joined at 1."""
    rows = [(0, 2, 3), (1, 3, 1)]
    run = serve(trace(rows), Units(), 2, Paged(4, 2))
    assert [one.tokens for one in run.served] == [(1, 2, 3), (2,)]
    assert run.latencies == [3, 1] and run.to_first_token == [1, 1] and run.per_token == [1]
    assert run.seconds == 3 and run.output_tokens == 4 and run.tokens_per_second == 4 / 3
    assert run.median_to_first_token == run.median_per_token == 1
    assert run.prefilled_tokens == 5 and run.preemptions == 0
    # Held 2, 3 + 3, 4 of reserved 2, 4 + 4, 4.
    assert run.held_share == (2 + 6 + 4) / (2 + 8 + 4)
    in_one_piece = serve(trace(rows), Units(), 2, Contiguous(99, limit=10))
    assert in_one_piece.held_share == (2 + 6 + 4) / (11 + 23 + 11)


def test_what_is_computed_again_is_counted():
    rows = [(0, 4, 5), (0, 4, 5)]
    run = serve(trace(rows), Units(), 2, Paged(3, 4))
    assert [one.preemptions for one in run.served] == [0, 1]
    assert run.served[0].tokens == (1, 2, 3, 4, 5)
    # Request 1 had one token when it was thrown out, and comes back with 4 + 1.
    assert run.prefilled_tokens == 4 + 4 + 5 and run.served[1].tokens == (1, 6, 7, 8, 9)


def test_the_rate_in_the_middle():
    """Twenty requests of 3 tokens in 4 rows: 4 of them are done in each 3 units."""
    run = serve(trace([(0, 1, 3)] * 20), Units(), 4)
    assert run.requests_per_second == 12 / 9
    assert [step.begin for step in run.middle_steps] == [*range(3, 12)]
    assert run.mean_requests == 4 and run.mean_step == 1
    few = serve(trace([(0, 1, 3)] * 9), Units(), 4)
    with pytest.raises(ValueError, match="at least 10 requests"):
        _ = few.requests_per_second


def test_the_mean_in_the_middle_counts_unfinished_requests_alone():
    """Ten pairs of 1 and 3 tokens in fixed batches of two: 2, 1 and 1 of them are unfinished."""
    run = serve_in_batches(trace([(0, 1, 1), (0, 1, 3)] * 10), Units(2.0), 2)
    in_threes = [2, 1, 1] * 6
    # From when 4 of 20 are done, at the end of step 6, until 16 are, at the end of step 24.
    assert len(run.middle_steps) == len(in_threes)
    assert run.mean_requests == np.mean(in_threes) and run.mean_step == 2


def test_a_single_token_has_no_time_between_tokens():
    assert Served(Request(0.0, 1, 1), (2.0,), 0).per_token is None
