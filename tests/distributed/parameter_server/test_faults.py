"""Workers and servers die at a count, and nothing is lost but what is said."""

import pytest
import torch

from labkit.distributed import LaunchError
from labkit.distributed.parameter_server.checkpoint import CheckpointError, before
from labkit.distributed.parameter_server.faults import Fault, Saving, run_with_fault
from labkit.distributed.parameter_server.problem import Photographs
from labkit.distributed.parameter_server.processes.cluster import Cluster
from labkit.distributed.parameter_server.rules import Asynchronous, Bounded, Synchronous
from tests.night import others_by_night

HERE = "tests/distributed/parameter_server/test_faults.py::test"
STEPS = 60
JOB = Photographs(batch=4)


@pytest.fixture(scope="module")
def cluster():
    with Cluster(servers=2, workers=3, copies=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def undisturbed(cluster):
    """The run of each rule in which nothing happens."""
    rules = (Asynchronous(), Bounded(1), Synchronous())
    return {str(rule): cluster.train(JOB, rule, STEPS, replay_seed=1) for rule in rules}


def each_step_once(outcome):
    """Whether the log has every step of every worker, from 0 on, one time."""
    found = sorted((note.worker, note.step) for note in outcome.run.logs[0])
    counts = [sum(worker == one for worker, _ in found) for one in range(3)]
    return found == [(worker, step) for worker in range(3) for step in range(counts[worker])]


def same(run, other):
    """Whether all that they have computed is the same, bit by bit."""
    return (
        torch.equal(run.weights, other.weights)
        and run.losses == other.losses
        and run.staleness == other.staleness
    )


RULES = [Asynchronous(), Bounded(1), Synchronous()]


@pytest.mark.parametrize(
    "rule", others_by_night(RULES, f"{HERE}_a_worker_comes_back_and_goes_on_at_its_step"), ids=str
)
def test_a_worker_comes_back_and_goes_on_at_its_step(cluster, undisturbed, rule):
    before = cluster.processes
    outcome = run_with_fault(cluster, Fault("worker 1", 7), JOB, rule, STEPS, replay_seed=1)
    changed = {name for name, pid in cluster.processes.items() if pid != before[name]}
    assert changed == {"worker 1"}, "it has died, and nobody else"
    assert (outcome.applied, outcome.surplus, outcome.lost) == (STEPS, 0, 0)
    assert outcome.acknowledged == STEPS - 7, "what its first life was told, died with it"
    assert each_step_once(outcome)
    assert same(outcome.run, undisturbed[str(rule)])


def test_in_a_free_run_the_counts_are_the_same(cluster):
    fault = Fault("worker 1", 3)
    outcome = run_with_fault(cluster, fault, JOB, Asynchronous(), STEPS, seconds=[0.002] * 3)
    assert (outcome.applied, outcome.surplus, outcome.lost) == (STEPS, 0, 0)
    assert each_step_once(outcome)


@pytest.mark.parametrize(
    "rule", others_by_night(RULES, f"{HERE}_a_copy_goes_on_where_its_server_died"), ids=str
)
def test_a_copy_goes_on_where_its_server_died(cluster, undisturbed, rule):
    outcome = run_with_fault(cluster, Fault("server 0", 31), JOB, rule, STEPS, replay_seed=1)
    assert "server 0" not in cluster.processes
    cluster.restart("server 0")
    assert (outcome.applied, outcome.surplus, outcome.lost) == (STEPS, 0, 0)
    assert outcome.acknowledged == STEPS
    assert outcome.repeated == 1, "the one that it had taken and not acknowledged"
    assert each_step_once(outcome)
    assert same(outcome.run, undisturbed[str(rule)])


def test_a_server_goes_on_where_its_copy_died(cluster, undisturbed):
    fault = Fault("copy 0", 31)
    outcome = run_with_fault(cluster, fault, JOB, Asynchronous(), STEPS, replay_seed=1)
    assert "copy 0" not in cluster.processes
    cluster.restart("copy 0")
    assert (outcome.applied, outcome.surplus, outcome.repeated) == (STEPS, 0, 0)
    assert same(outcome.run, undisturbed["async"])


def test_a_server_that_comes_back_late_is_refused(cluster):
    training = cluster.begin(JOB, Asynchronous(), STEPS, faults=[Fault("server 0", 20)])
    assert training.until_dead("server 0")
    with pytest.raises(LaunchError, match=r"server 0 cannot come back before .* copy 0 goes on"):
        cluster.restart("server 0")
    assert training.finish().pushes == STEPS
    cluster.restart("server 0")


@pytest.mark.parametrize(("once", "applied"), [(True, STEPS), (False, STEPS + 1)])
def test_a_lost_answer(cluster, once, applied):
    fault = Fault("server 0", 31, "lose the answer")
    outcome = run_with_fault(cluster, fault, JOB, Asynchronous(), STEPS, once=once, replay_seed=1)
    assert (outcome.applied, outcome.surplus) == (applied, applied - STEPS)
    assert outcome.repeated == 1
    assert outcome.acknowledged == STEPS
    assert len(outcome.run.logs[1]) == STEPS, "the other server has answered"


BOTH = others_by_night([Asynchronous(), Synchronous()], f"{HERE}_all_servers_go_back_to_one_moment")


@pytest.mark.parametrize("rule", BOTH, ids=str)
def test_all_servers_go_back_to_one_moment(cluster, undisturbed, tmp_path, rule):
    saving = Saving(str(tmp_path), every=9)
    fault = Fault("server 1", 31)
    options = {"replay_seed": 1, "saving": saving}
    outcome = run_with_fault(cluster, fault, JOB, rule, STEPS, **options)
    assert (outcome.restored, outcome.lost) == (27, 4)
    assert (outcome.applied, outcome.surplus) == (STEPS, 0)
    assert outcome.acknowledged == STEPS - 27, "the four lost ones were computed again"
    assert each_step_once(outcome)
    assert same(outcome.run, undisturbed[str(rule)])


def test_a_truncated_checkpoint_takes_all_servers_to_the_one_before(cluster, undisturbed, tmp_path):
    saving = Saving(str(tmp_path), every=9)
    fault = Fault("server 1", 31)
    training = cluster.begin(
        JOB, Asynchronous(), STEPS, replay_seed=1, saving=saving, faults=[fault]
    )
    assert training.until_dead("server 1")
    path = saving.path("server 1")
    path.write_bytes(path.read_bytes()[:-8])
    assert before(path).exists()
    assert cluster.resume(saving) == 18
    assert same(training.finish(), undisturbed["async"])


def test_without_any_checkpoint_nothing_is_resumed(cluster, tmp_path):
    with pytest.raises(LaunchError, match="nothing to resume"):
        cluster.resume(Saving(str(tmp_path), 9))
    training = cluster.begin(JOB, Asynchronous(), STEPS, replay_seed=1)
    with pytest.raises(CheckpointError, match="No number of gradients has a checkpoint of every"):
        cluster.resume(Saving(str(tmp_path), 9))
    assert training.finish().pushes == STEPS


def test_a_server_that_hangs_is_left_for_its_copy(cluster, undisturbed):
    fault = Fault("server 0", 31, "hang")
    options = {"replay_seed": 1, "timeout": 6}
    outcome = run_with_fault(cluster, fault, JOB, Asynchronous(), STEPS, **options)
    assert "server 0" in cluster.processes, "it lives, and does not answer"
    cluster.kill("server 0")
    cluster.restart("server 0")
    assert (outcome.applied, outcome.surplus, outcome.lost) == (STEPS, 0, 0)
    assert same(outcome.run, undisturbed["async"])


def test_a_fault_that_never_comes_is_told(cluster):
    with pytest.raises(ValueError, match=r"ended before worker 1 came to 1000: choose a smaller"):
        run_with_fault(cluster, Fault("worker 1", 1000), JOB, Asynchronous(), STEPS)
    with pytest.raises(LaunchError, match="There is no role 'server 7'"):
        run_with_fault(cluster, Fault("server 7", 1), JOB, Asynchronous(), STEPS)
    assert cluster.train(JOB, Asynchronous(), STEPS).pushes == STEPS


@pytest.mark.parametrize("deed", ["die", "hang"])
def test_without_a_copy_a_dead_server_ends_the_training(deed):
    with Cluster(servers=1, workers=1, timeout=1) as cluster:
        address = cluster.addresses[0]
        with pytest.raises(LaunchError) as error:
            run_with_fault(cluster, Fault("server 0", 5, deed), JOB, Asynchronous(), STEPS)
        said = str(error.value)
        assert f"waited 1 s for the receipt of its step 4, and server {address} did not" in said
        assert ("Server 0 had been killed." in said) == (deed == "die")
        assert cluster.processes == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("worker 1", -1), "from 0 on for a worker, not -1"),
        (("server 0", 0), "from 1 on for a server, not 0"),
        (("server 0", 2.5), "not 2.5"),
        (("server 0", 3, "explode"), "deed is one of die, lose the answer, hang, not 'explode'"),
        (("worker 0", 3, "hang"), "a worker can only die"),
    ],
)
def test_what_can_be_no_fault(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        Fault(*words)
