"""A replayed order, event by event."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server.protocol.turns import Turns

ORDER = [(0, "pull"), (1, "pull"), (1, "push"), (0, "push")]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["pull", "push"])), max_size=8))
def test_exactly_one_event_is_next(order):
    turns = Turns(order, workers=3)
    for place, event in enumerate(order):
        events = [(worker, kind) for worker in range(3) for kind in ("pull", "push")]
        assert [one for one in events if turns.is_next(*one)] == [event]
        for worker in range(3):
            assert turns.has_pull(worker) == ((worker, "pull") in order[place:])
        turns.take()
    assert turns.missing() == "all its events are over"


def test_what_all_wait_for():
    turns = Turns(ORDER, workers=2)
    turns.take()
    assert turns.missing() == "event 1 of 4, the pull of worker 1, is missing"


@pytest.mark.parametrize("event", [(2, "pull"), (0, "poll"), (-1, "push"), ("0", "push")])
def test_what_is_no_event(event):
    with pytest.raises(ValueError, match="Event 4 of the order is a worker from 0 to 1 with pull"):
        Turns([*ORDER, event], workers=2)
