"""Servers and workers as real processes: what they compute, and what happens when they die."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

from labkit.distributed import LaunchError
from labkit.distributed.one_big_batch import forward_backward
from labkit.distributed.parameter_server import (
    Asynchronous,
    Bounded,
    Client,
    Cluster,
    Photographs,
    ServerError,
    Synchronous,
    problem,
)
from labkit.distributed.small_training import photographs
from tests.distributed.parameter_server.toy_jobs import Exits, Hangs, Locked, Raises, Sum
from tests.night import others_by_night

HERE = "tests/distributed/parameter_server/processes/test_cluster.py::test"
ENOUGH = 300.0  # seconds: only ends a hang
RATE = 0.1
SLOW = (0.01, 0.01, 0.04)  # seconds of a step of each worker
RULES = [Synchronous(), Asynchronous(), Bounded(1)]
JOB = Photographs(batch=4)


@pytest.fixture(scope="module")
def cluster():
    """Two servers and three workers, for all tests that kill nobody."""
    with Cluster(servers=2, workers=3, timeout=ENOUGH) as found:
        yield found


def plain_descent(steps, size):
    """The weights after so many steps of torch's SGD with the whole batch, in this process."""
    images, labels = photographs()
    model = nn.Sequential(nn.Flatten(), nn.Linear(768, 32), nn.ReLU(), nn.Linear(32, 10))
    nn.utils.vector_to_parameters(JOB.start(), model.parameters())
    optimiser = torch.optim.SGD(model.parameters(), RATE)
    for step in range(steps):
        places = problem.batch(0, step, size, 1)
        forward_backward(model, images[places], labels[places])
        optimiser.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


@contextmanager
def busy(processes=3):
    """A machine with more to do than it has cores."""
    endless = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in endless:
            process.kill()
            process.wait()


