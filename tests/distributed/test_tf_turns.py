"""Clusters take turns in the order of asking, whoever ends and however; and free ports."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labkit.distributed import LaunchError, tf_turns

ROOT = Path(__file__).resolve().parents[2]
ENOUGH = 600.0
HOLDS = """
import sys
sys.path.insert(0, sys.argv[1])
from labkit.distributed import tf_turns
tf_turns.tempfile.gettempdir = lambda: sys.argv[2]
turn = tf_turns.Turn()
print(turn.number, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(tf_turns.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def tickets(folder):
    return sorted(path.name for path in folder.rglob("*.ticket"))


def test_a_second_cluster_waits_until_the_first_has_ended(here):
    first = tf_turns.Turn()
    with pytest.raises(
        LaunchError, match=r"running on this machine for 0\.1 s. End them, or the note"
    ):
        tf_turns.Turn(timeout=0.1)
    assert tickets(here) == ["1.ticket"], "who gave up waits no more"
    first.end()
    second = tf_turns.Turn(timeout=0.1)
    first.end()
    assert tickets(here) == ["1.ticket"], "a second end takes nothing from the next"
    second.end()
    assert tickets(here) == []


def test_the_turn_comes_in_the_order_of_asking(here):
    first = tf_turns.Turn()
    came, turns = [], {}

    def wait(name):
        turns[name] = tf_turns.Turn(ENOUGH)
        came.append(name)

    threads = []
    for place, name in enumerate(["b", "c", "d"]):
        threads.append(threading.Thread(target=wait, args=(name,)))
        threads[-1].start()
        while len(tickets(here)) < place + 2:
            pass
    for ends in (first, "b", "c"):
        assert len(came) == len(turns)
        (turns.get(ends) or ends).end()
        while len(came) < {first: 1, "b": 2, "c": 3}[ends]:
            pass
    turns["d"].end()
    for thread in threads:
        thread.join(ENOUGH)
    assert came == ["b", "c", "d"]


def test_a_killed_holder_holds_nobody_up(here):
    words = [sys.executable, "-c", HOLDS, str(ROOT), str(here)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout.readline() == "1\n"
        with pytest.raises(LaunchError):
            tf_turns.Turn(timeout=0.1)
        holder.kill()
        holder.wait(ENOUGH)
        tf_turns.Turn(ENOUGH).end()
    assert tickets(here) == []


def test_ports_are_all_different_and_free():
    ports = [port for port, _ in zip(tf_turns.free_ports(), range(50), strict=False)]
    assert len(set(ports)) == 50
    assert all(20_000 <= port < 32_000 for port in ports)
