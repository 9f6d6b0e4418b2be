"""A server's part of the weights: against plain descent, and under every order of arrivals."""

import random
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server import (
    Asynchronous,
    Bounded,
    Photographs,
    ServerError,
    Synchronous,
)
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.shard import Shard

ENOUGH = 300.0  # seconds: only ends a hang


def shard_of(rule, workers=3, size=5, **options):
    return Shard(torch.zeros(size), rule, workers, 0.5, **options)


def slope(worker, step, size=5):
    seed = torch.Generator().manual_seed(100 * worker + step)
    return torch.randn(size, generator=seed)


def free(shard, worker):
    """Whether a pull of this worker would be granted at once."""
    return shard.rule.may_begin(worker, shard.finished)


def simulate(shard, steps, choices):
    """Real pulls and pushes in a random order; where the rule lets nobody go, it is a deadlock."""
    pulled = {}
    while min(shard.finished) < steps:
        able = [w for w in range(shard.workers) if w in pulled]
        able += [
            w
            for w in range(shard.workers)
            if w not in pulled and shard.finished[w] < steps and free(shard, w)
        ]
        assert able, "everybody waits"
        worker = choices.choice(able)
        if worker in pulled:
            got = pulled.pop(worker)
            shard.push(worker, got.step, got.version, slope(worker, got.step))
        else:
            pulled[worker] = shard.pull(worker, patience=ENOUGH)


@given(st.randoms(use_true_random=False), st.integers(0, 3), st.integers(1, 4))
def test_no_order_of_arrivals_exceeds_the_bound(choices, bound, workers):
    shard = shard_of(Bounded(bound), workers)
    simulate(shard, 6, choices)
    assert max(note.lead for note in shard.notes) <= bound
    assert max(note.staleness for note in shard.notes) <= shard.rule.most_staleness(workers)
    assert shard.version == len(shard.notes) == 6 * workers


def test_the_limit_of_the_staleness_is_reached():
    """Two workers, bound 2: one begins 2 steps ahead, and the other makes 5 meanwhile."""
    shard = shard_of(Bounded(2), workers=2)

    def steps(worker, count):
        for _ in range(count):
            got = shard.pull(worker)
            shard.push(worker, got.step, got.version, torch.zeros(5))

    steps(0, 2)
    got = shard.pull(0)
    steps(1, 5)
    with pytest.raises(ServerError, match="worker 0 has not pushed the gradient of step 2"):
        shard.pull(1, patience=0.01)
    shard.push(0, got.step, got.version, torch.zeros(5))
    assert shard.notes[-1].staleness == 5 == Bounded(2).most_staleness(2)
    assert shard.notes[-1].lead == 2


@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_synchronous_is_one_big_batch(choices, workers):
    shard = shard_of(Synchronous(), workers)
    simulate(shard, 4, choices)
    means = [torch.stack([slope(w, step) for w in range(workers)]).mean(0) for step in range(4)]
    assert (shard.values + 0.5 * sum(means)).abs().max() < 1e-6
    assert shard.version == 4 and {note.staleness for note in shard.notes} == {0}


def test_staleness_is_the_number_of_updates_between_pull_and_push():
    shard = shard_of(Asynchronous())
    early = shard.pull(0)
    for _ in range(4):
        got = shard.pull(1)
        shard.push(1, got.step, got.version, slope(1, got.step))
    shard.push(0, early.step, early.version, slope(0, 0))
    assert [note.staleness for note in shard.notes] == [0, 0, 0, 0, 4]
    assert [note.lead for note in shard.notes] == [0, 1, 2, 3, 0]


@pytest.mark.parametrize(("once", "applied"), [(True, 1), (False, 2)])
def test_a_push_that_comes_again(once, applied):
    shard = shard_of(Asynchronous(), once=once)
    got = shard.pull(0)
    for _ in range(2):
        assert shard.push(0, 0, got.version, torch.ones(5)) == 1
    assert (len(shard.notes), shard.version, shard.repeated) == (applied, applied, 1)
    assert torch.equal(shard.values, torch.full((5,), -0.5 * applied))
    assert shard.finished == [1, 0, 0]


