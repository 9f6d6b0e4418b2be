"""The record of a TensorFlow cluster: of the program as it is, and only of what was recorded."""

import hashlib

import pytest

from labkit.distributed.errors import LaunchError, NoClosedNetwork
from labkit.distributed.tensorflow import claims
from labkit.distributed.tensorflow.cluster import find_program
from labkit.distributed.tensorflow.config import TfConfigError
from labkit.distributed.tensorflow.recorded import RecordedCluster, tf_cluster
from labkit.distributed.tensorflow.trials import try_program
from tests.no_namespaces import forbid

SAVED = {"steps": 300, "checkpoint": "saved", "save_every": 100}


def test_the_record_is_of_the_program_as_it_is():
    program = hashlib.sha256(find_program().read_bytes()).hexdigest()
    assert RecordedCluster().record["program"] == program, "run `python tools/cluster/tf_record.py`"


def test_where_none_may_start_the_record_answers(tmp_path, monkeypatch, capsys):
    forbid(tmp_path, monkeypatch)
    cluster = tf_cluster(servers=2, workers=3)
    why, source = capsys.readouterr().out.splitlines()
    assert "Operation not permitted" in why
    assert source.startswith("So what follows is a record: counted by train_tf_ps.py with Tensor")
    assert isinstance(cluster, RecordedCluster)
    with pytest.raises(TfConfigError):
        tf_cluster(servers=2, workers=3, config=lambda hosts, ports, servers, number: "no JSON")


def test_any_other_failure_is_told(monkeypatch):
    with pytest.raises(LaunchError, match="at most 6 fit") as told:
        tf_cluster(servers=3, workers=3)
    assert not isinstance(told.value, NoClosedNetwork)


def test_its_runs_add_up():
    cluster = RecordedCluster()
    run = cluster.run(steps=100)
    assert run.scheduled == run.applied == len(run.losses) == 100
    assert sum(run.losses[-30:]) < sum(run.losses[:30]) and run.on_servers == [24_896, 42]
    cluster.begin(steps=1500, pause_at=700)
    name = cluster.paused()
    assert name.startswith("worker ")
    cluster.kill(name)
    cluster.restart(name)
    run = cluster.finish()
    assert run.scheduled == 1500 and run.applied == 1501 and run.twice == [700]
    cluster.begin(**SAVED, pause_at=299)
    cluster.paused()
    cluster.release()
    run = cluster.finish()
    assert run.error == "UnavailableError" and run.dead_servers == [0]
    assert (run.applied, run.saved, run.lost) == (300, 200, list(range(200, 300)))
    run = cluster.run(**SAVED)
    assert (run.resumed_at, run.scheduled, run.applied) == (200, 100, 300)
    cluster.end()


def test_its_programs():
    cluster = RecordedCluster()
    assert claims.first_failure(cluster).startswith("AttributeError: ")
    names = claims.names_today(cluster)
    assert [name for name, (today, _) in names.items() if today] == ["ClusterSpec"]
    assert all(in_old_api for _, in_old_api in names.values())
    assert claims.with_old_api(cluster) == "the weight is 0.99"
    waiting = claims.one_script(cluster)
    assert waiting.text == "server.join()" and len(waiting.printed) == 1


def test_what_is_not_recorded_is_refused():
    cluster = RecordedCluster()
    with pytest.raises(LaunchError, match=r"^A training of steps=101 is not in the record, which"):
        cluster.run(steps=101)
    with pytest.raises(LaunchError, match=r"^This program is not in the record"):
        try_program(cluster, "print(1)")
