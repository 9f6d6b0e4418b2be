"""The roles of a cluster together: heard, killed and interrupted, with roles made up here."""

import os
from collections import deque
from multiprocessing import Pipe
from types import SimpleNamespace

import pytest

from labkit.distributed import LaunchError
from labkit.distributed.parameter_server.processes import role_process
from labkit.distributed.parameter_server.processes.role_group import RoleGroup
from labkit.distributed.parameter_server.processes.role_process import RoleProcess
from labkit.distributed.parameter_server.processes.roles import Reply, RoleSpec
from labkit.distributed.parameter_server.training import Training

WORKER = RoleSpec("worker", 0, b"a secret of 16 b")


class Chatterer:
    """A role that prints without a pause: its output always has more."""

    def __init__(self):
        self.spec, self.name, self.died = WORKER, WORKER.name, None
        self.answers = deque()
        self.output, self.lifeline = Pipe(duplex=False)
        os.write(self.lifeline.fileno(), b"more and more")
        self.ended = False

    @property
    def sources(self):
        return [self.output]

    def take(self, source):
        """It has printed more meanwhile."""

    def take_words(self):
        """Nothing of it is told."""
        return []

    def tell(self, order):
        """It does not listen."""

    def close(self):
        self.ended = True
        self.output.close()


@pytest.fixture
def role_group():
    role_group = RoleGroup()
    role_group.roles["worker 0"] = Chatterer()
    yield role_group
    role_group.end()


def training_of(role_group, limit):
    given = SimpleNamespace(addresses=["127.0.0.1:4000"], copies=[None], timeout=1.0)
    training = Training(role_group, given, "version 1: weight[5]", WORKER.secret, None, limit)
    training.go("worker 0")
    return training


def test_a_role_that_prints_without_a_pause_is_heard_for_a_time(role_group):
    assert role_group.hear(lambda: False, 0.1) is False
    assert role_group.hear(lambda: True, 0.0) is True


def test_a_training_ends_whose_worker_prints_without_a_pause(role_group):
    role = role_group.roles["worker 0"]
    with pytest.raises(LaunchError, match=r"Worker 0 did not end within 0\.1 s, and were ended"):
        training_of(role_group, 0.1).finish()
    assert role.ended


def test_of_what_a_role_prints_the_first_part_is_kept(monkeypatch, capsys):
    monkeypatch.setattr(role_process, "MOST_PRINTED", 11)
    output, there = Pipe(duplex=False)
    role = RoleProcess(WORKER, process=None, talk=None, output=output, lifeline=None)
    for words in (b"one\n", b"two\nthree", b" and more"):
        os.write(there.fileno(), words)
        role.take(output)
    role_group = SimpleNamespace(roles={"worker 0": role})
    RoleGroup.show_output(role_group)
    told = ["one", "two", "thr", "... and 11 bytes more, which were left out."]
    assert capsys.readouterr().out.splitlines() == [f"[worker 0] {line}" for line in told]
    os.write(there.fileno(), b"four")
    role.take(output)
    RoleGroup.show_output(role_group)
    assert capsys.readouterr().out == "[worker 0] four\n"
    there.close()
    output.close()


@pytest.mark.parametrize("call", [Training.applied, Training.finish, lambda one: one.until(3)])
def test_an_interrupt_ends_all_wherever_it_comes(role_group, monkeypatch, call):
    training, role = training_of(role_group, 1.0), role_group.roles["worker 0"]

    def interrupt(*request, **options):
        raise KeyboardInterrupt

    for link in training._links:
        monkeypatch.setattr(link, "ask", interrupt)
    monkeypatch.setattr(role, "take", interrupt)
    with pytest.raises(KeyboardInterrupt, match="All roles were ended; the next training"):
        call(training)
    assert role.ended


def test_what_a_role_has_said_before_it_was_killed_is_kept():
    talk, there = Pipe()
    for value in (3, 7):
        there.send(Reply(value))
    there.close()
    process = SimpleNamespace(kill=lambda: None, join=lambda: None, exitcode=-9)
    role = RoleProcess(WORKER, process, talk, output=None, lifeline=None)
    role.kill()
    assert [said.value for said in role.answers] == [3, 7] and role.died == -9
    talk.close()
