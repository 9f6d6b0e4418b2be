"""Arrivals and lengths: what is stated of them holds, and nonsense gets a sentence."""

import math

import numpy as np
import pytest

from labkit_lessons.distributed.serving.simulation import Lengths, Request, bursts, poisson, trace

LENGTHS = Lengths(200, 50, limit=1000)


def test_poisson_has_the_rate_and_gaps_that_are_exponential():
    requests = poisson(20_000, 4.0, LENGTHS, seed=3)
    gaps = np.diff([request.arrival for request in requests])
    assert gaps.mean() == pytest.approx(1 / 4, rel=0.03)
    for times in (0.5, 1, 2, 4):  # P(gap > t) = exp(-rate t)
        assert (gaps > times / 4).mean() == pytest.approx(math.exp(-times), abs=0.01)


def test_lengths_are_geometric_up_to_the_limit():
    requests = poisson(20_000, 1.0, LENGTHS, seed=1)
    prompts = np.array([request.prompt for request in requests])
    outputs = np.array([request.output for request in requests])
    assert outputs.mean() == pytest.approx(50, rel=0.03) and outputs.min() == 1
    for tokens in (20, 50, 100):  # P(length > n) = (1 - 1 / mean)^n
        assert (outputs > tokens).mean() == pytest.approx((1 - 1 / 50) ** tokens, abs=0.01)
    assert prompts.max() == 1000 and (prompts == 1000).mean() == pytest.approx(
        (1 - 1 / 200) ** 999, abs=0.003
    )


def test_a_higher_load_is_the_same_trace_in_less_time():
    slow = poisson(50, 2.0, LENGTHS, seed=5)
    fast = poisson(50, 8.0, LENGTHS, seed=5)
    for one, other in zip(slow, fast, strict=True):
        assert one.arrival == pytest.approx(4 * other.arrival)
        assert (one.prompt, one.output) == (other.prompt, other.output)
    assert slow != poisson(50, 2.0, LENGTHS, seed=6) and slow == poisson(50, 2.0, LENGTHS, seed=5)


def test_bursts_come_together():
    arrivals = [request.arrival for request in bursts(7, 3, 2.5, LENGTHS, seed=0)]
    assert arrivals == [0, 0, 0, 2.5, 2.5, 2.5, 5]


def test_a_trace_is_taken_as_it_is():
    assert trace([(0.0, 2, 3), (0.0, 1, 1)]) == [Request(0.0, 2, 3), Request(0.0, 1, 1)]
    assert Request(0.0, 2, 3).cached == 4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: poisson(5, 0, LENGTHS, 0), "rate is a number of requests per second above 0"),
        (lambda: poisson(5, math.nan, LENGTHS, 0), "above 0, not nan"),
        (lambda: poisson(5, math.inf, LENGTHS, 0), "above 0, not inf"),
        (lambda: poisson(5, -1, LENGTHS, 0), "above 0, not -1"),
        (lambda: poisson(5, "4", LENGTHS, 0), "above 0, not '4'"),
        (lambda: poisson(0, 1, LENGTHS, 0), "poisson: count is a whole number of requests"),
        (lambda: bursts(5, 0, 1, LENGTHS, 0), "bursts: size"),
        (lambda: bursts(5, 2, -1, LENGTHS, 0), "the gap is 0 s or more"),
        (lambda: bursts(5, 2, math.nan, LENGTHS, 0), "the gap is 0 s or more"),
        (lambda: Request(-1.0, 1, 1), "arrival is a time from 0 s on"),
        (lambda: Request(math.nan, 1, 1), "arrival is a time from 0 s on"),
        (lambda: Request(0.0, -3, 1), "prompt is a whole number of tokens from 1 on, not -3"),
        (lambda: Request(0.0, 3, 0), "output is a whole number of tokens from 1 on, not 0"),
        (lambda: Request(0.0, 3, 1.5), "output is a whole number"),
        (lambda: Request(0.0, True, 1), "prompt is a whole number"),
        (lambda: Lengths(0.5, 2, 9), "the mean prompt is from 1 token on"),
        (lambda: Lengths(2, math.nan, 9), "the mean output is from 1 token on"),
        (lambda: Lengths(2, 2, 0), "Lengths: limit"),
        (lambda: trace([]), "there is no request; give at least one"),
        (lambda: trace([(1.0, 1, 1), (0.5, 1, 1)]), "request 1 arrives before request 0"),
    ],
)
def test_nonsense_gets_a_sentence(make, words):
    with pytest.raises(ValueError) as refused:
        make()
    assert words in str(refused.value) and str(refused.value).endswith(".")
