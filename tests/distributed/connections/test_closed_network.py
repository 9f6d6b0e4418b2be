"""A network without a way out: what is in it reaches each other, and nothing else."""

import subprocess
import sys

import pytest

from labkit.distributed.connections import closed_network
from labkit.distributed.errors import LaunchError, NoClosedNetwork
from labkit.distributed.tensorflow.cluster import TfCluster
from labkit_lessons.distributed.restarts_and_monitoring.elastic import under_torchrun
from tests.no_namespaces import forbid

IN_IT = """
import socket, subprocess, sys
from labkit.distributed.connections import closed_network
closed_network.enter()
with socket.create_server(("127.0.0.1", 0)) as server:
    port = server.getsockname()[1]
    child = f"import socket; socket.create_connection(('127.0.0.1', {port})); print('reached')"
    subprocess.run([sys.executable, "-c", child], check=True)
print(closed_network.has_way_out(), [name for _, name in socket.if_nameindex()])
try:
    socket.create_connection(("192.0.2.1", 80), 1)
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_only_its_own_processes_are_reached():
    done = subprocess.run([sys.executable, "-c", IN_IT], capture_output=True, text=True)
    assert done.stdout.split("\n")[:3] == ["reached", "False ['lo']", "Network is unreachable"]


def test_where_there_is_none_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(closed_network.sys, "platform", "darwin")
    with pytest.raises(LaunchError, match=r"Linux's, and this is darwin.* so they are not started"):
        closed_network.enter()


def refuses():
    raise PermissionError(1, "Operation not permitted")


def test_where_it_is_forbidden_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(closed_network, "_unshare", refuses)
    with pytest.raises(LaunchError, match=r"says: Operation not permitted.*SYS_ADMIN"):
        closed_network.enter()


REFUSED = (
    r"^A network without a way out cannot be made \(the system says: Operation not permitted\)"
)


def test_what_cannot_be_closed_does_not_start(monkeypatch, tmp_path):
    forbid(tmp_path, monkeypatch)
    with pytest.raises(NoClosedNetwork, match=REFUSED):
        TfCluster(servers=1, workers=1)
    (tmp_path / "program.py").write_text("print('it runs')")
    with pytest.raises(NoClosedNetwork, match=REFUSED):
        under_torchrun(tmp_path / "program.py", 1)

    def runs():
        (tmp_path / "it ran").touch()

    said = closed_network.without_way_out(runs)
    assert said.startswith("This was not run here. A network without a way out cannot be made (")
    assert "Operation not permitted" in said and not (tmp_path / "it ran").exists()


def test_a_function_is_called_without_a_way_out():
    def tells():
        print(closed_network.has_way_out())
        print("done")

    assert closed_network.without_way_out(tells) == "False\ndone"
    with pytest.raises(LaunchError, match=r"^ZeroDivisionError: division by zero$"):
        closed_network.without_way_out(lambda: 1 / 0)


@pytest.mark.parametrize(
    ("v4", "v6", "leads_out"),
    [
        ("", "", False),
        ("eth0 0002000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n", "", False),
        ("eth0 00000000 0102000A 0003 0 0 0 00000000 0 0 0\n", "", True),
        ("", "0" * 32 + " 00 " + "0" * 32 + " 00 fd00 00000400 1 0 3 eth0\n", True),
        ("", "0" * 32 + " 00 " + "0" * 32 + " 00 0 ffffffff 1 0 00200200 lo\n", False),
    ],
    ids=["none", "a cable", "v4", "v6", "to nowhere"],
)
def test_a_way_out_is_a_default_route(monkeypatch, tmp_path, v4, v6, leads_out):
    (tmp_path / "route").write_text("Iface Destination Gateway\n" + v4)
    (tmp_path / "ipv6_route").write_text(v6)
    monkeypatch.setattr(closed_network, "ROUTES", tmp_path)
    assert closed_network.has_way_out() is leads_out
