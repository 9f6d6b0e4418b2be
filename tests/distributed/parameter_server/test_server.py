"""Servers and clients over TCP, in the threads of one process."""

import errno
import random
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest
import torch

from labkit.distributed.connections import door
from labkit.distributed.connections.handshake import new_secret, prove
from labkit.distributed.parameter_server import (
    Asynchronous,
    Client,
    Server,
    ServerError,
    Shard,
    Synchronous,
)
from labkit.distributed.parameter_server import server as module
from labkit.distributed.parameter_server.protocol import wire as wire_module
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.protocol.wire import Wire
from labkit.distributed.parameter_server.replication import Copy

ENOUGH = 60.0  # seconds: only ends a hang
MODEL = "version 1: weight[7]"
SECRET = new_secret()
SIZE = 7


@contextmanager
def serving(rule=None, workers=2, parts=2, **options):
    """Servers, each with its part of SIZE zeros; and what they serve."""
    flat = torch.zeros(SIZE)
    shards = [
        Shard(part, rule or Asynchronous(), workers, 0.5, **options)
        for part in flat.tensor_split(parts)
    ]
    servers = [Server(SECRET, number=number) for number in range(parts)]
    try:
        for server, shard in zip(servers, shards, strict=True):
            server.serve(shard, MODEL)
        yield servers, shards
    finally:
        for server in servers:
            server.close()


def client_of(servers, worker=0, timeout=ENOUGH, **options):
    return Client([s.address for s in servers], worker, MODEL, SECRET, timeout, **options)


def slope(worker, step):
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(10 * worker + step))


def weights_of(shards):
    return torch.cat([shard.values for shard in shards])


@pytest.mark.parametrize("parts", [1, 2, 3, SIZE])
def test_parts_on_servers_are_the_whole(parts):
    oracle = torch.zeros(SIZE)
    with serving(parts=parts, limit=Limit(steps=3)) as (servers, shards):
        client = client_of(servers)
        for step in range(3):
            weights = client.pull()
            assert torch.equal(weights.flat, oracle) and weights.step == step
            assert weights.versions == (step,) * parts
            client.push(weights, slope(0, step), loss=0.5, samples=4)
            oracle = oracle - 0.5 * slope(0, step)
        assert client.pull() is None
        assert torch.allclose(weights_of(shards), oracle)
        assert [len(shard.notes) for shard in shards] == [3] * parts
        assert shards[0].notes[2].loss == 0.5 and shards[0].notes[2].samples == 4


def test_workers_in_threads_make_one_big_batch():
    with serving(Synchronous(), workers=3, limit=Limit(steps=12)) as (servers, shards):

        def work(worker):
            client = client_of(servers, worker)
            while (weights := client.pull()) is not None:
                client.push(weights, slope(worker, weights.step))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ENOUGH)
        means = [sum(slope(w, step) for w in range(3)) / 3 for step in range(4)]
        assert (weights_of(shards) + 0.5 * sum(means)).abs().max() < 1e-6
        assert [shard.version for shard in shards] == [4, 4]


def test_another_version_of_the_model_is_refused():
    with serving() as (servers, _), pytest.raises(ServerError) as caught:
        Client([servers[0].address], 1, "version 2: weight[7]", SECRET, ENOUGH)
    said = str(caught.value)
    assert f"Server {servers[0].address} refuses worker 1: " in said
    assert "brings another version of the model, version 2: weight[7], than" in said
    assert "version 1" not in said, "nobody is told the right one"


def test_a_worker_that_does_not_exist_is_refused():
    with serving() as (servers, _):
        with pytest.raises(ServerError, match="no worker 2: this training has workers 0 to 1"):
            client_of(servers, worker=2)
        with pytest.raises(ServerError, match=r"worker is a whole number from 0 .*, not 'one'"):
            client_of(servers, worker="one")


def test_a_server_s_own_sentence_reaches_the_worker():
    with serving(Synchronous()) as (servers, _):
        client = client_of(servers)
        client.push(client.pull(), slope(0, 0))
        for link in client.links:
            link.timeout = 0.5
        with pytest.raises(ServerError, match=r"worker 1 has not pushed the gradient of step 0\."):
            client.pull()
        for part in (torch.zeros(3), torch.zeros(4).double()):
            with pytest.raises(ServerError, match=r"was pushed; this server's weights are \[4\]"):
                client.links[0].push(0, 0, part, 0.0, 0)


def connected(server):
    """A stranger's connection."""
    host, port = server.address.split(":")
    return socket.create_connection((host, int(port)), ENOUGH)


@contextmanager
def proved(server):
    """A connection to server 0 whose caller holds the secret."""
    with connected(server) as connection:
        yield Wire(connection, prove(connection, SECRET, "server 0", ENOUGH))


def asked(server, *frames):
    """The answers to frames on one connection; a frame is fields, or fields and tensors."""
    with proved(server) as wire:
        answers = []
        for frame in frames:
            wire.send(*(frame if isinstance(frame, tuple) else (frame,)))
            answers.append(wire.receive()[0])
        return answers


