"""A server and its copy: nothing is acknowledged that the copy has not, and one of them serves."""

import errno
import socket
import threading

import pytest
import torch

from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.parameter_server.client import Client
from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.protocol.link import Link
from labkit.distributed.parameter_server.replication import Copy, ReplicaState, Unanswered
from labkit.distributed.parameter_server.rules import Asynchronous
from labkit.distributed.parameter_server.server import Server
from labkit.distributed.parameter_server.shard import Shard

MODEL = "version 1: w[3]"
SECRET = new_secret()
TIMEOUT = 20.0


def nowhere():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def shard(**options):
    return Shard(torch.zeros(3), Asynchronous(), 2, 1.0, **options)


class Pair:
    """A server and its copy in this process."""

    def __init__(self):
        self.first, self.second = Server(SECRET), Server(SECRET, is_copy=True)
        self.copy_shard = shard()
        self.second.serve(self.copy_shard, MODEL)
        self.copy = Copy(self.second.address, MODEL, SECRET, TIMEOUT)
        self.first_shard = shard(forward=self.copy.push, announce=self.copy.begin)
        self.first.serve(self.first_shard, MODEL)

    def client(self, worker, first=None):
        addresses = [first or self.first.address]
        return Client(addresses, worker, MODEL, SECRET, TIMEOUT, [self.second.address])

    def close(self):
        self.first.close()
        self.second.close()


@pytest.fixture
def pair():
    pair = Pair()
    yield pair
    pair.close()


def step(client, value):
    weights = client.pull()
    assert client.push(weights, torch.full((3,), float(value)))
    return weights


def test_the_copy_has_every_update_before_the_worker_hears_of_it(pair):
    client = pair.client(0)
    for number in range(1, 4):
        step(client, number)
        assert len(pair.copy_shard.notes) == number
    assert torch.equal(pair.copy_shard.values, torch.full((3,), -6.0))
    assert pair.copy_shard.notes[-1].staleness == 0
    assert pair.second.replica_state.state == "follows"
    client.close()


def test_a_worker_in_the_middle_of_a_step_goes_on_with_the_copy(pair):
    one, other = pair.client(0), pair.client(1)
    weights = one.pull()
    step(other, 1)
    pair.first.close()
    assert one.push(weights, torch.ones(3)), "the copy knows that the step has begun"
    assert [note.staleness for note in pair.copy_shard.notes] == [0, 1]
    step(other, 1)
    assert torch.equal(pair.copy_shard.values, torch.full((3,), -3.0))
    for client in (one, other):
        client.close()


def test_a_deposed_server_applies_nothing_more(pair):
    """One worker does not reach the first server, which lives: the copy takes over for all."""
    one, other = pair.client(0), pair.client(1)
    step(one, 1)
    cut_off = pair.client(1, first=nowhere())
    step(cut_off, 2)
    weights = one.pull()
    assert one.push(weights, torch.full((3,), 4.0))
    assert pair.first.replica_state.state == "deposed"
    assert torch.equal(pair.first_shard.values, torch.full((3,), -1.0))
    assert torch.equal(pair.copy_shard.values, torch.full((3,), -7.0))
    assert [(note.worker, note.step) for note in pair.copy_shard.notes] == [(0, 0), (1, 0), (0, 1)]
    step(other, 8)
    assert (len(pair.copy_shard.notes), pair.copy_shard.repeated) == (3, 1), "worker 1 did step 0"
    step(other, 8)
    assert torch.equal(pair.copy_shard.values, torch.full((3,), -15.0))
    for client in (one, other, cut_off):
        client.close()


def test_where_the_copy_has_died_the_server_goes_on_alone(pair):
    client = pair.client(0)
    step(client, 1)
    pair.second.close()
    step(client, 1)
    assert pair.copy.alone
    assert len(pair.first_shard.notes) == 2
    client.close()


def break_connections(server):
    for connection in list(server._connections):
        connection.shutdown(socket.SHUT_RDWR)


def test_a_broken_connection_is_no_dead_copy(pair):
    client = pair.client(0)
    step(client, 1)
    break_connections(pair.second)
    step(client, 1)
    assert not pair.copy.alone
    assert len(pair.copy_shard.notes) == len(pair.first_shard.notes) == 2
    client.close()


def test_a_copy_that_took_over_behind_a_broken_connection_deposes(pair):
    one = pair.client(0)
    step(one, 1)
    weights = one.pull()
    cut_off = pair.client(1, first=nowhere())
    step(cut_off, 2)
    break_connections(pair.second)
    assert one.push(weights, torch.full((3,), 4.0))
    assert pair.first.replica_state.state == "deposed" and len(pair.first_shard.notes) == 1
    assert torch.equal(pair.copy_shard.values, torch.full((3,), -7.0))
    for client in (one, cut_off):
        client.close()


