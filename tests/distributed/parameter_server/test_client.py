"""A worker's side: what it does when servers do not answer, come back, or have lost steps."""

import socket
import threading
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice

import pytest
import torch

from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.parameter_server import Asynchronous, Client, Server, ServerError, Shard
from labkit.distributed.parameter_server.protocol.link import Link, by_name
from labkit.distributed.parameter_server.replication import Copy
from labkit.distributed.tensorflow.turns import free_ports

ENOUGH = 60.0  # seconds: only ends a hang
MODEL = "version 1: weight[4]"
SECRET = new_secret()


def shard(**options):
    return Shard(torch.zeros(4), Asynchronous(), 1, 0.5, **options)


def server_of(one, port=0, number=0):
    server = Server(SECRET, port=port, number=number)
    server.serve(one, MODEL)
    return server


def port_of(server):
    return int(server.address.split(":")[1])


def test_a_server_that_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServerError) as caught:
            Client([address], 3, MODEL, SECRET, timeout=0.3)
    said = str(caught.value)
    assert f"Worker 3 waited 0.3 s for its greeting, and server {address} did not answer" in said
    assert "(nothing came)" in said and "can this host reach it?" in said
    port = address.partition(":")[2]
    assert f"`ss -nl -tp 'sport = :{port}'` names it" in said  # a stranger at the port


def test_a_server_that_trickles_has_not_answered():
    over = threading.Event()

    def trickle(listener):
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall((1 << 20).to_bytes(8, "big"))
            while not over.wait(0.01):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle, args=(listener,))
        thread.start()
        threading.Timer(ENOUGH / 2, over.set).start()
        with pytest.raises(ServerError, match=r"waited 0\.3 s for its greeting, .* \(nothing came"):
            Client([f"127.0.0.1:{listener.getsockname()[1]}"], 0, MODEL, SECRET, timeout=0.3)
        over.set()
        thread.join(ENOUGH)


def test_a_server_that_is_not_there():
    address = f"127.0.0.1:{next(free_ports())}"
    with pytest.raises(ServerError, match=r"server .* did not answer \(.*Connection refused\)"):
        Client([address], 0, MODEL, SECRET, timeout=0.2)


def test_a_server_that_dies_later_is_told_with_what_was_waited_for():
    server = server_of(shard())
    client = Client([server.address], 0, MODEL, SECRET, timeout=0.3)
    weights = client.pull()
    server.close()
    with pytest.raises(ServerError, match=r"waited 0\.3 s for the receipt of its step 0, and"):
        client.push(weights, torch.ones(4))


@pytest.mark.parametrize("address", ["here", "127.0.0.1", ":40", "host:x", "host:0", "host:70000"])
def test_an_address_that_is_none(address):
    with pytest.raises(ServerError, match="address is host:port"):
        Client([address], 0, MODEL, SECRET)


def test_a_server_that_comes_back_at_its_address():
    one = shard()
    server = server_of(one)
    client = Client([server.address], 0, MODEL, SECRET, timeout=ENOUGH)
    weights = client.pull()
    server.close()
    back = threading.Timer(0.2, lambda: found.append(server_of(one, port_of(server))))
    found = []
    back.start()
    client.push(weights, torch.ones(4))
    assert len(one.notes) == 1 and one.repeated == 0
    back.join(ENOUGH)
    found[0].close()


class Forgetful(Shard):
    """Its first acknowledgement is lost: the server dies between applying and answering."""

    server = None

    def push(self, *push, **options):
        finished = super().push(*push, **options)
        if self.server is not None:
            server, self.server = self.server, None
            server.close()
            self.came_back = server_of(self, port_of(server))
        return finished


@pytest.mark.parametrize(("once", "applied"), [(True, 1), (False, 2)])
def test_a_lost_receipt_is_asked_for_again(once, applied):
    one = Forgetful(torch.zeros(4), Asynchronous(), 1, 0.5, once=once)
    one.server = server_of(one)
    client = Client([one.server.address], 0, MODEL, SECRET, timeout=ENOUGH)
    client.push(client.pull(), torch.ones(4))
    assert len(one.notes) == applied and one.repeated == 1
    assert torch.equal(one.values, torch.full((4,), -0.5 * applied))
    one.came_back.close()


