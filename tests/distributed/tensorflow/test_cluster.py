"""TensorFlow's parameter servers as six processes: counts, faults, sentences, and nothing left."""

import json
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch

from labkit.distributed import LaunchError
from labkit.distributed.links import hosts
from labkit.distributed.parameter_server import problem
from labkit.distributed.small_training import photographs
from labkit.distributed.tensorflow.claims import (
    NAMES,
    ONE_SCRIPT,
    first_failure,
    names_today,
    one_script,
    with_old_api,
)
from labkit.distributed.tensorflow.cluster import TfCluster, find_program
from labkit.distributed.tensorflow.config import TfConfigError
from labkit.distributed.tensorflow.own_configs import written
from labkit.distributed.tensorflow.trials import try_program, with_free_ports

ENOUGH = 600.0
WITHIN = 1e-6  # float32 holds weights near 0.1 to 7e-9, and each step rounds once or twice
needs_hosts = pytest.mark.skipif(not hosts.available(), reason=str(hosts.missing()))


@pytest.fixture(scope="module")
def cluster():
    """One for all tests: two servers, three workers, and a coordinator for each run."""
    with TfCluster(servers=2, workers=3) as processes:
        yield processes


def plain_sgd(steps, rate, size):
    """Losses and weights of one process: w <- w - rate * gradient, by PyTorch's own layers."""
    model = problem.network()
    images, labels = photographs()
    losses = []
    for step in range(steps):
        places = problem.batch(0, step, size, 1)
        loss = torch.nn.functional.cross_entropy(model(images[places]), labels[places])
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight -= rate * weight.grad
        losses.append(loss.item())
    return losses, problem.flat_weights(model)


def alive(pid):
    """Whether a process runs; one that has ended and waits to be fetched does not."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False


def pids(cluster):
    return list(cluster.pids.values())


@pytest.mark.night(instead="chapters/04_distributed/7_faults.ipynb")
def test_steps_are_applied_once_while_nobody_dies(cluster):
    run = cluster.run(steps=90, rate=0.05, batch=8)
    assert (run.steps, run.scheduled, run.applied) == (90, 90, 90)
    assert (run.resumed_at, run.saved, run.twice, run.error, run.lost) == (0, 0, [], "", [])
    assert run.times == [1] * 90
    assert len(run.losses) == 90
    assert sum(run.losses[-30:]) < sum(run.losses[:30])
    # Whole variables are dealt in turn: both matrices to one server, both biases to the other.
    assert run.on_servers == [768 * 32 + 32 * 10, 32 + 10]
    assert len(run.weights) == 24_938
    assert run.seconds > 0
    assert len(cluster.names) + 1 == 6
    assert cluster.memory() < 5 << 30


def test_the_first_gradients_of_both_frameworks_agree(cluster):
    run = cluster.run(steps=1, rate=1.0, batch=32)
    images, labels = photographs()
    start = problem.flat_weights(problem.network())
    places = problem.batch(0, 0, 32, 1)
    loss, slope = problem.gradient(start, images[places], labels[places])
    assert abs(run.losses[0] - loss) < WITHIN
    assert float(slope.abs().max()) > 0.01
    assert float((start - torch.tensor(run.weights) - slope).abs().max()) < WITHIN


def test_a_worker_killed_between_update_and_answer_makes_one_update_too_many(cluster):
    cluster.begin(steps=300, pause_at=140)
    name = cluster.paused(ENOUGH)
    assert name.startswith("worker ")
    before = pids(cluster)
    cluster.kill(name)
    assert cluster.code(name) == -9
    cluster.restart(name)
    run = cluster.finish(ENOUGH)
    assert run.scheduled == 300
    assert run.applied == 301
    assert run.twice == [140], "the step that it had applied, and not yet told of"
    assert min(run.times) == 1, "none is lost"
    assert cluster.code(name) is None, "it is back"
    assert len(set(pids(cluster)) - set(before)) == 1


@pytest.mark.night(
    instead="tests/distributed/tensorflow/test_cluster.py::test_a_worker_killed_between_update_and_answer_makes_one_update_too_many"
)
def test_a_worker_killed_at_any_moment_loses_no_step(cluster):
    cluster.begin(steps=120, pause_at=40)
    paused = cluster.paused(ENOUGH)
    other = next(name for name in cluster.names if name.startswith("worker") and name != paused)
    cluster.kill(other)
    cluster.restart(other)
    cluster.release()
    run = cluster.finish(ENOUGH)
    assert run.scheduled == 120
    assert 120 <= run.applied <= 121, "it had one step in its hands, or none"
    assert min(run.times) == 1


@pytest.mark.night(
    instead="tests/distributed/tensorflow/test_cluster.py::"
    "test_a_worker_killed_between_update_and_answer_makes_one_update_too_many"
)
def test_a_server_that_dies_ends_the_run_and_a_checkpoint_is_taken_up(cluster):
    options = {"steps": 200, "checkpoint": "saved", "save_every": 80}
    cluster.begin(**options, pause_at=159)  # the last one before the second save
    cluster.paused(ENOUGH)
    cluster.kill("server 0")
    cluster.release()
    died = cluster.finish(ENOUGH)
    assert died.error == "UnavailableError"
    assert died.dead_servers == [0]
    assert re.search(r"UNAVAILABLE|[Cc]onnect", died.reason)
    assert died.weights is None
    assert died.saved == 80
    assert died.times == [1] * 160 + [0] * 40
    assert died.lost == list(range(80, 160))
    cluster.restart("server 0")
    run = cluster.run(**options)
    assert (run.resumed_at, run.scheduled, run.saved) == (80, 120, 160)
    assert run.error == "", "nobody takes the server that is back for gone"
    assert run.times == [1] * 200
    assert len(run.weights) == 24_938
    again = cluster.run(**options)
    assert (again.resumed_at, again.scheduled) == (160, 40)


ORDER = """\
import contextlib
import sys
import unittest.mock