def test_what_was_not_begun_here_is_left_out():
    shard = shard_of(Asynchronous())
    assert shard.push(0, 0, 0, torch.ones(5)) == 0
    shard.pull(0)
    assert shard.push(0, 0, 7, torch.ones(5)) == 0  # a version of the future
    assert shard.push(0, 3, 0, torch.ones(5)) == 0
    assert not shard.notes and torch.equal(shard.values, torch.zeros(5))


def test_who_is_missing_is_told():
    shard = shard_of(Synchronous())
    for worker in (0, 2):
        got = shard.pull(worker)
        shard.push(worker, got.step, got.version, torch.ones(5))
    with pytest.raises(ServerError, match=r"Worker 2 has waited .* to begin step 1 by the rule"):
        shard.pull(2, patience=0.01)
    with pytest.raises(ServerError, match=r"worker 1 has not pushed the gradient of step 0\."):
        shard.pull(0, patience=0.01)


def test_a_pull_waits_until_the_slowest_has_pushed():
    shard = shard_of(Synchronous(), workers=2)
    for worker in range(2):
        shard.pull(worker)
    shard.push(0, 0, 0, torch.ones(5))
    found = []
    waiting = threading.Thread(target=lambda: found.append(shard.pull(0, ENOUGH)))
    waiting.start()
    assert not found
    shard.push(1, 0, 0, 3 * torch.ones(5))
    waiting.join(ENOUGH)
    assert found[0].version == 1 and torch.equal(found[0].values, torch.full((5,), -1.0))


def test_a_worker_that_died_gets_its_step_again():
    shard = shard_of(Asynchronous(), limit=Limit(steps=2))
    assert shard.pull(0).step == 0
    assert shard.pull(0).step == 0
    assert shard.pull(1).step == 0
    assert shard.pull(2) is None


def test_no_step_is_granted_beyond_the_limit():
    shard = shard_of(Asynchronous(), limit=Limit(steps=4))
    held = shard.pull(0)
    for step in range(3):
        got = shard.pull(1)
        shard.push(1, step, got.version, torch.ones(5))
    assert shard.pull(1) is None and shard.pull(2) is None
    shard.push(0, held.step, held.version, torch.ones(5))
    assert len(shard.notes) == 4


def test_a_replayed_order_is_kept_whoever_comes_first():
    order = [(1, "pull"), (0, "pull"), (0, "push"), (1, "push"), (0, "pull"), (0, "push")]
    shard = shard_of(Asynchronous(), workers=2, order=order)

    def work(worker):
        while got := shard.pull(worker, ENOUGH):
            shard.push(worker, got.step, got.version, slope(worker, got.step))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ENOUGH)
    assert [(note.worker, note.step) for note in shard.notes] == [(0, 0), (1, 0), (0, 1)]
    assert [note.staleness for note in shard.notes] == [0, 1, 0]


def test_an_event_that_does_not_come_is_told():
    shard = shard_of(Asynchronous(), order=[(0, "pull"), (1, "pull"), (2, "pull")])
    with pytest.raises(ServerError, match="event 0 of 3, the pull of worker 0, is missing"):
        shard.pull(1, patience=0.01)


def test_an_order_against_the_rule_is_refused():
    order = [(0, "pull"), (0, "push"), (0, "pull")]
    shard = shard_of(Bounded(0), workers=2, order=order)
    got = shard.pull(0)
    shard.push(0, 0, got.version, torch.ones(5))
    with pytest.raises(ServerError, match="worker 0 begins step 1 when the rule bounded:0 forbids"):
        shard.pull(0)


@given(st.randoms(use_true_random=False), st.sampled_from([Synchronous(), Bounded(1)]))
def test_a_state_goes_on_as_if_nothing_had_happened(choices, rule):
    whole, first, second = (shard_of(rule) for _ in range(3))
    again = random.Random(choices.random())
    state = again.getstate()
    simulate(whole, 6, again)
    again.setstate(state)
    simulate(first, 3, again)
    second.load_state(*first.state())
    assert torch.equal(first.values, second.values) and first.notes == second.notes
    simulate(second, 6, again)
    if rule.together:
        assert torch.equal(whole.values, second.values)
    assert len(second.notes) == 18