def test_a_copy_that_is_not_reached_may_be_alive(pair, monkeypatch):
    client = pair.client(0)
    weights = client.pull()

    def unreached(*request):
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    monkeypatch.setattr(pair.copy._link, "attempt", unreached)
    with pytest.raises(ServerError, match=r"copy at .* does not answer \(.*No route to host\)"):
        client.push(weights, torch.ones(3))
    assert not pair.copy.alone and not pair.first_shard.notes
    client.close()


def test_a_server_that_comes_back_after_its_copy_took_over_is_refused(pair):
    client = pair.client(0)
    step(client, 1)
    pair.first.close()
    step(client, 1)
    with pytest.raises(ServerError, match="has taken over already"):
        Copy(pair.second.address, MODEL, SECRET, TIMEOUT)
    client.close()


def test_where_the_copy_is_silent_nothing_is_acknowledged():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(
            ServerError, match=f"waited 0.2 s for its greeting, and server {address}"
        ):
            Copy(address, MODEL, SECRET, 0.2)


def test_a_copy_that_stops_answering_is_told_to_the_worker(pair):
    client = pair.client(0)
    step(client, 1)
    weights = client.pull()
    pair.copy._link.timeout = 0.2
    told = pytest.raises(ServerError, match=r"copy at .* has not answered for 0\.2 s")
    with pair.copy_shard._gate.changed, told:  # while this is held, the copy takes nothing
        client.push(weights, torch.ones(3))
    assert len(pair.first_shard.notes) == 1
    client.close()


def test_a_worker_does_not_wake_a_copy_that_follows_nobody():
    second = Server(SECRET, is_copy=True)
    second.serve(shard(), MODEL)
    with pytest.raises(ServerError, match="did not answer"):
        Client([nowhere()], 0, MODEL, SECRET, 0.3, [second.address])
    assert second.replica_state.state == "waits"
    second.close()


def test_workers_may_come_before_the_servers(pair):
    """A copy waits for its server; workers wait for both."""
    second = Server(SECRET, is_copy=True)
    address = nowhere()
    done = []

    def work():
        client = Client([address], 0, MODEL, SECRET, TIMEOUT, [second.address])
        step(client, 1)
        done.append(client)

    worker = threading.Thread(target=work)
    worker.start()
    second.serve(shard(), MODEL)
    first = Server(SECRET, port=int(address.rpartition(":")[2]))
    copy = Copy(second.address, MODEL, SECRET, TIMEOUT)
    first_shard = shard(forward=copy.push, announce=copy.begin)
    first.serve(first_shard, MODEL)
    worker.join(TIMEOUT)
    assert len(first_shard.notes) == 1
    assert first.replica_state.state == "serves"
    assert second.replica_state.state == "follows"
    done[0].close()
    first.close()
    second.close()


def test_a_looker_finds_the_one_that_serves(pair):
    client = pair.client(0)
    places = {"copy 0": pair.second.address, "server 0": pair.first.address}
    look = Link(places, None, MODEL, SECRET, TIMEOUT)
    step(client, 1)
    assert len(look.log()[0]) == 1
    assert look.address == pair.first.address
    pair.first.close()
    step(client, 1)
    assert len(look.log()[0]) == 2
    assert look.address == pair.second.address
    client.close()
    look.close()


def test_a_server_that_is_no_copy_follows_nobody():
    alone = Server(SECRET)
    alone.serve(shard(), MODEL)
    with pytest.raises(ServerError, match="or it is not copy 0: each cluster"):
        Copy(alone.address, MODEL, SECRET, TIMEOUT)
    alone.close()


def test_replica_states():
    first, copy = ReplicaState(is_copy=False), ReplicaState(is_copy=True)
    first.greet(0, False)
    first.depose()
    for worker in (0, None):
        with pytest.raises(Unanswered):
            first.greet(worker, False)
    with pytest.raises(Unanswered):
        copy.greet(0, False)
    copy.greet(None, True)
    for worker in (0, None):
        with pytest.raises(Unanswered):
            copy.greet(worker, False)
    assert copy.hears()
    with pytest.raises(Unanswered):
        copy.greet(None, False)
    copy.greet(3, False)
    assert (copy.state, copy.hears()) == ("serves", False)
    copy.greet(None, False)
    copy.greet(None, True)
    assert copy.has_taken_over and not copy.hears()
    with pytest.raises(ServerError):
        first.greet(None, True)
