"""The formulas of throughput against arrivals in virtual time, which share no code with them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server import arrivals
from labkit_lessons.distributed.parameter_servers import throughput
from labkit_lessons.distributed.parameter_servers.throughput import (
    asynchronous,
    bounded,
    synchronous,
)

STRAGGLER = [0.010, 0.010, 0.010, 0.040]


class Within:
    def __init__(self, bound):
        self.bound = bound

    def may_begin(self, worker, finished):
        return finished[worker] - min(finished) <= self.bound


def counted(seconds, bound, duration):
    """Gradients that arrive within the duration, in virtual time and without jitter."""
    enough = 10 + sum(math.ceil(duration / one) + 1 for one in seconds)
    order = arrivals.arrival_order(seconds, enough, Within(bound), jitter=0)
    assert order.events[-1].moment > duration, "the simulation covers the duration"
    return order.pushed(by=duration + 1e-9)


def test_by_hand():
    assert synchronous(STRAGGLER) == pytest.approx(100)
    assert asynchronous(STRAGGLER) == pytest.approx(325)
    assert bounded(STRAGGLER, 5) == pytest.approx(100)
    # In 2 s: 50 of the slow one; 199 // 4 = 49 more than the 6 that each fast one may be ahead.
    assert bounded(STRAGGLER, 5, 2.0) == pytest.approx((50 + 3 * (49 + 6)) / 2.0)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=5),
    st.integers(0, 8),
    st.integers(1, 400),
)
def test_the_bounded_count_is_that_of_the_simulation(milliseconds, bound, duration):
    seconds = [one / 1000 for one in milliseconds]
    found = bounded(seconds, bound, duration / 1000) * duration / 1000
    assert round(found) == counted(seconds, bound, duration / 1000)


@given(st.lists(st.integers(5, 50), min_size=1, max_size=5))
def test_the_two_other_rates_are_those_of_the_simulation(milliseconds):
    seconds = [one / 1000 for one in milliseconds]
    free = counted(seconds, math.inf, 4.0) / 4.0
    assert free == pytest.approx(asynchronous(seconds), abs=len(seconds) / 4.0)
    lockstep = counted(seconds, 0, 4.0) / 4.0
    assert lockstep == pytest.approx(synchronous(seconds), abs=len(seconds) / 4.0)


def test_a_bound_pays_only_at_first():
    rates = [bounded(STRAGGLER, 5, duration) for duration in (0.07, 0.4, 4.0, 400.0)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == pytest.approx(asynchronous(STRAGGLER), rel=0.05)
    assert rates[-1] == pytest.approx(synchronous(STRAGGLER), rel=0.001)


def test_no_bound_matters_where_no_worker_is_slow():
    equal = [0.01] * 4
    for bound in (0, 5):
        assert bounded(equal, bound) == pytest.approx(asynchronous(equal))


def test_formula_and_simulation_share_no_code():
    for module, other in ((throughput, "arrivals"), (arrivals, "throughput")):
        assert not any(
            other in str(getattr(value, "__module__", "")) for value in vars(module).values()
        )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: synchronous([]), "a number above 0 for each worker"),
        (lambda: asynchronous([0.1, -1]), "a number above 0 for each worker"),
        (lambda: bounded([0.1], -1), "bound is a whole number from 0 on, not -1"),
        (lambda: bounded([0.1], 0.5), "bound is a whole number from 0 on, not 0.5"),
        (lambda: bounded([0.1], 1, 0), "duration is a number of seconds above 0, not 0"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
