"""A door: who has been forgotten in a crowd is heard when he calls again."""

import socket
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit.distributed.connections import door
from labkit.distributed.connections.handshake import HandshakeError, demand, new_secret

SECRET = new_secret()
ENOUGH = 60.0  # seconds: only ends a hang


def silent(listener, calls):
    """Says nothing to the first callers, and answers all others: a busy one may call again."""
    with ExitStack() as callers, suppress(OSError):
        for _ in range(calls):
            callers.enter_context(listener.accept()[0])
        while True:
            connection = callers.enter_context(listener.accept()[0])
            with suppress(OSError, HandshakeError):
                demand(connection, SECRET, "server 0", ENOUGH)


@pytest.mark.parametrize("kind", ["port", "file"])
def test_who_hears_nothing_calls_again(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "CALL", 0.1)
    place = ("127.0.0.1", 0) if kind == "port" else str(tmp_path / "socket")
    with door.listening(place) as listener:
        threading.Thread(target=silent, args=(listener, 2), daemon=True).start()
        place = listener.getsockname() if kind == "port" else place
        connection, seals = door.knock(place, SECRET, "server 0", ENOUGH)
        assert seals
        connection.close()


def test_in_the_end_nobody_calls_any_more(monkeypatch):
    monkeypatch.setattr(door, "CALL", 0.1)
    with door.listening(("127.0.0.1", 0)) as listener:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            door.knock(listener.getsockname(), SECRET, "server 0", 0.35)
        assert time.monotonic() - start >= 0.35
        waiting = 0
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                listener.accept()[0].close()
                waiting += 1
        assert 1 <= waiting <= 4  # a busy machine has time for fewer


LIMIT = Path("/proc/sys/net/core/somaxconn")


@pytest.mark.skipif(not LIMIT.exists() or int(LIMIT.read_text()) < 300, reason="few may wait here")
def test_many_calls_wait():
    with ExitStack() as callers, door.listening(("127.0.0.1", 0)) as listener:
        for _ in range(200):
            caller = callers.enter_context(socket.socket())
            caller.settimeout(10.0)
            caller.connect(listener.getsockname())


@pytest.mark.parametrize(
    ("late", "seconds", "expected"),
    [
        (0.0, 3.5 * door.CALL, [door.CALL, door.CALL, door.CALL, door.CALL / 2]),
        (30.0, 20.0, [door.CALL, door.PAUSE]),  # a call that ended late leaves time for a last one
    ],
)
def test_whom_nobody_answers_calls_until_his_time_is_over(monkeypatch, late, seconds, expected):
    now, given = [0.0], []

    def unanswered(place, secret, name, seconds):
        given.append(seconds)
        now[0] += seconds + late
        raise TimeoutError

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: None)
    monkeypatch.setattr(door, "time", clock)
    monkeypatch.setattr(door, "_call", unanswered)
    with pytest.raises(TimeoutError):
        door.knock("/nowhere", SECRET, "server 0", seconds)
    assert given == expected
