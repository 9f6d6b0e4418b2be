"""What lessons and commands of chapter 04 start listens where no stranger reaches it.

That is on the loopback, or in a network namespace that has nothing else.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from labkit.distributed import launch
from labkit.distributed.connections.closed_network import has_way_out
from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.connections.wires import wired
from labkit.distributed.launching import backends
from labkit.distributed.monitoring import tensorboard
from labkit.distributed.parameter_server import Asynchronous, Cluster, Photographs
from labkit.distributed.tensorflow.cluster import TfCluster
from labkit_lessons.distributed.restarts_and_monitoring.elastic import under_torchrun
from tests.distributed.sockets import listening, reachable

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "chapters" / "04_distributed"
ENOUGH = 300.0  # seconds: only ends a hang

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the list is Linux's")


def test_the_list_knows_what_is_open():
    with socket.create_server(("", 0)) as open_one, socket.create_server(("127.0.0.1", 0)) as own:
        ports = [one.getsockname()[1] for one in (open_one, own)]
        assert f"127.0.0.1:{ports[1]}" in listening(os.getpid())
        assert [place for place in reachable() if place.endswith(f" 0.0.0.0:{ports[0]}")]
        assert not [place for place in reachable() if place.endswith(f":{ports[1]}")]
    for both in (False, True):
        with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=both) as one:
            assert [place for place in reachable() if place.endswith(f" :::{one.getsockname()[1]}")]


def sockets_of_a_rank(rank, ranks, latency=None):
    import torch.distributed as dist

    dist.all_reduce(torch.ones(1))
    if latency is None:
        return listening(os.getpid()), reachable()
    with wired(latency):
        dist.barrier()
        return listening(os.getpid()), reachable()


@pytest.mark.parametrize("latency", [None, 0.0, 0.001], ids=["launch", "wires", "relays"])
def test_ranks(latency):
    for own, found in launch(sockets_of_a_rank, 2, latency):
        assert own and found == []


def interface_of_a_rank(rank, ranks):
    return os.environ.get(backends.INTERFACE)


def test_gloo_stays_on_the_loopback_unless_told_otherwise(monkeypatch):
    """Where a machine's name leads to another address, Gloo would listen there."""
    monkeypatch.delenv(backends.INTERFACE, raising=False)
    assert launch(interface_of_a_rank, 2) == [backends.loopback()] * 2
    assert backends.loopback() in {name for _, name in socket.if_nameindex()}
    monkeypatch.setenv(backends.INTERFACE, "eth7")
    assert backends.on_one_machine() == {}


def test_parameter_servers():
    with Cluster(servers=2, workers=2, copies=1) as cluster:
        for pid in cluster.processes.values():
            assert listening(pid) == []
        for file in map(Path, filter(None, (*cluster.addresses, *cluster.copies))):
            assert file.is_socket() and file.parent.stat().st_mode & 0o777 == 0o700
        cluster.train(Photographs(), Asynchronous(), steps=4)
    assert not file.parent.exists()


def test_train_ps(tmp_path):
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_bytes(new_secret())
    words = [sys.executable, CHAPTER / "train_ps.py", "--role", "server", "--secret", secret]
    words += ["--servers", "127.0.0.1:0", "--workers", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stdout=-1, text=True, env=environment) as server:
        assert "server 0 listens at 127.0.0.1:" in server.stdout.readline()
        assert len(listening(server.pid)) == 1 and reachable(server.pid) == []
        server.kill()


LOOKS = """
import os
import torch
from labkit.distributed import launch
from tests.distributed.sockets import listening, reachable

def look(rank, ranks):
    torch.distributed.all_reduce(torch.ones(1))
    torch.distributed.barrier()
    return [(pid, len(listening(pid)), reachable(pid)) for pid in (os.getpid(), os.getppid())]

found = launch(look, 2)
if os.environ["RANK"] == "0":  # two ranks that print at once would share a line
    print(found)
"""


@pytest.mark.night(instead="tests/distributed/test_sockets.py::test_tensorflow")
def test_torchrun(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(LOOKS)
    said = under_torchrun(program, 2, environment={"PYTHONPATH": str(ROOT)}, timeout=ENOUGH)
    results = eval(said.splitlines()[-1])
    for rank in results:
        for _, count, found in rank:
            assert count and found == []


@pytest.mark.skipif(not has_way_out(), reason="this network has no way out itself")
def test_tensorflow():
    with TfCluster(servers=1, workers=1) as cluster:
        cluster.begin(steps=4, pause_at=2)
        cluster.paused(ENOUGH)
        own = {name: listening(pid) for name, pid in cluster.pids.items()}
        assert all(own.values()), "each of them listens"
        assert {place.rpartition(":")[0] for places in own.values() for place in places} == {"::"}
        assert reachable() == []
        cluster.release()
        assert cluster.finish().applied == 4


@pytest.mark.night(instead="tests/distributed/test_sockets.py::test_tensorflow")
@pytest.mark.skipif(not has_way_out(), reason="this network has no way out itself")
def test_tensorflow_s_program_by_itself():
    """Started by hand in a network that leads out, it says what that would mean."""
    words = [sys.executable, CHAPTER / "train_tf_ps.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "train_tf_ps: TensorFlow's servers run whatever anybody sends them" in done.stderr
    trusted = [*words, "--trusted-network"]
    done = subprocess.run(trusted, capture_output=True, text=True, env=environment)
    assert "train_tf_ps: TF_CONFIG is not set" in done.stderr


def test_tensorboard(tmp_path):
    with tensorboard(tmp_path, ENOUGH):
        assert reachable() == []