import tensorflow as tf

sys.argv = ["train_tf_ps", "--pause-at", "3"]
sys.path.insert(0, {folder!r})
import train_tf_ps

NUMBER = tf.TensorSpec([], tf.int32)
CHOSEN = tf.TensorSpec([16], tf.int64)


def before(op):
    found, waiting = set(), [op]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return found


def updates_before_count(training):
    graph = training.step_function().get_concrete_function(NUMBER, CHOSEN).graph
    updates = [op for op in graph.get_operations() if op.type == "AssignSubVariableOp"]
    (count,) = [op for op in graph.get_operations() if op.type == "ResourceScatterAdd"]
    return len(updates), len(before(count) & set(updates))


training = train_tf_ps.Training(train_tf_ps.command_line())
print(*updates_before_count(training))
with unittest.mock.patch("tensorflow.control_dependencies", lambda _: contextlib.nullcontext()):
    print(*updates_before_count(training))
"""


@pytest.mark.night(instead="chapters/04_distributed/7_faults.ipynb")
def test_a_step_is_counted_after_all_of_its_updates(cluster):
    """In the graph of a step, the count waits for both matrices and both biases."""
    tried = try_program(cluster, ORDER.format(folder=str(find_program().parent)))
    assert tried.error == ""
    demanded, left_out = re.findall(r"^\d+ \d+$", tried.printed, re.MULTILINE)
    assert demanded == "4 4"
    assert left_out == "4 0", "without the order that the program demands"


@pytest.mark.night(instead="chapters/04_distributed/7_faults.ipynb")
def test_printed_programs_of_early_tensorflow(cluster):
    told = first_failure(cluster)
    assert told.startswith("AttributeError: module ")
    assert told.endswith("has no attribute 'Server'")
    assert with_old_api(cluster) == "the weight is 0.99"  # 1 - 0.8 ** 20
    places = [[True, True], *[[False, True]] * 3]
    assert list(names_today(cluster).items()) == list(zip(NAMES, places, strict=True))
    waiting = one_script(cluster)
    assert (waiting.line, waiting.text) == (7, "server.join()")
    assert waiting.printed == ["the parameter server has begun"]
    without = with_free_ports(ONE_SCRIPT.replace("server.join()", ""))
    said = try_program(cluster, without).printed.splitlines()
    begun = [words for words in said if words.endswith("has begun")]
    assert begun == ["the parameter server has begun", "the worker has begun"]


@pytest.mark.night(
    instead="tests/distributed/tensorflow/test_cluster.py::test_what_is_wrong_with_a_process_is_told"
)
def test_a_program_that_fails_is_told(cluster):
    tried = try_program(cluster, "x = 1\nprint('hello')\nraise OSError('no disk')\n")
    assert tried.printed.startswith("hello\nTraceback")
    assert tried.error == "OSError: no disk"
    assert tried.line is None
    assert try_program(cluster, "print('well')").error == ""
    tried = try_program(cluster, "import time\n\ntime.sleep(1000)", until=lambda: True)
    assert (tried.printed, tried.line, tried.error) == ("", 3, "")


def test_what_is_wrong_with_a_run_is_told(cluster):
    with pytest.raises(LaunchError, match=r"steps is 0; it has to be at least 1\.$"):
        cluster.run(steps=0)
    with pytest.raises(LaunchError, match="unrecognized arguments: --colour blue"):
        cluster.run(colour="blue")
    with pytest.raises(LaunchError, match=r"worker paused within .* s\. coordinator said: 3 step"):
        cluster.begin(steps=3)
        cluster.paused(ENOUGH)


def test_what_is_wrong_with_a_process_is_told(cluster):
    there = "server 0, server 1, worker 0, worker 1, worker 2"
    for order in (cluster.kill, cluster.restart, cluster.log, cluster.where):
        with pytest.raises(LaunchError, match=f"no process 'worker 3'; it has {there}"):
            order("worker 3")
    with pytest.raises(LaunchError, match="server 1 is running: kill it before"):
        cluster.restart("server 1")
    cluster.begin(steps=5, pause_at=2)
    cluster.paused(ENOUGH)
    with pytest.raises(LaunchError, match="under way: call finish"):
        cluster.begin(steps=5)
    with pytest.raises(LaunchError, match=r"not end within 0\.1 s, and was ended. All servers"):
        cluster.finish(0.1)
    assert cluster.run(steps=5, pause_at=-1).times == [1] * 5, "nobody is paused any more"


def test_a_worker_that_is_not_there_is_named_with_its_address(cluster):
    cluster.kill("worker 2")
    with pytest.raises(LaunchError) as error:
        cluster.run(steps=5, patience=1)
    address = json.loads(cluster.configs["worker 2"])["cluster"]["worker"][2]
    assert f"No answer within 1 s from worker 2 at {address} (connection refused)" in str(
        error.value
    )
    cluster.restart("worker 2")
    assert cluster.run(steps=5).applied == 5


def test_nothing_is_left_of_a_cluster_that_has_ended(cluster):
    """The last test with the cluster of all."""
    folder = cluster.folder
    before = set(Path(tempfile.gettempdir()).glob("*autograph*"))
    ids = [cluster._agents[0].process.pid, *pids(cluster)]
    cluster.begin(steps=1000, pause_at=5)
    cluster.paused(ENOUGH)
    ids += pids(cluster)
    assert list(folder.glob("temporary-here/*autograph*")), "TensorFlow writes temporary files"
    cluster.end()
    assert set(Path(tempfile.gettempdir()).glob("*autograph*")) <= before
    assert not any(alive(pid) for pid in ids)
    assert not folder.exists()
    with pytest.raises(LaunchError, match="it has none: it has ended"):
        cluster.kill("worker 0")
    cluster.end()


@pytest.fixture(scope="module")
def one_worker():
    """A run of one worker, on two hosts where there can be two; addresses, and bytes between."""
    with ExitStack() as stack:
        pair = stack.enter_context(hosts.two_hosts(125e6)) if hosts.available() else ()
        cluster = stack.enter_context(TfCluster(servers=2, workers=1, hosts=pair))
        run = cluster.run(steps=60, rate=0.1, batch=16)
        addresses = json.loads(cluster.configs["server 1"])["cluster"]
        return run, addresses, [(host.address, host.sent()) for host in pair]


@pytest.mark.night(instead="chapters/04_distributed/7_faults.ipynb")
def test_one_worker_is_plain_sgd(one_worker):
    run, _, _ = one_worker
    losses, weights = plain_sgd(60, 0.1, 16)
    assert run.times == [1] * 60
    assert np.abs(np.array(run.losses) - losses).max() < WITHIN
    assert np.abs(np.array(run.weights) - weights.numpy()).max() < WITHIN
    moved = (weights - problem.flat_weights(problem.network())).abs().max()
    assert float(moved) > 0.05, "the steps are large against what is compared"


@pytest.mark.night(
    instead="tests/distributed/links/test_switched_hosts.py::test_the_trials_run_on_hosts"
)
@needs_hosts
def test_the_servers_were_on_two_hosts(one_worker):
    run, addresses, crossed = one_worker
    places = [address.split(":")[0] for address in addresses["ps"]]
    assert places == [address for address, _ in crossed]
    # The biases come from the second host to the worker, and their gradients go back.
    assert min(sent for _, sent in crossed) > 60 * 4 * run.on_servers[1]


def test_numbers_that_make_no_cluster():
    with pytest.raises(LaunchError, match="servers is a whole number from 1 on, not 0"):
        TfCluster(servers=0)
    with pytest.raises(LaunchError, match=r"workers is a whole number from 1 on, not 1\.5"):
        TfCluster(workers=1.5)
    with pytest.raises(LaunchError, match="2 servers, 4 workers and the coordinator are 7 proc"):
        TfCluster(workers=4)


def no_turn():
    """Stands for the turn that a cluster waits for, where none is to be made."""
    raise AssertionError("nothing begins with a wrong TF_CONFIG")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (lambda *_: "here", "TF_CONFIG is no JSON"),
        (lambda hosts, ports, servers, number: written(hosts, ports, servers, 0), "is for chief 0"),
    ],
)
def test_a_tf_config_of_the_learner_is_read_before_anything_starts(monkeypatch, config, told):
    monkeypatch.setattr("labkit.distributed.tensorflow.processes.Turn", no_turn)
    with pytest.raises(TfConfigError, match=told):
        TfCluster(config=config)
