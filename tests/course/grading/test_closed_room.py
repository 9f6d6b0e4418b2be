"""What a program in a closed room finds: no network, no files of others, no rights, and an end."""

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.course import CourseError
from labkit.course.grading.answer_keys import course_of
from labkit.course.grading.closed_process import ClosedProcess, Ended
from labkit.course.grading.rooms import lesson_folders, room
from tests.course.grading.notebooks import SMALL

STUDENT = "labkit.course.grading.student_process"
ATTEMPTS = {
    "reads a file of the grader's": "open({secret!r}).read()",
    "lists the folder of the grader": "os.listdir({folder!r})",
    "reads the course's solutions": "from labkit_lessons.gpu.tiles.solutions import matmul_tiled",
    "reads the course's exercises": "from labkit_lessons.gpu.tiles.exercises import EXERCISES",
    "writes into the course": "open(labkit.__file__, 'a')",
    "reads the passwords": "open('/etc/shadow').read()",
    "reaches a server outside": "socket.create_connection(('127.0.0.1', {port}), timeout=5)",
    "becomes root": "os.setuid(0)",
    "mounts": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) and 1 / 0 or 1 / 0",
    "sees another process": "os.kill({pid}, 0)",
    "ends the first process": "os.kill(1, 9)",
    "fills the disk": "[open(f'/tmp/{{n}}', 'wb').write(bytes(2**20)) for n in range(1000)]",
    "starts many processes": "[os.fork() or time.sleep(600) for _ in range(100)]",
    "takes memory": "bytearray(2**31)",
}
BEFORE = "import ctypes, os, socket, time, labkit\nlibc = ctypes.CDLL(None)\n"


@pytest.fixture
def place(rooms, tmp_path):
    return room(tmp_path / "room", limits=replace(SMALL, processes=20))


def hidden():
    return course_of(lesson_folders()[0], [], lesson_folders()).hidden


def run(place, text, seconds=30.0):
    """What failed in a cell with this text."""
    with ClosedProcess(place, STUDENT, 61_700, hidden()) as process:
        lines = list(range(1, text.count("\n") + 2))
        return process.ask({"cells": [[1, text, lines]], "given": {}}, seconds)["failures"]


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_fails(place, tmp_path, name):
    (tmp_path / "secret.txt").write_text("grades")
    with socket.create_server(("127.0.0.1", 0)) as server:
        attempt = ATTEMPTS[name].format(
            secret=str(tmp_path / "secret.txt"),
            folder=str(tmp_path),
            port=server.getsockname()[1],
            pid=os.getpid(),
        )
        failures = run(place, BEFORE + attempt)
    assert [line for _, line, _ in failures] == [3], failures


def test_what_it_needs_is_there(place):
    text = (
        BEFORE
        + "import numpy, torch, labkit.gpu\nfrom labkit_lessons.gpu.tiles import tile_parts\n"
    )
    text += "open('/tmp/own', 'w').write('x')\na = socket.create_server(('127.0.0.1', 0))\n"
    assert run(place, text) == []


def test_work_without_end_is_ended(place):
    with pytest.raises(Ended, match="worked longer"):
        run(place, "while True:\n    pass", seconds=4)


def test_memory_of_many_processes_is_counted_together(place):
    text = "import os, time\nfor _ in range(8):\n    if not os.fork():\n"
    text += (
        "        a = bytearray(2**28)\n        a[::4096] = bytes(2**16)\n        time.sleep(60)\n"
    )
    with pytest.raises(Ended, match="took more than 1 GiB"):
        run(place, text + "time.sleep(60)")


def test_nothing_of_a_room_is_left(place):
    text = "import os, time\nopen('/tmp/x', 'w').write('x')\nos.fork() or time.sleep(600)"
    with ClosedProcess(place, STUDENT, 61_700) as process:
        process.ask({"cells": [[1, text, [1, 2, 3]]], "given": {}}, 30)
        started = process._processes()
        assert len(started) > 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert os.listdir(place.root) == []


def test_without_namespaces_nothing_is_run(place, monkeypatch, tmp_path):
    from labkit.course.grading import closed_room

    text = Path(closed_room.__file__).read_text("utf-8")
    refusing = text.replace("checked(libc.unshare(", "checked(libc.unshare(-1) or (")
    assert refusing != text
    (tmp_path / "closed_room.py").write_text(refusing)
    monkeypatch.setattr(closed_room, "__file__", str(tmp_path / "closed_room.py"))
    with pytest.raises(CourseError, match="no closed room for students' code here"):
        run(place, "open('/tmp/was_run', 'w')")


def test_unprotected_is_limited_all_the_same(tmp_path):
    place = room(tmp_path / "room", closed=False, limits=SMALL)
    assert run(place, "a = 1") == []
    with pytest.raises(Ended, match="worked longer"):
        run(place, "while True:\n    pass", seconds=4)
