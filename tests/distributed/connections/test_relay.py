"""The relay: never earlier than alpha, every byte in order, both ends closed, no process left."""

import errno
import hashlib
import os
import queue
import random
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from labkit.distributed.connections import relay
from labkit.distributed.connections.relay import SEGMENT, relayed

ROOT = Path(__file__).resolve().parents[3]
ENOUGH = 60.0  # seconds: ends a hang


@contextmanager
def server(serve):
    """A listener whose first connection `serve(connection)` gets, in a thread; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(ENOUGH)
                serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join(ENOUGH)
        assert not thread.is_alive()


def echo(connection):
    while data := connection.recv(SEGMENT):
        connection.sendall(data)


def read_all(connection):
    parts = []
    while data := connection.recv(SEGMENT):
        parts.append(data)
    return b"".join(parts)


def open_to(address):
    connection = socket.create_connection(address, timeout=ENOUGH)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.05])
def test_a_ping_pong_takes_alpha_each_way_and_never_less(seconds):
    with server(echo) as place, relayed(place, seconds) as address, open_to(address) as wire:
        for ping in range(5):
            begin = time.monotonic()
            wire.sendall(bytes([ping]))
            assert wire.recv(1) == bytes([ping])
            assert time.monotonic() - begin >= 2 * seconds


def test_every_byte_comes_in_order_both_ways_at_once():
    """Pieces of many sizes, so that segments begin and end anywhere."""
    rng = random.Random(0)
    out, back = rng.randbytes(3_000_001), rng.randbytes(2_000_003)
    got = []

    def serve(connection):
        sender = threading.Thread(target=lambda: connection.sendall(back), daemon=True)
        sender.start()
        got.append(read_all(connection))
        sender.join()

    with server(serve) as place, relayed(place, 0.005) as address, open_to(address) as wire:

        def send():
            at = 0
            while at < len(out):
                size = rng.choice([1, 7, 1000, 65_536, 200_000])
                wire.sendall(out[at : at + size])
                at += size
            wire.shutdown(socket.SHUT_WR)  # the end is forwarded, and the other way stays open

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        came = read_all(wire)
        sender.join()
    assert hashlib.sha256(came).digest() == hashlib.sha256(back).digest()
    assert hashlib.sha256(got[0]).digest() == hashlib.sha256(out).digest()


def test_what_follows_is_held_at_the_same_time():
    """A relay that held one segment after the other would need over two minutes for all."""
    data, alpha = bytes(256 * SEGMENT), 0.5
    got = []
    with (
        server(lambda connection: got.append(len(read_all(connection)))) as place,
        relayed(place, alpha) as address,
        open_to(address) as wire,
    ):
        begin = time.monotonic()
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
        assert wire.recv(1) == b""
        seconds = time.monotonic() - begin
    assert got == [len(data)]
    assert alpha <= seconds < 256 * alpha / 2


def test_one_end_that_closes_closes_the_other():
    says = lambda connection: connection.sendall(b"last words")  # noqa: E731
    with server(says) as place, relayed(place, 0.01) as address, open_to(address) as wire:
        assert read_all(wire) == b"last words"
    closed = threading.Event()

    def serve(connection):
        assert connection.recv(1) == b""
        closed.set()

    with server(serve) as place, relayed(place, 0.01) as address:
        open_to(address).close()
        assert closed.wait(ENOUGH)


def test_an_end_that_is_reset_ends_the_other():
    """A target that is gone without reading: the sender is not left to fill a queue for ever."""
    reads = lambda connection: connection.recv(1)  # noqa: E731
    with server(reads) as place, relayed(place, 0.001) as address, open_to(address) as wire:
        wire.settimeout(10 * ENOUGH)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            while True:
                wire.sendall(bytes(SEGMENT))


def test_a_target_that_is_not_there_reads_as_an_end():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = listener.getsockname()
    with relayed(place, 0.01) as address, open_to(address) as wire:
        assert wire.recv(1) == b""


class Accepts:
    """A listener whose accept gives what it is told: an error is raised, a socket is given."""

    def __init__(self):
        self.next = queue.Queue()

    def accept(self):
        given = self.next.get()
        if isinstance(given, BaseException):
            raise given
        return given, ("127.0.0.1", 9)

    def call(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            wire = open_to(listener.getsockname())
            self.next.put(listener.accept()[0])
        return wire


@contextmanager
def accepting():
    """`_accept` in a thread, before a server that echoes to every caller; its listener."""
    calls, server = Accepts(), socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    place = server.server_address

    def accept():
        with suppress(SystemExit):
            relay._accept(calls, place, 0.0)

    targets = (server.serve_forever, accept)
    threads = [threading.Thread(target=target, daemon=True) for target in targets]
    with server:
        for thread in threads:
            thread.start()
        yield calls
        server.shutdown()
        calls.next.put(SystemExit())
        for thread in threads:
            thread.join(ENOUGH)
            assert not thread.is_alive()


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        with suppress(OSError):
            echo(self.request)


def answers(wire):
    with suppress(OSError):
        wire.sendall(b"x")
        return wire.recv(1) == b"x"
    return False


def end_of(wire):
    with wire:
        wire.shutdown(socket.SHUT_WR)
        assert wire.recv(1) == b""


def test_calls_that_cannot_be_accepted_end_nothing():
    with accepting() as calls:
        calls.next.put(OSError(errno.EMFILE, "Too many open files"))
        calls.next.put(ConnectionAbortedError())
        wire = calls.call()
        assert answers(wire)
        end_of(wire)


def test_a_caller_too_many_reads_the_end_and_keeps_no_place(monkeypatch):
    monkeypatch.setattr(relay, "MOST_CONNECTIONS", 2)
    with accepting() as calls:
        first, second, third = calls.call(), calls.call(), calls.call()
        assert [answers(wire) for wire in (first, second, third)] == [True, True, False]
        assert answers(first)
        end_of(first)
        end = time.monotonic() + ENOUGH
        while not answers(fourth := calls.call()):  # until the first one's place is free
            assert time.monotonic() < end
            fourth.close()
        assert answers(second)
        third.close()
        end_of(second)
        end_of(fourth)


def test_a_silent_caller_keeps_no_place_once_the_target_has_closed(monkeypatch):
    monkeypatch.setattr(relay, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(Echo, "handle", lambda self: self.request.recv(1))  # and then it closes
    with accepting() as calls:
        silent = [calls.call(), calls.call()]
        for wire in silent:
            wire.sendall(b"x")
            assert wire.recv(1) == b""
        monkeypatch.undo()
        end = time.monotonic() + ENOUGH
        while not answers(wire := calls.call()):  # though the two are still there
            assert time.monotonic() < end
            wire.close()
        end_of(wire)
        for wire in silent:
            wire.close()


def children():
    """The processes that this one has started and that still are."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_no_process_is_left():
    before = children()
    with server(echo) as place, relayed(place, 0.01) as address, open_to(address) as wire:
        wire.sendall(b"x")
        assert wire.recv(1) == b"x"
        assert len(children() - before) == 1
    assert children() <= before
    with pytest.raises(ZeroDivisionError), relayed(place, 0.01):
        raise ZeroDivisionError
    assert children() <= before


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_relay_ends_with_the_process_that_started_it():
    code = (
        "import os, signal, subprocess\n"
        "from labkit.distributed.connections import relay\n"
        "began = subprocess.Popen\n"
        "class Told(began):\n"
        "    def __init__(self, *a, **k):\n"
        "        super().__init__(*a, **k); print(self.pid, flush=True)\n"
        "subprocess.Popen = Told\n"
        "with relay.relayed(('127.0.0.1', 9), 1.0):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=ENOUGH,
    )
    assert ran.returncode == -signal.SIGKILL
    pid = int(ran.stdout)
    end = time.monotonic() + ENOUGH
    while Path(f"/proc/{pid}/cmdline").exists() and b"relay" in _command(pid):
        assert time.monotonic() < end
        time.sleep(0.01)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_nonsense_is_refused(seconds):
    with pytest.raises(ValueError, match="0 seconds or more"), relayed(("127.0.0.1", 9), seconds):
        pass