def is_running(process):
    """Whether a process is there and is no zombie."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(processes):
    """Whether all of them end within a time that only ends a hang."""
    end = time.monotonic() + ENOUGH
    while any(is_running(process) for process in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


# What is computed


FULL = others_by_night([(1, 3), (1, 1), (2, 4)], f"{HERE}_full_synchrony_is_one_big_batch")


@pytest.mark.parametrize(("servers", "workers"), FULL)
def test_full_synchrony_is_one_big_batch(servers, workers):
    with Cluster(servers, workers, timeout=ENOUGH) as cluster:
        run = cluster.train(JOB, Synchronous(), steps=10 * workers, rate=RATE)
    assert (run.weights - plain_descent(10, 4 * workers)).abs().max() < 1e-6
    assert (run.pushes, run.updates, run.repeated) == (10 * workers, 10, 0)
    assert set(run.staleness) == set(run.leads) == {0}


def test_one_worker_is_plain_descent_by_any_rule():
    oracle = plain_descent(10, 4)
    with Cluster(2, 1, timeout=ENOUGH) as cluster:
        for rule in (Synchronous(), Asynchronous(), Bounded(0)):
            run = cluster.train(JOB, rule, steps=10, rate=RATE)
            assert (run.weights - oracle).abs().max() < 1e-6
            assert run.pushes == run.updates == 10 and set(run.staleness) == {0}


REPLAYED = others_by_night(
    RULES, f"{HERE}_a_replayed_order_gives_the_same_bits_also_on_a_busy_machine"
)


@pytest.mark.parametrize("rule", REPLAYED, ids=str)
def test_a_replayed_order_gives_the_same_bits_also_on_a_busy_machine(cluster, rule):
    def train(seed):
        return cluster.train(JOB, rule, steps=30, seconds=SLOW, rate=RATE, replay_seed=seed)

    first = train(0)
    with busy():
        again = train(0)
    assert torch.equal(first.weights, again.weights) and first.losses == again.losses
    assert first.workers == again.workers and first.staleness == again.staleness
    assert first.moments == again.moments and first.moments == tuple(sorted(first.moments))
    other = train(1)
    assert rule.together or other.losses != first.losses


def test_servers_agree_on_a_replayed_order(cluster):
    run = cluster.train(JOB, Asynchronous(), steps=30, seconds=SLOW, replay_seed=0)
    first, second = ([(n.worker, n.step, n.staleness) for n in log] for log in run.logs)
    assert first == second


def test_events_can_be_written_out(cluster):
    order = [(2, "pull"), (0, "pull"), (0, "push"), (1, "pull"), (1, "push"), (2, "push")]
    run = cluster.train(Sum(), Asynchronous(), order=order, rate=1.0)
    assert run.workers == (0, 1, 2) and run.staleness == (0, 0, 2)
    assert run.weights.tolist() == [111.0] * 5


@pytest.mark.parametrize("bound", [0, 2])
def test_a_free_run_never_exceeds_the_bound(cluster, bound):
    run = cluster.train(Sum(), Bounded(bound), steps=120, seconds=(0, 0, 0.002))
    for log in run.logs:
        assert max(note.lead for note in log) <= bound
        assert max(note.staleness for note in log) <= Bounded(bound).most_staleness(3)
    assert run.pushes == 120


def test_a_free_run_applies_exactly_what_was_asked_for(cluster):
    run = cluster.train(Sum(), Asynchronous(), steps=101, rate=1.0)
    assert [len(log) for log in run.logs] == [101, 101] and run.repeated == 0
    expected = sum(10.0**worker for worker in run.workers)
    assert run.weights.tolist() == [expected] * 5  # what the log says was applied, was applied
    assert run.samples == tuple(range(1, 102))


def test_a_training_in_seconds(cluster):
    """No machine makes more than 0.2 / 0.01 steps and those that it had begun."""
    run = cluster.train(Sum(), Asynchronous(), duration=0.2, seconds=(0.01,) * 3)
    assert 1 <= run.pushes <= 3 * 22 and [len(log) for log in run.logs] == [run.pushes] * 2


def test_in_seconds_a_synchronous_training_ends_with_a_whole_step(cluster):
    training = cluster.begin(Sum(), Synchronous(), duration=0.2, seconds=(0, 0, 0.01), rate=1.0)
    run = training.finish()
    assert run.pushes == 3 * run.updates == training.acknowledged


# Workers that die


def test_counts_are_of_what_was_applied_not_of_what_was_planned():
    """Worker 2 dies in its first step: that one step is missing, and nothing else."""
    with Cluster(2, 3, timeout=ENOUGH) as cluster:
        training = cluster.begin(Sum(), Asynchronous(), 60, seconds=(0, 0, ENOUGH), rate=1.0)
        training.until(20)
        cluster.kill("worker 2")
        run = training.finish()
    assert run.pushes == 59 and [len(log) for log in run.logs] == [59, 59]
    assert set(run.workers) == {0, 1}
    assert run.weights.tolist() == [run.workers.count(0) + 10.0 * run.workers.count(1)] * 5


BACK = others_by_night(RULES, f"{HERE}_a_worker_comes_back_and_goes_on_with_its_step")


@pytest.mark.parametrize("rule", BACK, ids=str)
def test_a_worker_comes_back_and_goes_on_with_its_step(rule):
    with Cluster(2, 3, timeout=ENOUGH) as cluster:
        training = cluster.begin(JOB, rule, 90, seconds=(0.002,) * 3, rate=RATE)
        training.until(30)
        cluster.kill("worker 1")
        cluster.restart("worker 1")
        run = training.finish()
        assert cluster.train(Sum(), rule, steps=9).pushes == 9  # the cluster is whole again
    own = [step for worker, step in zip(run.workers, run.steps, strict=True) if worker == 1]
    assert own == list(range(len(own))), "no step is missing, none is there twice"
    assert [len(log) for log in run.logs] == [90, 90]
    if rule.together:
        assert (run.weights - plain_descent(30, 12)).abs().max() < 1e-6


def test_a_missing_gradient_ends_a_synchronous_training():
    with Cluster(2, 3, timeout=3.0) as cluster:
        processes = cluster.processes
        training = cluster.begin(Sum(), Synchronous(), 3000, seconds=(0.01,) * 3)
        training.until(9)
        cluster.kill("worker 1")
        with pytest.raises(LaunchError) as caught:
            training.finish()
        said = str(caught.value)
        assert re.search(r"worker 1 has not pushed the gradient of step \d+", said)
        assert "by the rule sync" in said and "Worker 1 had been killed." in said
        assert "Traceback" not in said and gone(processes.values())


# Servers that die


def test_a_server_goes_on_from_its_checkpoint(tmp_path):
    with Cluster(2, 2, timeout=ENOUGH) as cluster:
        training = cluster.begin(JOB, Asynchronous(), 120, seconds=(0.002,) * 2)
        training.until(30)
        saved = cluster.save("server 1", tmp_path / "one")
        training.until(saved + 20)
        cluster.kill("server 1")
        cluster.restart("server 1", checkpoint=tmp_path / "one")
        run = training.finish()
    for log in run.logs:
        assert len({(note.worker, note.step) for note in log}) == len(log) == 120
    assert run.repeated >= 20, "what the other server had was made again"


def test_a_server_that_stays_dead_ends_the_training():
    with Cluster(2, 2, timeout=1.0) as cluster:
        processes = cluster.processes
        training = cluster.begin(Sum(), Asynchronous(), 5000, seconds=(0.005,) * 2)
        training.until(10)
        cluster.kill("server 1")
        with pytest.raises(LaunchError) as caught:
            training.finish()
        said = str(caught.value)
        assert f"server {cluster.addresses[1]} did not answer" in said and "waited 1 s" in said
        assert "Server 1 had been killed." in said and gone(processes.values())


# Bad input


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0, 2), "servers is a whole number from 1 on, not 0"),
        ((1, 0), "workers is a whole number from 1 on, not 0"),
        ((1, True), "workers is a whole number from 1 on, not True"),
        ((2, 5), r"at most 6 processes together, and 2 \+ 5 are more"),
        ((1, 1, -1), "timeout is a number of seconds above 0, not -1"),
    ],
)
def test_what_is_no_cluster(numbers, said):
    with pytest.raises(LaunchError, match=said):
        Cluster(*numbers)


def test_roles_that_do_not_exist(cluster):
    for call in (cluster.kill, cluster.restart, lambda name: cluster.save(name, "file")):
        with pytest.raises(LaunchError, match="There is no role 'worker 7'; there are server 0, s"):
            call("worker 7")
    with pytest.raises(LaunchError, match="worker 0 runs: kill it first"):
        cluster.restart("worker 0")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": 100}, "steps is a multiple of the 3 workers"),
        ({}, "give one of the two"),
        ({"steps": 3, "duration": 1.0}, "give one of the two"),
        ({"steps": 3, "seconds": (1, 2)}, "a number from 0 on for each of the 3 workers"),
        ({"steps": 3, "seconds": (1, 2, -1)}, "a number from 0 on for each of the 3 workers"),
    ],
)
def test_what_is_no_training(cluster, given, said):
    with pytest.raises((LaunchError, ValueError), match=said):
        cluster.train(Sum(), Synchronous(), **given)
    assert cluster.train(Sum(), Synchronous(), steps=3).pushes == 3


def test_a_job_that_cannot_be_sent(cluster):
    with pytest.raises(LaunchError, match="The job of type Locked cannot be sent to other proces"):
        cluster.train(Locked(), Synchronous(), steps=3)


def test_two_trainings_at_once(cluster):
    training = cluster.begin(Sum(), Asynchronous(), steps=3)
    with pytest.raises(LaunchError, match="A training goes on: finish it before"):
        cluster.begin(Sum(), Asynchronous(), steps=3)
    training.finish()


def test_strangers_during_a_training(cluster):
    training = cluster.begin(Sum(), Asynchronous(), steps=200, seconds=(0.001,) * 3)
    training.until(10)
    address = cluster.addresses[0]
    with socket.socket(socket.AF_UNIX) as stranger:  # another program of the same user
        stranger.connect(address)
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ServerError, match="brings another version of the model, v2"):
        Client([address], 0, "v2", cluster.secret, ENOUGH)
    assert training.finish().pushes == 200


def test_a_dead_role_is_not_killed_again_nor_forgotten():
    with Cluster(1, 2, timeout=ENOUGH) as cluster:
        cluster.kill("worker 1")
        with pytest.raises(LaunchError, match="worker 1 is dead already"):
            cluster.kill("worker 1")
        with pytest.raises(LaunchError, match="worker 1 must be restarted before a training"):
            cluster.train(Sum(), Asynchronous(), steps=3)
        cluster.restart("worker 1")
        assert cluster.train(Sum(), Asynchronous(), steps=3).pushes == 3
    cluster.end()
    with pytest.raises(LaunchError, match="This cluster has ended: make a new one"):
        cluster.train(Sum(), Asynchronous(), steps=3)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (Raises(), r"Worker 1 raised ZeroDivisionError: on purpose\n\nTraceback of worker 1"),
        (Exits(), r"Worker 0 ended by itself with exit code 3"),
        (Hangs(), r"(Worker 0, w|W)orker 1 did not end within 2 s"),  # 0 where it starts late
    ],
    ids=["raises", "exits", "hangs"],
)
def test_a_job_that_fails_ends_all_roles(job, said, capfd):
    cluster = Cluster(1, 2, timeout=ENOUGH)
    processes = cluster.processes
    limit = 2 if isinstance(job, Hangs) else ENOUGH
    with pytest.raises(LaunchError, match=said):
        cluster.train(job, Bounded(3), steps=20, seconds=(0.005,) * 2, limit=limit)
    assert gone(processes.values()) and not cluster.processes
    with pytest.raises(LaunchError, match="All roles have ended: only a training starts them"):
        cluster.kill("worker 1")
    assert cluster.train(Sum(), Asynchronous(), steps=4).pushes == 4, "with new roles"
    cluster.end()
    if isinstance(job, Raises):
        assert "[worker 1] one line before" in capfd.readouterr().out


# The end


def test_processes_are_gone_at_the_end_and_after_an_exception():
    with Cluster(1, 1, timeout=ENOUGH) as cluster:
        processes = list(cluster.processes.values())
        assert len(processes) == 2 and all(is_running(process) for process in processes)
    assert gone(processes)
    with pytest.raises(KeyError), Cluster(1, 1, timeout=ENOUGH) as cluster:
        processes = list(cluster.processes.values())
        raise KeyError
    assert gone(processes)
    cluster = Cluster(1, 1, timeout=ENOUGH)
    processes = list(cluster.processes.values())
    del cluster
    assert gone(processes)


def test_processes_are_gone_after_an_interrupt():
    with Cluster(1, 2, timeout=ENOUGH) as cluster:
        processes = list(cluster.processes.values())
        training = cluster.begin(Sum(), Asynchronous(), duration=500, seconds=(0.01, 0.01))
        training.until(5)
        stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # some start with another
        stop.start()
        with pytest.raises(KeyboardInterrupt, match="All roles were ended"):
            training.finish()
        stop.join()
        signal.signal(signal.SIGINT, before)
        assert gone(processes)
        assert cluster.train(Sum(), Asynchronous(), steps=4).pushes == 4, "with new roles"


NOTEBOOK = """
import sys, time
from labkit.distributed.parameter_server import Asynchronous, Cluster
from tests.distributed.parameter_server.toy_jobs import Sum
cluster = Cluster(1, 2)
training = cluster.begin(Sum(), Asynchronous(), duration=500, seconds=(0.01, 0.01))
print(*cluster.processes.values(), *cluster.addresses, flush=True)
if sys.argv[1] == "waits":
    time.sleep(500)
"""


@pytest.mark.night(
    instead="tests/distributed/test_launch.py::"
    "test_an_interrupted_cell_and_a_lost_notebook_leave_no_process"
)
def test_processes_are_gone_with_the_notebook_s():
    """One ends by itself with its roles at work, and one is killed."""
    words = [sys.executable, "-c", NOTEBOOK]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    notebooks = [
        subprocess.Popen([*words, how], stdout=subprocess.PIPE, text=True, env=there)
        for how in ("ends", "waits")
    ]
    watch = threading.Timer(ENOUGH, lambda: [notebook.kill() for notebook in notebooks])
    watch.start()
    words = [book.stdout.readline().split() for book in notebooks]
    processes = [int(one) for line in words for one in line[:3]]
    files = [Path(line[3]) for line in words]
    was_there = files[1].is_socket()
    os.kill(notebooks[1].pid, signal.SIGKILL)
    assert was_there and notebooks[0].wait() == 0 and notebooks[1].wait() == -signal.SIGKILL
    watch.cancel()
    assert gone(processes)
    assert not any(file.parent.exists() for file in files)
    for notebook in notebooks:
        notebook.stdout.close()
