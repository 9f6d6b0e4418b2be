"""Whatever is handed in has a row, and the others are graded: one folder with all of it."""

import csv
import json
import os
from pathlib import Path

import pytest

from labkit.checks.watch.leftovers import children
from labkit.course import CourseError
from labkit.course.config import config
from labkit.course.grading import command
from labkit.course.grading.answers import Seconds
from labkit.course.grading.command import grade
from tests.course.grading.notebooks import (
    CHECK,
    ID,
    LESSON,
    RIGHT,
    SMALL,
    WRONG,
    course_notebook,
    submit,
    text_cell,
)

QUICK = Seconds(cells=6, answer=30)
TWICE = f"{RIGHT}{CHECK}"
TOP_LEVEL = {  # statements beside a right answer, which some answer needs
    "loops": "one_output = None\nwhile True:\n    one_output = 1\n",
    "forks": "import os\none_output = None\nfor _ in range(10_000):\n    one_output = os.fork()\n",
    "fills_memory": "one_output = None\none_output = [bytearray(2**24) for _ in range(4_000)]\n",
    "fills_the_disk": "one_output = None\nwith open('/tmp/x', 'wb') as one_output:\n"
    "    while True:\n        one_output.write(bytes(2**20))\n",
}
IN_THE_ANSWER = {
    "prints_megabytes": "print('x' * 50_000_000)",
    "deletes_files": "import shutil; shutil.rmtree('/', ignore_errors=True)",
    "changes_labkit": "import labkit.checks.compare as c; c.compare = lambda *a: None",
    "ends": "import ctypes; ctypes.CDLL(None)._exit(0)",
}


@pytest.fixture(scope="module")
def graded(rooms, tmp_path_factory):
    """The rows of a folder with one submission of each kind, by the file's name."""
    folder = tmp_path_factory.mktemp("class")
    submit(
        folder,
        "right",
        TWICE,
        'predict("gpu.nudge_digits", 8, "digits")\nquiz("gpu.quiz_mean_loss", "a")',
    )
    submit(folder, "wrong", WRONG + CHECK, text_cell("I think it is because of the bias."))
    for name, statement in TOP_LEVEL.items():
        submit(folder, name, statement, TWICE)
    for name, act in IN_THE_ANSWER.items():
        body = f"def one_output(x, w, b):\n    {act}\n    return np.sum(x * w) - b\n"
        submit(folder, name, body, CHECK)
    submit(folder, "no_answers", "x = 3\n")
    submit(
        folder,
        "an_empty_lesson",
        text_cell("nothing"),
        'predict("gpu.nudge_digits", None, "digits")',
    )
    submit(folder, "checked_twice", TWICE, WRONG + CHECK)
    submit(folder, "not_python", "def one_output(:\n", WRONG + CHECK)
    submit(folder, "no_exercise_today", TWICE, 'check("gpu.of_another_year", one_output)')
    submit(folder, "older", TWICE, source_sha256="0" * 64)
    submit(folder, "anna/first", TWICE)
    submit(folder, "anna/second", WRONG + CHECK)
    (folder / "other.ipynb").write_text(json.dumps(course_notebook("01_gpu/6_tiles")))
    (folder / "cut.ipynb").write_text('{"cells": [')
    (folder / "picture.ipynb").write_bytes(bytes(range(256)))
    (folder / "deep.ipynb").write_text("[" * 100_000)
    (folder / "empty.ipynb").write_text("")
    (folder / "essay.txt").write_text("I could not open the notebook.")
    os.symlink("/etc/shadow", folder / "link.ipynb")
    out = folder.parent / "grades"
    assert grade(config(), str(folder), str(out), lesson=LESSON, jobs=2, limits=SMALL,
                 seconds=QUICK) == 0  # fmt: skip
    rows = {}
    for row in csv.DictReader((out / "grades.csv").read_text("utf-8").splitlines()):
        rows.setdefault(row["file"].removesuffix(".ipynb"), []).append(row)
    return rows, out


def word(graded, name):
    """The verdict on the one exercise that the submissions answer, and the whole row."""
    rows = [row for row in graded[0][name] if row["exercise"] in (ID, "")]
    assert len(rows) == 1
    return rows[0]["verdict"], rows[0]


def test_every_file_has_rows(graded):
    rows, out = graded
    assert len(rows) == 25 and all(rows.values())
    page = (out / "grades.html").read_text("utf-8")
    assert "I think it is because of the bias." in page and "prints_megabytes" in page


def test_a_right_and_a_wrong_answer(graded):
    assert word(graded, "right")[0] == "Right"
    verdict, row = word(graded, "wrong")
    assert verdict == "Look again" and "added" in row["diagnosis"]
    assert word(graded, "right")[1]["predictions"] == "1"
    assert word(graded, "right")[1]["quiz"] in ("1 right of 1", "0 right of 1")


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_what_ends_a_process_does_not_take_the_answer_along(graded, name):
    assert word(graded, name)[0] == "Right"


@pytest.mark.parametrize("name", IN_THE_ANSWER)
def test_an_answer_that_does_harm_is_not_right(graded, name):
    assert word(graded, name)[0] in ("Look again", "Stopped")


@pytest.mark.parametrize(
    ("name", "verdict", "note"),
    [
        ("no_answers", "Not graded", "No exercise of the course"),
        ("an_empty_lesson", "No answer", ""),
        ("checked_twice", "Right", "checked several times"),
        ("not_python", "Look again", "Cell 3, line 1 is not valid Python"),
        ("no_exercise_today", "Right", "gpu.of_another_year is no exercise"),
        ("older", "Right", "another version of the lesson"),
        ("anna/first", "Right", "several submissions of this name"),
        ("anna/second", "Look again", "several submissions of this name"),
        ("other", "Not graded", "another lesson, 01_gpu/6_tiles"),
        ("cut", "Not graded", "not valid JSON"),
        ("picture", "Not graded", "no notebook"),
        ("deep", "Not graded", "no notebook"),
        ("empty", "Not graded", "not valid JSON"),
        ("essay.txt", "Not graded", "not valid JSON"),
        ("link", "Not graded", "a link"),
    ],
)
def test_a_verdict_and_what_to_know_of_it(graded, name, verdict, note):
    found, row = word(graded, name)
    assert found == verdict and note in row["note"]


def test_a_second_call_runs_nothing_again(graded, monkeypatch, capsys):
    _, out = graded
    monkeypatch.setattr(command, "Grader", None)
    folder = next(out.parent.glob("class*"))
    before = (out / "grades.csv").read_bytes()
    grade(config(), str(folder), str(out), lesson=LESSON, limits=SMALL, seconds=QUICK)
    assert (out / "grades.csv").read_bytes() == before
    assert "grades.csv" in capsys.readouterr().out


def test_nothing_stays(graded):
    _, out = graded
    assert list((out / "room").iterdir()) == []
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(os.getpid())]
    assert not [one for one in commands if b"closed_room" in one]


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(CourseError, match="nothing is there to grade"):
        grade(config(), str(tmp_path))
    with pytest.raises(CourseError, match="is no folder"):
        grade(config(), str(tmp_path / "missing"))
