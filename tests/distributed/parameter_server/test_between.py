"""Who stands between a worker and its server, and has no secret, changes nothing."""

import socket
import threading
from contextlib import contextmanager, suppress

import pytest
import torch

from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.parameter_server import Asynchronous, Client, Server, ServerError, Shard
from labkit.distributed.parameter_server.protocol.wire import packed

ENOUGH = 60.0  # seconds: only ends a hang
MODEL = "version 1: weight[4]"
SECRET = new_secret()
LENGTH, SEAL = 8, 32

PUSH = 2  # after the greeting and the pull


@pytest.fixture
def server():
    one = Server(SECRET)
    one.shard = Shard(torch.zeros(4), Asynchronous(), 1, 0.5)
    one.serve(one.shard, MODEL)
    yield one
    one.close()


def whole(connection, count):
    data = connection.recv(count, socket.MSG_WAITALL)
    if len(data) < count:
        raise EOFError
    return data


def frame(connection):
    """A frame as it travels."""
    length = whole(connection, LENGTH)
    return length + whole(connection, int.from_bytes(length, "big") + SEAL)


@contextmanager
def between(server, change):
    """The address of somebody who hands on all that is said, and changes the worker's frames.

    change   change(number, frame, back) -> the frames to hand on; back: the connection to the
             worker. Only the first connection is changed
    """
    host, port = server.address.split(":")
    calls = []

    def relay(worker):
        calls.append(worker)
        changes = len(calls) == 1
        with worker, socket.create_connection((host, int(port)), ENOUGH) as there:
            worker.settimeout(ENOUGH)
            there.settimeout(ENOUGH)
            with suppress(OSError, EOFError):
                worker.sendall(whole(there, 32))
                there.sendall(whole(worker, 64))
                worker.sendall(whole(there, 32))
                for number in range(100):
                    sent = frame(worker)
                    for one in change(number, sent, worker) if changes else [sent]:
                        there.sendall(one)
                    worker.sendall(frame(there))

    def accept():
        with suppress(OSError):
            while True:
                threading.Thread(target=relay, args=(listener.accept()[0],)).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}", calls
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(ENOUGH)


def altered(number, sent, back):
    return [sent[: -SEAL - 1] + bytes([sent[-SEAL - 1] ^ 1]) + sent[-SEAL:]]


def written(number, sent, back):
    return [sent[:-SEAL] + bytes(SEAL)]


seen = {}


def repeated(number, sent, back):
    seen[number] = sent
    return [seen[number - 1]]


def twice(number, sent, back):
    return [sent, sent]


def turned_back(number, sent, back):
    back.sendall(sent)
    return []


@pytest.mark.parametrize("deed", [altered, written, repeated, twice, turned_back])
def test_a_push_is_applied_once_or_not_at_all(server, deed):
    """The connection ends, and over a new one the worker's own push arrives."""

    def change(number, sent, back):
        seen[number] = sent
        return deed(number, sent, back) if number == PUSH else [sent]

    with between(server, change) as (address, calls):
        client = Client([address], 0, MODEL, SECRET, ENOUGH)
        client.push(client.pull(), torch.ones(4))
        client.push(client.pull(), torch.ones(4))
        client.close()
    assert torch.equal(server.shard.values, torch.full((4,), -1.0))
    assert len(server.shard.notes) == 2 and len(calls) == 2


def test_who_only_hands_on_is_not_noticed(server):
    with between(server, lambda number, sent, back: [sent]) as (address, calls):
        client = Client([address], 0, MODEL, SECRET, ENOUGH)
        client.push(client.pull(), torch.ones(4))
        client.close()
    assert len(server.shard.notes) == len(calls) == 1


def test_who_has_relayed_the_proof_is_no_member(server):
    """Over a proved connection it wants to ask for itself."""
    asked = packed({"kind": "stop"})

    def usurp(number, sent, back):
        own = len(asked).to_bytes(LENGTH, "big") + asked + bytes(SEAL)
        return [sent, own] if number == 1 else [sent]

    with between(server, usurp) as (address, _):
        client = Client([address], 0, MODEL, SECRET, ENOUGH)
        client.pull()
        client.push(client.pull(), torch.ones(4))
        client.close()
    assert not server.stopped.is_set()


@pytest.mark.parametrize("other", [{"number": 1}, {"is_copy": True}], ids=["number", "copy"])
def test_a_call_for_a_dead_server_is_not_taken_by_another(other):
    alive = Server(SECRET, **other)
    with between(alive, pytest.fail) as (address, calls):
        with pytest.raises(ServerError, match="or it is not server 0"):
            Client([address], 0, MODEL, SECRET, ENOUGH)
        assert calls and alive.idle and alive.replica_state.state != "follows"
    alive.close()