def test_requests_that_are_none():
    hello = {"kind": "hello", "worker": 0, "fingerprint": MODEL}
    with serving() as (servers, _):
        said = asked(servers[0], {"kind": "pull"})
        assert "begins with hello, not with pull" in said[0]["error"]
        said = asked(servers[0], hello, {"kind": "dance"}, {}, {"kind": "push"}, {"kind": "count"})
        assert said[0] == {"finished": 0, "taken over": False}
        assert "not 'dance'" in said[1]["error"] and "not None" in said[2]["error"]
        assert "has step, version, loss, samples, patience; step is missing" in said[3]["error"]
        assert said[4] == {"applied": 0}  # the connection goes on


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        b"\0" * 8,
        (12).to_bytes(8, "big") + b"short",
        (1 << 60).to_bytes(8, "big"),
        random.Random(0).randbytes(1000),
        b"",
    ],
    ids=["http", "empty", "cut off", "too long", "noise", "nothing"],
)
def test_a_stranger_disturbs_nobody(bytes_sent):
    with serving(limit=Limit(steps=2)) as (servers, shards):
        client = client_of(servers)
        weights = client.pull()
        with connected(servers[0]) as stranger, proved(servers[0]) as member:
            for connection in (stranger, member.connection):
                connection.sendall(bytes_sent)
        client.push(weights, slope(0, 0))
        client.push(client.pull(), slope(0, 1))
        assert client.pull() is None and len(shards[0].notes) == 2


def test_what_is_no_frame_is_told():
    with serving() as (servers, _), proved(servers[0]) as wire:
        data = b"no file"
        wire.connection.sendall(len(data).to_bytes(8, "big") + data + wire.seals.seal(data))
        assert "no safetensors file" in wire.receive()[0]["error"]
        with pytest.raises(EOFError):
            wire.receive()


@pytest.mark.parametrize("announced", [0, 1 << 40], ids=["without a seal", "huge"])
def test_a_frame_that_no_member_sends_ends_the_connection_without_a_word(announced):
    with serving() as (servers, _), proved(servers[0]) as wire:
        wire.connection.sendall(announced.to_bytes(8, "big") + bytes(32))
        assert rest(wire.connection) == b""


def rest(connection):
    """All that still comes, until the other end closes."""
    data = b""
    with suppress(ConnectionResetError):
        while chunk := connection.recv(1 << 16):
            data += chunk
    return data


@pytest.mark.parametrize(
    "bytes_sent", [b"", b"\0" * 8, b"\0" * 64, b"GET / HTTP/1.1\r\n" + b"x" * 100]
)
def test_a_stranger_gets_a_nonce_and_a_refusal_and_nothing_else(monkeypatch, bytes_sent):
    monkeypatch.setattr(door, "PROOF", 0.2)
    with serving() as (servers, _), connected(servers[0]) as stranger:
        stranger.sendall(bytes_sent)
        refusal = bytes(32) if len(bytes_sent) >= 64 else b""
        assert rest(stranger)[32:] == refusal


def test_a_wrong_secret_is_told_to_who_has_it():
    with serving() as (servers, shards):
        with pytest.raises(ServerError) as caught:
            Client([servers[0].address], 1, MODEL, new_secret(), ENOUGH)
        said = f"Server {servers[0].address} and worker 1 do not hold the same secret"
        assert said in str(caught.value) and SECRET.decode() not in str(caught.value)
        assert servers[0].idle and not servers[0].greeted and not shards[0].notes


def test_strangers_keep_no_worker_out(monkeypatch):
    monkeypatch.setattr(door, "MOST_STRANGERS", 3)
    with serving() as (servers, shards), ExitStack() as strangers:
        silent = [strangers.enter_context(connected(servers[0])) for _ in range(20)]
        client = client_of(servers)
        assert client.push(client.pull(), slope(0, 0)) and len(shards[0].notes) == 1
        assert len(rest(silent[0])) == 32, "the oldest stranger was left"


def test_too_many_callers_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_CALLERS", 2)
    with serving(parts=1) as (servers, _):
        first, second = client_of(servers), client_of(servers, worker=1)
        with pytest.raises(ServerError, match="2 connections are open, and no more are taken"):
            client_of(servers)
        first.close()
        second.close()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_refused(number):
    with serving() as (servers, shards):
        client = client_of(servers)
        gradient = slope(0, 0)
        gradient[1] = number
        with pytest.raises(ServerError, match="gradient of step 0 holds NaN or infinity, and was"):
            client.push(client.pull(), gradient)
        assert shards[0].version == 0 and weights_of(shards).isfinite().all()


@pytest.mark.parametrize("bytes_sent", [b"", b"\0\0\0"], ids=["no greeting", "half a frame"])
def test_who_goes_silent_is_left(monkeypatch, bytes_sent):
    monkeypatch.setattr(module, "SECONDS", 0.1)
    with serving() as (servers, _), proved(servers[0]) as silent:
        silent.connection.sendall(bytes_sent)
        assert silent.connection.recv(1) == b""


