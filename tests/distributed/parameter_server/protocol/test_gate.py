"""Whose turn it is, when a worker dies while its request waits, and when time is over."""

import threading
import time

import pytest

from labkit.distributed.parameter_server import Asynchronous, Bounded, ServerError, Synchronous
from labkit.distributed.parameter_server.protocol import gate
from labkit.distributed.parameter_server.protocol.limits import Limit

ENOUGH = 300.0  # seconds: only ends a hang


def enter(one, worker, patience=ENOUGH):
    with one.changed:
        return one.enter(worker, patience)


def leave(one, worker):
    with one.changed:
        one.leave(worker, one.finished[worker])


def step(one, worker):
    assert enter(one, worker)
    leave(one, worker)


def in_threads(count, call):
    """So many threads that have called it, and what they got: still empty where all wait."""
    got = []
    threads = [threading.Thread(target=lambda: got.append(call())) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, got


def joined(threads):
    for thread in threads:
        thread.join(ENOUGH)
        assert not thread.is_alive()


@pytest.mark.parametrize("requests", [1, 2, 3])
def test_requests_of_a_worker_that_died_while_they_waited_begin_one_step(requests):
    """Each time it came back it asked again; the threads of its former lives wait still."""
    one = gate.Gate(Bounded(0), workers=2)
    step(one, 0)
    threads, got = in_threads(requests, lambda: enter(one, 0))
    step(one, 1)
    joined(threads)
    assert got == [True] * requests and one.begun == [2, 1]


def test_a_replayed_pull_that_waits_twice_takes_one_turn():
    order = [(1, "pull"), (0, "pull"), (0, "push"), (1, "push")]
    one = gate.Gate(Asynchronous(), workers=2, order=order)
    threads, got = in_threads(2, lambda: enter(one, 0))
    assert enter(one, 1)
    joined(threads)
    assert got == [True, True] and one.begun == [1, 1]
    with one.changed:
        assert one.admit_push(0, 0, ENOUGH)


def test_a_replayed_push_that_waits_twice_is_new_once():
    order = [(0, "pull"), (1, "pull"), (1, "push"), (0, "push")]
    one = gate.Gate(Asynchronous(), workers=2, order=order)
    assert enter(one, 0)

    def push(worker):
        with one.changed:
            new = one.admit_push(worker, 0, ENOUGH)
            one.leave(worker, 0)
            return new

    threads, got = in_threads(2, lambda: push(0))
    assert enter(one, 1) and push(1)
    joined(threads)
    assert sorted(got) == [False, True] and one.finished == [1, 1]


class Clock:
    """`time` for the gate, which the test sets."""

    now = 0.0

    def monotonic(self):
        return self.now


def test_no_step_begins_after_the_limit_in_seconds(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(gate, "time", clock)
    clock.now = 1000.0
    one = gate.Gate(Asynchronous(), workers=2, limit=Limit(seconds=5))
    step(one, 0)
    clock.now = 1004.9
    assert enter(one, 1)
    clock.now = 1005.0
    assert not enter(one, 0) and one.begun == [1, 1]
    assert enter(one, 1), "a step that was granted may be made again"


def test_what_all_make_together_all_begin():
    one = gate.Gate(Synchronous(), workers=2, limit=Limit(steps=1))
    assert enter(one, 0) and enter(one, 1)
    leave(one, 0)
    leave(one, 1)
    assert not enter(one, 0) and not enter(one, 1)


def test_a_turn_stands_where_the_copy_could_not_be_told():
    silent = ["once"]

    def announce(worker):
        if silent:
            raise ServerError(f"The copy is silent {silent.pop()}.")

    order = [(0, "pull"), (0, "push"), (0, "pull")]
    one = gate.Gate(Asynchronous(), workers=1, order=order, announce=announce)
    with pytest.raises(ServerError, match="silent once"):
        enter(one, 0)
    step(one, 0)
    assert enter(one, 0) and one.begun == [2]


def test_who_waits_when_the_time_is_over_waits_no_longer():
    """The slowest never comes; the training's seconds end the waiting, not patience."""
    one = gate.Gate(Bounded(0), workers=2, limit=Limit(seconds=0.2))
    step(one, 0)
    assert not enter(one, 0)


def test_patience_ends():
    one = gate.Gate(Bounded(1), workers=3)
    step(one, 0)
    step(one, 0)
    begin = time.monotonic()
    with pytest.raises(ServerError, match=r"worker 1 and worker 2 have not pushed the gradient of"):
        enter(one, 0, patience=0.1)
    assert time.monotonic() - begin >= 0.1


def test_the_clock_starts_with_the_first_pull_and_goes_on_in_another_process():
    one, other = gate.Gate(Asynchronous(), 1), gate.Gate(Asynchronous(), 1)
    assert one.state()["elapsed"] == 0.0
    step(one, 0)
    time.sleep(0.01)
    state = one.state()
    assert state["elapsed"] >= 0.01
    with other.changed:
        other.load_state(state)
    assert other.elapsed() >= state["elapsed"] and other.finished == [1]


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, None])
def test_a_number_of_workers_that_is_none(workers):
    with pytest.raises(ValueError, match="workers is a whole number from 1 on"):
        gate.Gate(Asynchronous(), workers)
