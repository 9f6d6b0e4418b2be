"""A held port: callers are refused, its user's server may bind it again, and nobody else."""

import errno
import os
import socket
import subprocess
import sys
from itertools import chain, combinations

import pytest

from labkit.distributed.handshake import new_secret
from labkit.distributed.parameter_server.cluster import Cluster
from labkit.distributed.parameter_server.crew import held_port
from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.server import Server

SECRET = new_secret()
OWN, NOBODY = os.getuid(), 65534
IN_USE = str(errno.EADDRINUSE)
OPTIONS = (socket.SO_REUSEADDR, socket.SO_REUSEPORT)
ALL_WAYS = list(chain.from_iterable(combinations(OPTIONS, count) for count in range(3)))
BINDS = """
import os, socket, sys
port, user, *options = map(int, sys.argv[1:])
if user != os.getuid():
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
listener = socket.socket()
for option in options:
    listener.setsockopt(socket.SOL_SOCKET, option, 1)
try:
    listener.bind(("127.0.0.1", port))
except OSError as error:
    print(error.errno)
else:
    print("bound")
"""


def port_of(address):
    return int(address.rpartition(":")[2])


def bound(port, options, user=OWN):
    """What becomes of another program, of this user or another one, that wants the port."""
    words = [sys.executable, "-I", "-c", BINDS, *map(str, (port, user, *options))]
    return subprocess.run(words, stdout=-1, text=True, check=True).stdout.strip()


@pytest.fixture
def after_death():
    """The held port of a server that has lived, and is closed."""
    with held_port() as holder:
        port = holder.getsockname()[1]
        server = Server(SECRET, port=port, held=True)
        socket.create_connection(("127.0.0.1", port)).close()
        server.close()
        yield port


def test_who_calls_a_held_port_is_refused(after_death):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", after_death))


def test_its_server_comes_back(after_death):
    server = Server(SECRET, port=after_death, held=True)
    socket.create_connection(("127.0.0.1", after_death)).close()
    server.close()


def test_a_server_that_does_not_know_of_it_is_told(after_death):
    with pytest.raises(ServerError, match=f"The port {after_death} of 127.0.0.1 is in use"):
        Server(SECRET, port=after_death)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a while")
@pytest.mark.parametrize("options", ALL_WAYS, ids=str)
def test_another_user_cannot_bind_it_with_any_options(options, after_death):
    assert bound(after_death, options, NOBODY) == IN_USE


def test_a_port_that_is_let_go_is_free():
    with held_port() as holder:
        port = holder.getsockname()[1]
    assert bound(port, ()) == "bound"


def test_a_cluster_holds_the_port_of_a_dead_server():
    with Cluster(servers=1, workers=1, copies=1) as cluster:
        for name, address in (("server 0", cluster.addresses[0]), ("copy 0", cluster.copies[0])):
            cluster.kill(name)
            assert bound(port_of(address), ()) == IN_USE
            assert bound(port_of(address), (socket.SO_REUSEADDR,)) == IN_USE
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port_of(address)))
            cluster.restart(name)
            socket.create_connection(("127.0.0.1", port_of(address))).close()