def test_who_computes_for_long_is_not_left(monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.1)
    hello = {"kind": "hello", "worker": 0, "fingerprint": MODEL}
    with serving() as (servers, _), proved(servers[0]) as wire:
        for fields in (hello, {"kind": "count"}):
            wire.send(fields)
            wire.receive()
            time.sleep(0.3)


def test_tcp_asks_whether_a_silent_host_is_there():
    hello = {"kind": "hello", "worker": 0, "fingerprint": MODEL}
    with serving() as (servers, _), proved(servers[0]) as wire:
        wire.send(hello)
        wire.receive()
        (there,) = servers[0]._connections
        assert there.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert there.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30


def test_a_server_that_does_not_serve_keeps_nobody_for_ever(monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.1)
    server = Server(SECRET)
    with proved(server) as wire, pytest.raises(EOFError):
        wire.send({"kind": "hello", "worker": 0, "fingerprint": MODEL})
        wire.receive()
    server.close()


class Full:
    """A listener whose first calls find too many open files, or a caller that has left."""

    def __init__(self, listener):
        self.listener, self.errors = listener, [errno.EMFILE, errno.ECONNABORTED]

    def accept(self):
        if self.errors:
            raise OSError(self.errors.pop(), "on purpose")
        return self.listener.accept()

    def __getattr__(self, name):
        return getattr(self.listener, name)


def test_a_call_that_cannot_be_taken_does_not_end_the_server(monkeypatch):
    listening = module._at_port
    monkeypatch.setattr(module, "_at_port", lambda *place: Full(listening(*place)))
    with serving(parts=1) as (servers, shards):
        client = client_of(servers)
        client.push(client.pull(), slope(0, 0))
        assert len(shards[0].notes) == 1 and not servers[0]._door._listener.errors


def test_an_answer_that_is_too_long_is_told(monkeypatch):
    hello = {"kind": "hello", "worker": 0, "fingerprint": MODEL}
    server = Server(SECRET)
    server.serve(Shard(torch.zeros(1000), Asynchronous(), 1, 0.5), MODEL)
    monkeypatch.setattr(wire_module, "MOST_BYTES", 1000)
    said = asked(server, hello, {"kind": "pull", "step": 0, "patience": 1.0})
    assert "bytes is to be sent; 1000 are allowed" in said[1]["error"]
    server.close()


def test_a_port_in_use():
    first = Server(SECRET)
    host, port = first.address.split(":")
    with pytest.raises(ServerError, match=f"The port {port} of {host} is in use"):
        Server(SECRET, host, int(port))
    first.close()
    Server(SECRET, host, int(port)).close()  # now it is free


def test_an_address_of_another_machine():
    with pytest.raises(ServerError, match=r"A server cannot listen at 192\.0\.2\.1:4000: "):
        Server(SECRET, "192.0.2.1", 4000)


def test_a_server_answers_when_it_serves():
    server = Server(SECRET)
    found = []
    late = threading.Thread(target=lambda: found.append(client_of([server]).pull()))
    late.start()
    server.serve(Shard(torch.ones(SIZE), Asynchronous(), 1, 0.5), MODEL)
    late.join(ENOUGH)
    assert torch.equal(found[0].flat, torch.ones(SIZE))
    server.close()


def test_a_checkpoint_is_saved_and_loaded(tmp_path):
    file = tmp_path / "server.safetensors"
    server = Server(SECRET, checkpoint=file)
    server.serve(Shard(torch.zeros(SIZE), Asynchronous(), 1, 0.5), MODEL)
    client = client_of([server])
    for step in range(3):
        client.push(client.pull(), slope(0, step))
        if step == 1:
            assert client.links[0].ask({"kind": "save"})[0] == {"applied": 2}
    assert client.links[0].ask({"kind": "load"})[0] == {"applied": 2}
    notes, repeated, values = client.links[0].log()
    assert len(notes) == 2 and repeated == 0
    assert torch.allclose(values, -0.5 * (slope(0, 0) + slope(0, 1)))
    assert client.pull().step == 2  # the third step is made again
    server.close()


def test_a_checkpoint_without_a_place():
    with serving() as (servers, _), pytest.raises(ServerError, match="without a file for its ch"):
        client_of(servers).links[0].ask({"kind": "save"})


def test_a_copy_has_every_push_before_it_is_acknowledged():
    copied = Shard(torch.zeros(SIZE), Asynchronous(), 2, 0.5)
    copy = Server(SECRET, is_copy=True)
    copy.serve(copied, MODEL)
    told = Copy(copy.address, MODEL, SECRET)
    with serving(parts=1, forward=told.push, announce=told.begin) as (servers, shards):
        client = client_of(servers)
        for step in range(3):
            client.push(client.pull(), slope(0, step))
            assert torch.equal(copied.values, shards[0].values)
            assert copied.finished == [step + 1, 0]
    copy.close()


def test_stop_tells_whoever_runs_the_server():
    with serving() as (servers, _):
        assert not servers[0].stopped.is_set()
        client_of(servers).links[0].ask({"kind": "stop"})
        assert servers[0].stopped.wait(ENOUGH)
