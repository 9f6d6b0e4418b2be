"""Who may begin a step: the rules against their words, and their texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server import Asynchronous, Bounded, Synchronous, rule_of

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=5)


@given(COUNTS, st.integers(0, 4))
def test_bounded(finished, bound):
    for worker, own in enumerate(finished):
        ahead = [own - other for other in finished]
        assert Bounded(bound).may_begin(worker, finished) == all(a <= bound for a in ahead)


@given(COUNTS)
def test_synchronous_and_asynchronous(finished):
    for worker, own in enumerate(finished):
        someone_is_missing = any(other < own for other in finished)
        assert Synchronous().may_begin(worker, finished) == (not someone_is_missing)
        assert Asynchronous().may_begin(worker, finished)


@given(COUNTS, st.sampled_from([Synchronous(), Asynchronous(), Bounded(0), Bounded(3)]))
def test_the_slowest_may_always_begin(finished, rule):
    assert rule.may_begin(finished.index(min(finished)), finished)


@pytest.mark.parametrize("rule", [Synchronous(), Asynchronous(), Bounded(0), Bounded(12)])
def test_a_rule_as_text_and_back(rule):
    assert rule_of(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "fast", "bounded", "bounded:", "bounded:-1", "bounded:x"])
def test_a_text_that_is_no_rule(text):
    with pytest.raises(ValueError, match="A rule is sync, async or bounded:S"):
        rule_of(text)


@pytest.mark.parametrize("bound", [-1, 1.5, True, None, "3"])
def test_a_bound_that_is_none(bound):
    with pytest.raises(ValueError, match="the bound is a whole number from 0 on, not"):
        Bounded(bound)


def test_only_the_synchronous_rule_applies_means():
    assert [rule.together for rule in (Synchronous(), Asynchronous(), Bounded(0))] == [1, 0, 0]
    assert Synchronous().most_staleness(4) == 0 and Asynchronous().most_staleness(4) is None