@contextmanager
def squatting(address):
    """Somebody without the secret listens there, and answers each call with wrong bytes."""
    host, port = address.split(":")

    def squat():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(bytes(32))
                    connection.recv(64, socket.MSG_WAITALL)
                    connection.sendall(b"x" * 32)

    with socket.create_server((host, int(port))) as listener:
        thread = threading.Thread(target=squat)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(ENOUGH)


@pytest.mark.parametrize("afterwards", [lambda _: nullcontext(), squatting], ids=["free", "taken"])
def test_a_copy_takes_over(afterwards):
    """Whoever takes the dead server's port meanwhile."""
    copied = shard()
    copy = Server(SECRET, is_copy=True)
    copy.serve(copied, MODEL)
    told = Copy(copy.address, MODEL, SECRET)
    server = server_of(shard(forward=told.push, announce=told.begin))
    client = Client([server.address], 0, MODEL, SECRET, ENOUGH, copies=[copy.address])
    for _ in range(2):
        client.push(client.pull(), torch.ones(4))
    server.close()
    with afterwards(server.address):
        weights = client.pull()
        assert weights.step == 2 and torch.equal(weights.flat, torch.full((4,), -1.0))
        client.push(weights, torch.ones(4))
        assert len(copied.notes) == 3 and client.links[0].address == copy.address
    copy.close()


def test_no_copy_either():
    copy, address = (f"127.0.0.1:{port}" for port in islice(free_ports(), 2))
    with pytest.raises(ServerError, match=f"server {address} and its copy {copy} did not answer"):
        Client([address], 0, MODEL, SECRET, timeout=0.2, copies=[copy])


def test_a_step_that_one_of_two_servers_has_is_made_again():
    """The worker died between its two pushes; the one that comes back repeats the step."""
    shards = [Shard(torch.zeros(2), Asynchronous(), 1, 0.5) for _ in range(2)]
    servers = [server_of(one, number=number) for number, one in enumerate(shards)]
    addresses = [server.address for server in servers]
    first = Client(addresses, 0, MODEL, SECRET, ENOUGH)
    weights = first.pull()
    first.links[0].push(0, 0, torch.ones(2), 0.0, 0)
    first.close()
    again = Client(addresses, 0, MODEL, SECRET, ENOUGH)
    weights = again.pull()
    assert weights.step == 0 and weights.versions == (1, 0)
    again.push(weights, torch.ones(4))
    assert [len(one.notes) for one in shards] == [1, 1]
    assert [one.repeated for one in shards] == [1, 0]
    assert again.pull().step == 1
    for server in servers:
        server.close()


def test_a_server_that_has_lost_steps_gets_them_again():
    shards = [Shard(torch.zeros(2), Asynchronous(), 1, 0.5) for _ in range(2)]
    servers = [server_of(one, number=number) for number, one in enumerate(shards)]
    client = Client([server.address for server in servers], 0, MODEL, SECRET, ENOUGH)
    early = shards[1].state()
    for _ in range(3):
        client.push(client.pull(), torch.ones(4))
    shards[1].load_state(*early)
    steps = []
    for _ in range(5):
        weights = client.pull()
        steps.append(weights.step)
        client.push(weights, torch.ones(4))
    assert steps == [0, 1, 2, 3, 4]
    assert [one.finished for one in shards] == [[5], [5]]
    assert [one.repeated for one in shards] == [3, 0]
    for server in servers:
        server.close()


def test_who_does_not_prove_the_secret_gets_no_second_request():
    """He answers the proof with 32 wrong bytes; what he is sent afterwards is a proof again."""
    heard = []

    def squat(listener):
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(bytes(32))
                proof = connection.recv(64, socket.MSG_WAITALL)
                connection.sendall(b"x" * 32)
                heard.append((len(proof), connection.recv(1)))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=squat, args=(listener,))
        thread.start()
        link = Link(
            by_name(0, f"127.0.0.1:{listener.getsockname()[1]}", None),
            0,
            MODEL,
            SECRET,
            timeout=ENOUGH,
        )
        for _ in range(2):
            with pytest.raises(ServerError, match=r"same secret.* names it; end it"):
                link.ask({"kind": "log"})
        thread.join(ENOUGH)
    assert heard == [(64, b"")] * 2
