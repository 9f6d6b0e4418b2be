"""The wait for gloo's threads: none to wait for, one at work, one that ends, no /proc."""

import pytest

from labkit.distributed.launching import carriers


@pytest.fixture
def threads(tmp_path, monkeypatch):
    """A folder in place of /proc/self/task, and the sleeps so far; thread 7 carries, 8 does not."""
    sleeps = []
    monkeypatch.setattr(carriers, "THREADS", tmp_path)
    monkeypatch.setattr(carriers.time, "sleep", sleeps.append)
    describe(tmp_path, 7, "pt_gloo_runloop", "S")
    describe(tmp_path, 8, "python", "R")
    return tmp_path, sleeps


def describe(folder, number, name, state):
    (folder / str(number)).mkdir(exist_ok=True)
    (folder / str(number) / "comm").write_text(name + "\n")
    (folder / str(number) / "stat").write_text(f"{number} ({name}) {state} 1 1 0\n")


def test_a_sleeping_carrier_is_looked_at_more_than_once(threads):
    carriers.let_go()
    assert len(threads[1]) == carriers.LOOKS


def test_a_carrier_at_work_is_waited_for(threads, monkeypatch):
    folder, sleeps = threads
    states = iter("SRRSRSSS")

    def sleep(seconds):
        sleeps.append(seconds)
        describe(folder, 7, "pt_gloo_runloop", next(states))

    monkeypatch.setattr(carriers.time, "sleep", sleep)
    carriers.let_go()
    assert len(sleeps) == 8
    assert all(seconds > 0 for seconds in sleeps)


def test_a_carrier_that_has_ended_is_not_waited_for(threads, monkeypatch):
    folder, sleeps = threads
    describe(folder, 7, "pt_gloo_runloop", "R")

    def sleep(seconds):
        sleeps.append(seconds)
        (folder / "7" / "stat").unlink(missing_ok=True)

    monkeypatch.setattr(carriers.time, "sleep", sleep)
    carriers.let_go()
    assert len(sleeps) == carriers.LOOKS


def test_nothing_is_waited_for_without_carriers_or_without_proc(threads, monkeypatch):
    folder, sleeps = threads
    describe(folder, 7, "a (strange) name", "R")
    carriers.let_go()
    monkeypatch.setattr(carriers, "THREADS", folder / "none")
    carriers.let_go()
    assert sleeps == []
