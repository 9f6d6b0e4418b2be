"""Clusters take turns in the order of asking, whoever ends and however; and free ports."""

import fcntl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labkit.distributed import LaunchError
from labkit.distributed.tensorflow import turns as tf_turns

ROOT = Path(__file__).resolve().parents[3]
ENOUGH = 600.0
HOLDS = """
import sys
sys.path.insert(0, sys.argv[1])
from labkit.distributed.tensorflow import turns as tf_turns
turn = tf_turns.Turn()
print(turn.number, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
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
    words = [sys.executable, "-c", HOLDS, str(ROOT)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout.readline() == "1\n"
        with pytest.raises(LaunchError):
            tf_turns.Turn(timeout=0.1)
        holder.kill()
        holder.wait(ENOUGH)
        tf_turns.Turn(ENOUGH).end()
    assert tickets(here) == []


def test_nobody_else_can_enter_the_folder(here):
    turn = tf_turns.Turn()
    assert turn.folder.is_relative_to(here)
    assert turn.folder.stat().st_mode & 0o777 == 0o700
    turn.end()


def test_a_gate_that_somebody_holds_keeps_nobody_waiting_for_ever(here):
    turn = tf_turns.Turn()
    turn.end()
    with (turn.folder / "gate").open("a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        with pytest.raises(LaunchError, match=r"held .*gate locked for 0\.1 s.* end that program"):
            tf_turns.Turn(timeout=0.1)
    tf_turns.Turn(ENOUGH).end()
    assert tickets(here) == []


def test_a_gate_that_is_held_only_later_keeps_nobody_waiting_for_ever_either(here, monkeypatch):
    first, comes = tf_turns.Turn(), tf_turns.Turn._comes
    with (first.folder / "gate").open("a") as gate:

        def hold_then_look(turn):
            fcntl.flock(gate, fcntl.LOCK_EX)
            return comes(turn)

        monkeypatch.setattr(tf_turns.Turn, "_comes", hold_then_look)
        with pytest.raises(LaunchError, match="running on this machine"):
            tf_turns.Turn(timeout=0.1)
    first.end()
    assert tickets(here) == []


@pytest.fixture
def made(here):
    """The folder, after a cluster that has ended."""
    turn = tf_turns.Turn()
    turn.end()
    return turn.folder


def test_a_folder_of_another_user_is_refused(made, monkeypatch):
    monkeypatch.setattr(tf_turns.os, "getuid", lambda: made.stat().st_uid + 1)
    with pytest.raises(LaunchError, match=f"{made}, .* belongs to another user, .* LABKIT_CACHE"):
        tf_turns.Turn(timeout=0.1)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_is_open_to_others_is_refused(mode, made):
    made.chmod(mode)
    with pytest.raises(LaunchError, match="or is open to others"):
        tf_turns.Turn(timeout=0.1)


def test_a_link_instead_of_the_folder_is_refused(made):
    made.rename(made.with_name("elsewhere"))
    made.symlink_to(made.with_name("elsewhere"))
    with pytest.raises(LaunchError, match="or is open to others"):
        tf_turns.Turn(timeout=0.1)


def test_a_folder_that_cannot_be_made_is_told(here, monkeypatch):
    (here / "file").touch()
    monkeypatch.setenv("LABKIT_CACHE", str(here / "file"))
    with pytest.raises(LaunchError, match=f"{here / 'file'}.* cannot be made: Not a directory"):
        tf_turns.Turn(timeout=0.1)


def test_ports_are_all_different_and_free():
    ports = [port for port, _ in zip(tf_turns.free_ports(), range(50), strict=False)]
    assert len(set(ports)) == 50
    assert all(20_000 <= port < 32_000 for port in ports)
