"""A grading that is killed in the middle: nothing of it stays, and the next call goes on."""

import csv
import os
import signal
import subprocess
import sys
import time

import pytest

from labkit.course.config import config
from labkit.course.grading import command
from labkit.course.grading.command import grade
from tests.course.grading.notebooks import CHECK, ID, RIGHT, WRONG, submit

HANG = 600.0  # seconds


@pytest.mark.usefixtures("rooms")
def test_what_was_done_is_kept_and_the_rest_is_done(tmp_path, monkeypatch):
    folder, out = tmp_path / "class", tmp_path / "class-grades"
    for number in range(4):
        submit(folder, f"student_{number}", (WRONG if number % 2 else RIGHT) + CHECK)
    started = subprocess.Popen(
        [sys.executable, "-P", "-m", "labkit", "grade", str(folder), "--jobs", "1"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    end = time.monotonic() + HANG
    while not list(out.glob("state/*.json")) and time.monotonic() < end:
        time.sleep(0.05)
    rooms = _rooms_of(started.pid)
    started.send_signal(signal.SIGKILL)
    started.wait()
    done = {file.name: file.read_bytes() for file in out.glob("state/*.json")}
    assert 0 < len(done) < 4
    while any(map(_lives, rooms)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(_lives, rooms))

    graded = []
    real = command.Grading._graded
    monkeypatch.setattr(
        command.Grading,
        "_graded",
        lambda self, one, *rest: graded.append(one) or real(self, one, *rest),
    )
    assert grade(config(), str(folder)) == 0
    assert len(graded) == 4 - len(done)
    assert out.stat().st_mode & 0o077 == 0  # nobody else reads grades
    assert all((out / "state" / name).read_bytes() == data for name, data in done.items())
    rows = csv.DictReader((out / "grades.csv").read_text("utf-8").splitlines())
    words = [row["verdict"] for row in rows if row["exercise"] == ID]
    assert words == ["Right", "Look again"] * 2


def _rooms_of(pid):
    """The processes that a grading has started."""
    from labkit.checks.watch.leftovers import children

    return list(children(pid))


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
