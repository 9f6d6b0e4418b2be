"""Arrivals in virtual time keep the rule they are given, and repeat with the seed."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server.arrivals import JITTER, Event, arrival_order


@dataclass(frozen=True)
class Within:
    """At most `bound` steps ahead of the slowest."""

    bound: float

    def may_begin(self, worker, finished):
        return finished[worker] - min(finished) <= self.bound


class Never:
    def __repr__(self):
        return "Never()"

    def may_begin(self, worker, finished):
        return False


FREE = Within(float("inf"))
LOCKSTEP = Within(0)

some_seconds = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=5)
some_bounds = st.sampled_from([0, 1, 2, 5, float("inf")])


@given(some_seconds, st.integers(1, 40), some_bounds, st.integers(0, 9))
def test_every_step_is_a_pull_and_later_its_push_and_keeps_the_rule(seconds, steps, bound, seed):
    arrivals = arrival_order(seconds, steps, Within(bound), seed)
    finished = [0] * len(seconds)
    computing = {}
    before = 0.0
    for event in arrivals.events:
        assert event.moment >= before
        before = event.moment
        if event.kind == "pull":
            assert event.worker not in computing
            assert finished[event.worker] - min(finished) <= bound
            computing[event.worker] = event.moment
        else:
            took = event.moment - computing.pop(event.worker)
            own = seconds[event.worker]
            assert (1 - JITTER) * own - 2e-9 <= took <= (1 + JITTER) * own + 2e-9
            finished[event.worker] += 1
    assert sum(finished) == steps
    assert not computing


@given(some_seconds, some_bounds)
def test_nobody_waits_who_may_begin(seconds, bound):
    """Each worker pulls at its own push, or at another's push that the rule waited for."""
    arrivals = arrival_order(seconds, 30, Within(bound), 1)
    finished = [0] * len(seconds)
    ready = dict.fromkeys(range(len(seconds)), 0.0)  # since when the rule lets each begin
    begun = 0
    for event in arrivals.events:
        if event.kind == "pull":
            assert event.moment == ready.pop(event.worker)
            begun += 1
            continue
        finished[event.worker] += 1
        computing = {one.worker for one in _computing(arrivals.events, event)}
        for worker in range(len(seconds)):
            if worker not in computing and finished[worker] - min(finished) <= bound:
                ready.setdefault(worker, event.moment)


def _computing(events, until):
    """The pulls up to an event whose pushes are yet to come."""
    pulled = {}
    for event in events:
        if event.kind == "pull":
            pulled[event.worker] = event
        else:
            pulled.pop(event.worker)
        if event is until:
            return pulled.values()
    raise AssertionError("no such event")


def test_by_hand():
    """10 and 25 ms, at most one step ahead, without jitter."""
    arrivals = arrival_order([0.010, 0.025], 7, Within(1), jitter=0)
    assert arrivals.pushes == [
        Event(0.010, 0, "push"),
        Event(0.020, 0, "push"),
        Event(0.025, 1, "push"),  # here worker 0 may begin its third step
        Event(0.035, 0, "push"),
        Event(0.050, 1, "push"),
        Event(0.060, 0, "push"),
        Event(0.075, 1, "push"),
    ]
    pulls = [event.moment for event in arrivals.events if event.kind == "pull"]
    assert pulls == [0, 0, 0.010, 0.025, 0.025, 0.050, 0.050]
    pulled, pushed = arrivals.moments()
    assert list(pulled) == [0, 0.010, 0, 0.025, 0.025, 0.050, 0.050]
    assert list(pushed) == [event.moment for event in arrivals.pushes]
    assert [arrivals.pushed(by) for by in (0.0, 0.02, 0.0499, 0.05, 1)] == [0, 2, 4, 5, 7]


def test_the_order_comes_from_the_seed():
    one, again, other = (arrival_order([0.01] * 4, 200, FREE, seed) for seed in (3, 3, 4))
    assert one == again
    assert one.requests != other.requests


def test_equal_moments_come_in_no_fixed_order():
    """Without jitter, four equal workers end at the same moments: no worker is always first."""
    arrivals = arrival_order([0.01] * 4, 400, LOCKSTEP, jitter=0)
    pushes = arrivals.pushes
    firsts = Counter(pushes[begin].worker for begin in range(0, 400, 4))
    assert set(firsts) == {0, 1, 2, 3}
    assert {event.moment for event in pushes[:4]} == {0.01}
    assert pushes[-1].moment == 1.0  # nanoseconds: a hundred additions of 0.01 do not drift


def test_in_lockstep_nobody_pulls_before_all_have_pushed():
    requests = arrival_order([0.01, 0.01, 0.04], 30, LOCKSTEP, 5).requests
    for begin in range(0, 60, 6):
        kinds = [kind for _, kind in requests[begin : begin + 6]]
        assert kinds == ["pull"] * 3 + ["push"] * 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], 4, FREE), "a number above 0 for each worker"),
        (([0.1, 0.0], 4, FREE), "a number above 0 for each worker"),
        (([0.1, float("nan")], 4, FREE), "a number above 0 for each worker"),
        (([0.1], 0, FREE), "steps is a whole number from 1 on, not 0"),
        (([0.1], True, FREE), "steps is a whole number from 1 on, not True"),
        (([0.1], 4, FREE, 0, 1.0), "jitter is a share from 0 to below 1"),
        (([0.1], 4, Never()), "Never.. lets nobody begin after .0. steps"),
    ],
)
def test_what_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        arrival_order(*arguments)
