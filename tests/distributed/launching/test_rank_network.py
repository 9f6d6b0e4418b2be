"""The network of a launch's ranks: one for all of them, which nobody else reaches."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from labkit.distributed import LaunchError, launch
from labkit.distributed.connections import closed_network
from labkit.distributed.launch import _make, network_of_ranks
from labkit.distributed.launching import backends
from tests.no_namespaces import forbid

ENOUGH = 300.0  # seconds: only ends a launch that would hang

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")


def network(rank=0, ranks=1):
    return os.readlink("/proc/self/ns/net")


def summed(rank, ranks):
    import torch
    import torch.distributed as dist

    x = torch.ones(1)
    dist.all_reduce(x)
    return x.item(), network()


def test_all_ranks_of_all_launches_share_one_that_is_not_the_machine_s():
    found = launch(summed, 3, timeout=ENOUGH) + launch(summed, 3, timeout=ENOUGH)
    assert {total for total, _ in found} == {3}
    assert len({own for _, own in found}) == 1 and found[0][1] != network()


def test_files_stay_the_user_s(tmp_path):
    def writes(rank, ranks):
        (tmp_path / str(rank)).write_text("mine")
        return os.getuid(), os.getgid()

    assert launch(writes, 2, timeout=ENOUGH) == [(os.getuid(), os.getgid())] * 2
    assert {path.stat().st_uid for path in tmp_path.iterdir()} == {os.getuid()}


def test_a_stranger_s_call_does_not_arrive():
    """A port at which a rank listens is free outside; a rank reaches no server there."""

    def listens(rank, ranks, port):
        import torch.distributed as dist

        with socket.create_server(("127.0.0.1", port)) if rank == 0 else open(os.devnull):
            dist.barrier()
            if rank == 1:
                socket.create_connection(("127.0.0.1", port)).close()
            dist.barrier()

    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.settimeout(0)
        launch(listens, 2, outside.getsockname()[1], timeout=ENOUGH)
        with pytest.raises(BlockingIOError):
            outside.accept()


def calls(rank, ranks, port):
    with socket.create_connection(("127.0.0.1", port)):
        return network()


def test_a_rank_that_wants_outside_is_told_how():
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        with pytest.raises(LaunchError, match=r"refused\n\nRanks have a network .*outside=True"):
            launch(calls, 1, port, timeout=ENOUGH)
        assert launch(calls, 1, port, outside=True, timeout=ENOUGH) == [network()]
    with pytest.raises(LaunchError) as told:
        launch(calls, 1, port, outside=True, timeout=ENOUGH)
    assert str(told.value).endswith("refused")


def test_a_chosen_interface_is_kept(monkeypatch):
    monkeypatch.setenv(backends.INTERFACE, backends.loopback())
    assert launch(summed, 2, timeout=ENOUGH) == [(2, network())] * 2


def test_the_maker_says_that_it_is_forbidden(monkeypatch):
    def refuses():
        raise PermissionError(1, "Operation not permitted")

    said = []
    monkeypatch.setattr(closed_network, "_unshare", refuses)
    _make(type("Pipe", (), {"send": said.append}))
    assert said == [False]


PROGRAM = """
from labkit.distributed import launch
from tests.distributed.launching.test_rank_network import network, summed
if __name__ == "__main__":
    print(launch(summed, 2) == [(2, network())] * 2)
"""


def test_where_there_is_none_ranks_have_the_machine_s(tmp_path, monkeypatch):
    forbid(tmp_path, monkeypatch)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(not shutil.which("setpriv") or os.getuid(), reason="root gives up its rights")
def test_whoever_has_no_rights_gets_it_too():
    """In a user namespace of his own (root needs the right `setfcap` to be root there, too)."""
    words = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all", sys.executable, "-c"]
    program = PROGRAM.replace("== [(2, network())] * 2", "[1][1] != network()")
    done = subprocess.run([*words, program], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_another_system_has_none(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert network_of_ranks.__wrapped__() is None
