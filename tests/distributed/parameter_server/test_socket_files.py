"""A cluster's servers listen at socket files: for their user alone, and there whoever has died."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from labkit.distributed.connections.door import listening
from labkit.distributed.parameter_server.processes.cluster import Cluster
from labkit.distributed.parameter_server.rules import Asynchronous
from tests.distributed.parameter_server.toy_jobs import Sum

NOBODY = 65534
CALLS = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
"""


def called(address):
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(address)


@pytest.fixture(scope="module")
def cluster():
    with Cluster(servers=1, workers=1, copies=1) as found:
        yield found


def test_who_calls_a_dead_server_is_refused_until_it_is_back(cluster):
    for name, address in (("server 0", cluster.addresses[0]), ("copy 0", cluster.copies[0])):
        called(address)
        cluster.kill(name)
        with pytest.raises(ConnectionRefusedError):
            called(address)
        cluster.restart(name)
        called(address)
    assert cluster.train(Sum(), Asynchronous(), steps=3).pushes == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a while")
def test_another_user_cannot_call(cluster):
    words = [sys.executable, "-I", "-c", CALLS, cluster.addresses[0], str(NOBODY)]
    done = subprocess.run(words, stdout=-1, text=True, check=True)
    assert done.stdout == "PermissionError\n"


def test_a_listener_takes_the_place_of_a_dead_one(tmp_path):
    path = str(tmp_path / "server-0")
    listening(f"{path}.new").close()  # which died between its two steps
    for _ in range(2):
        with listening(path):
            called(path)
        with pytest.raises(ConnectionRefusedError):
            called(path)
    assert [stat.S_ISSOCK(file.stat().st_mode) for file in tmp_path.iterdir()] == [True]