def test_a_kept_gradient_is_in_the_state():
    first, second = shard_of(Synchronous(), workers=2), shard_of(Synchronous(), workers=2)
    for worker in range(2):
        first.pull(worker)
    first.push(0, 0, 0, torch.ones(5))
    second.load_state(*first.state())
    second.push(1, 0, 0, 3 * torch.ones(5))
    assert torch.equal(second.values, torch.full((5,), -1.0)) and second.finished == [1, 1]


def test_a_copy_that_follows_has_the_same_values():
    copy = shard_of(Asynchronous())
    shard = shard_of(Asynchronous(), forward=copy.follow)
    simulate(shard, 4, random.Random(0))
    assert torch.equal(shard.values, copy.values) and copy.finished == shard.finished
    assert [note.staleness for note in copy.notes] == [note.staleness for note in shard.notes]


def test_a_replayed_push_stands_where_the_copy_could_not_be_told():
    silent = ["once"]

    def forward(push):
        if silent:
            raise ServerError(f"The copy is silent {silent.pop()}.")

    order = [(0, "pull"), (0, "push"), (0, "pull")]
    shard = shard_of(Asynchronous(), workers=1, order=order, forward=forward)
    got = shard.pull(0)
    with pytest.raises(ServerError, match="silent once"):
        shard.push(0, 0, got.version, torch.ones(5))
    assert shard.push(0, 0, got.version, torch.ones(5), patience=0.01) == 1
    assert len(shard.notes) == 1 and shard.pull(0, patience=0.01).step == 1


def test_bad_input():
    shard = shard_of(Asynchronous())
    with pytest.raises(ValueError, match="no worker 3: this training has workers 0 to 2"):
        shard.pull(3)
    with pytest.raises(ValueError, match="whole number, not 'one'"):
        shard.pull("one")
    shard.pull(0)
    with pytest.raises(ValueError, match=r"shape \[4\] and torch\.float32 was pushed"):
        shard.push(0, 0, 0, torch.ones(4))
    with pytest.raises(ValueError, match=r"torch\.float64 was pushed"):
        shard.push(0, 0, 0, torch.ones(5).double())
    with pytest.raises(ValueError, match="state is of 4 weights and 3 workers"):
        shard.load_state(*Shard(torch.zeros(4), Asynchronous(), 3, 0.1).state())
    with pytest.raises(ValueError, match="each gradient counts once"):
        shard_of(Synchronous(), once=False)
    with pytest.raises(ValueError, match="Event 1 of the order is a worker from 0 to 2"):
        shard_of(Asynchronous(), order=[(0, "pull"), (3, "push")])
    assert Photographs().start().shape == (24938,)


@pytest.mark.parametrize(("rule", "rate"), [(Asynchronous(), 10.0), (Synchronous(), 1.0)])
def test_an_update_that_would_overflow_is_refused_and_nothing_is_half_done(rule, rate):
    """Each number of the gradient is finite; a rate of 10, or the sum of two, makes it infinite."""
    told = []
    shard = Shard(torch.zeros(5), rule, workers=2, rate=rate, forward=told.append)
    for worker in range(2):
        shard.pull(worker)
    if rule.together:
        shard.push(1, 0, 0, torch.full((5,), 3e38))
    gradient = torch.ones(5)
    gradient[2] = 3e38
    for _ in range(2):
        with pytest.raises(ValueError, match=r"step 0 by worker 0.* would make weights infinite"):
            shard.push(0, 0, 0, gradient)
        assert torch.equal(shard.values, torch.zeros(5)) and shard.version == 0
        assert not shard.notes and shard.finished[0] == 0 and len(told) == rule.together
    if not rule.together:
        assert shard.push(0, 0, 0, torch.ones(5)) == 1, "the step can be pushed as it should be"


def test_a_gradient_that_is_too_large_keeps_no_other_worker_out():
    shard = Shard(torch.zeros(5), Synchronous(), workers=2, rate=10.0)
    for worker in range(2):
        shard.pull(worker)
    with pytest.raises(ValueError, match="step 0 by worker 1 would make weights infinite"):
        shard.push(1, 0, 0, torch.full((5,), 3e38))
    for worker in range(2):
        shard.push(worker, 0, 0, torch.ones(5))
    assert torch.equal(shard.values, torch.full((5,), -10.0))
