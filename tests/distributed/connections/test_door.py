"""A door: who has been forgotten in a crowd is heard when he calls again."""

import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit.distributed.connections import door
from labkit.distributed.connections.handshake import demand, new_secret

SECRET = new_secret()
ENOUGH = 60.0  # seconds: only ends a hang


def silent(listener, calls):
    """Says nothing to the first callers, and answers the next one."""
    with ExitStack() as callers:
        for number in range(calls + 1):
            connection = callers.enter_context(listener.accept()[0])
            if number == calls:
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
        assert waiting == 4


LIMIT = Path("/proc/sys/net/core/somaxconn")


@pytest.mark.skipif(not LIMIT.exists() or int(LIMIT.read_text()) < 300, reason="few may wait here")
def test_many_calls_wait():
    with ExitStack() as callers, door.listening(("127.0.0.1", 0)) as listener:
        for _ in range(200):
            caller = callers.enter_context(socket.socket())
            caller.settimeout(10.0)
            caller.connect(listener.getsockname())


def test_a_call_that_ends_late_leaves_time_for_a_last_one(monkeypatch):
    now, given = [0.0], []

    def ends_late(place, secret, name, seconds):
        given.append(seconds)
        now[0] += 30.0
        raise TimeoutError

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: None)
    monkeypatch.setattr(door, "time", clock)
    monkeypatch.setattr(door, "_call", ends_late)
    with pytest.raises(TimeoutError):
        door.knock("/nowhere", SECRET, "server 0", 20.0)
    assert given == [door.CALL, door.PAUSE]
