"""The worker's loop, with a client and a clock that the test owns."""

import pytest
import torch

from labkit.distributed.parameter_server import worker as module
from labkit.distributed.parameter_server.client import Weights


class Clock:
    """`time` for the worker: only its sleep and the client's waiting let time pass."""

    def __init__(self, oversleeps=0.0):
        self.now = 0.0
        self.oversleeps = oversleeps

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds + self.oversleeps


class Scripted:
    """A client whose pulls take and are held as planned: (seconds of messages, seconds held)."""

    worker = 1

    def __init__(self, clock, plan):
        self.clock, self.plan = clock, list(plan)
        self.pushed = []

    def pull(self):
        if not self.plan:
            return None
        messages, held = self.plan.pop(0)
        self.clock.now += messages + held
        return Weights(torch.zeros(2), len(self.pushed), (0,), held)

    def push(self, weights, gradient, loss, samples):
        self.pushed.append((weights.step, gradient.tolist(), loss, samples, self.clock.now))
        return True


class Job:
    def gradient(self, flat, worker, step, workers):
        return 0.5, torch.full((2,), float(worker + step)), 10 * workers


def moments(monkeypatch, plan, seconds, clock=None):
    clock = clock or Clock()
    monkeypatch.setattr(module, "time", clock)
    client = Scripted(clock, plan)
    assert module.work(client, Job(), 4, seconds) == len(plan)
    return [push[-1] for push in client.pushed], client


def test_each_step_is_pulled_computed_and_pushed(monkeypatch):
    _, client = moments(monkeypatch, [(0, 0)] * 3, 0.0)
    assert [push[:4] for push in client.pushed] == [
        (step, [step + 1.0] * 2, 0.5, 40) for step in range(3)
    ]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ([(0, 0)] * 3, [1, 2, 3]),
        ([(0.2, 0)] * 3, [1, 2, 3]),  # messages are a part of the step
        ([(0, 0), (0, 5), (0, 0)], [1, 7, 8]),  # waiting for others is not
        ([(0, 0), (1.5, 0), (0, 0)], [1, 2.5, 3.5]),  # late: it computes no faster than at once
    ],
)
def test_when_an_emulated_machine_pushes(monkeypatch, plan, expected):
    found, _ = moments(monkeypatch, plan, 1.0)
    assert found == pytest.approx(expected)


def test_a_machine_that_wakes_late_does_not_fall_behind(monkeypatch):
    found, _ = moments(monkeypatch, [(0, 0)] * 50, 1.0, Clock(oversleeps=0.1))
    assert found == pytest.approx([step + 1.1 for step in range(50)])
