"""Folders of launches that were killed go with the next launch; those of living ones stay."""

import os
import subprocess
import sys
import tempfile

import pytest

from labkit.distributed import launch
from labkit.distributed.launching.launch_folder import PREFIX, of_launch

ENOUGH = 300.0  # seconds: only ends a launch that would hang
KILLED = """
import os, signal
from labkit.distributed.launching.launch_folder import of_launch
with of_launch() as folder:
    (folder / "ledger").touch()
    print(folder, flush=True)
    if {waits}:
        input()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def started(waits):
    command = [sys.executable, "-c", KILLED.format(waits=waits)]
    return subprocess.Popen(command, stdin=-1, stdout=-1, text=True)


def names(room):
    return {path.name for path in room.iterdir()}


def test_what_a_killed_launch_left_goes_with_the_next(room):
    with started(waits=False) as killed:
        killed.wait()
    (left,) = room.iterdir()
    assert left.name.startswith(PREFIX) and (left / "ledger").exists()
    with of_launch() as folder:
        assert names(room) == {folder.name} != {left.name}
    assert names(room) == set()


def test_a_folder_stays_as_long_as_its_launch_lives(room):
    with started(waits=True) as living:
        name = living.stdout.readline().strip().rpartition("/")[2]
        for _ in range(2):
            with of_launch() as folder, of_launch() as inner:
                assert names(room) == {name, folder.name, inner.name}
        living.communicate("go on\n")
    with of_launch():
        assert name not in names(room)


def test_what_is_not_ours_stays(room, monkeypatch):
    """Folders of another user, of another name, and one that is just being made."""
    with started(waits=False) as killed:
        killed.wait()
    (room / f"{PREFIX}new").mkdir()
    (room / "labkit-rank").mkdir()
    (room / "labkit-rank" / "owner").touch()
    (room / f"{PREFIX}link").symlink_to(room / "labkit-rank")
    before = names(room)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: -1)
        with of_launch():
            assert names(room) > before
    with of_launch():
        pass
    assert names(room) == {f"{PREFIX}new", f"{PREFIX}link", "labkit-rank"}
    assert names(room / "labkit-rank") == {"owner"}


def test_a_launch_removes_them(room):
    with started(waits=False) as killed:
        left = killed.stdout.read().strip().rpartition("/")[2]

    def folders(rank=0, ranks=1):
        return [path.name for path in room.glob(f"{PREFIX}*")]

    ((own,),) = launch(folders, 1, timeout=ENOUGH)
    assert own != left and folders() == []
