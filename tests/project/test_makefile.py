"""The Makefile, with a Python that only notes what it is asked."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import SIMT, SLOW, TESTS, place_of

ROOT = Path(__file__).resolve().parents[2]
NOTES = """#!/bin/sh
echo "$* | $LABKIT_HOME | $LABKIT_PROGRESS | $LABKIT_OFFLINE" >>"$CALLS"
case "$*" in *"$FAIL"*) exit 3 ;; esac
"""
AT_ONCE = "-m pytest --quiet --nbval --numprocesses={} tests"


@pytest.fixture
def course(tmp_path):
    """A checkout whose set-up is done and whose Python only takes notes."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    (tmp_path / "chapters" / "01_gpu" / "source").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path)
    for path, script in ((".venv/bin/python", NOTES), ("tools/setup.sh", "#!/bin/sh\nexit 0\n")):
        (tmp_path / path).write_text(script)
        (tmp_path / path).chmod(0o755)
    return tmp_path


def make(course: Path, *arguments: str, fail: str = "never") -> tuple[int, list[str]]:
    """Exit code of make, and the calls of Python."""
    calls = course / "calls"
    env = {**os.environ, "CALLS": str(calls), "FAIL": fail, "LABKIT_HOME": "/the/learner's/own"}
    for name in ("MAKEFLAGS", "MAKELEVEL", "ARGS"):
        env.pop(name, None)
    done = subprocess.run(["make", *arguments], cwd=course, env=env, capture_output=True, text=True)
    return done.returncode, calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize(
    ("asked", "pytests"),
    [
        (("test",), f"{AT_ONCE.format(3)} chapters simt/tests -m not night"),
        (
            ("test", "ARGS=quick"),
            f"{AT_ONCE.format(2)} chapters/01_gpu/source simt/tests -m not night and not slow",
        ),
        (("prove",), "-m tools.prove"),
    ],
)
def test_what_is_proved_runs_once_and_leaves_the_learner_alone(course, asked, pytests):
    code, calls = make(course, *asked)
    assert code == 0
    begun = [call.split(" | ")[0] for call in calls]
    assert begun == ["-m ruff check .", "-m ruff format --check .", pytests]
    for call in calls:
        home, progress, offline = call.split(" | ")[1:]
        assert (progress, offline) == ("off", "1")
        assert home != "/the/learner's/own" and not Path(home).exists()


def test_the_slow_files_and_folders_are_there():
    lessons = ROOT / "chapters"
    for name in SLOW:
        patterns = f"*/source/*/{Path(name).name}", f"*/source/{name}"
        there = (TESTS / name).exists() or (SIMT / name.removeprefix("simt/")).exists()
        assert there or any(any(lessons.glob(one)) for one in patterns), name
    assert len(set(SLOW)) == len(SLOW)
    assert [place_of(TESTS / name) for name in (SLOW[0], "project/test_makefile.py")] == [1, 0]
    assert place_of(TESTS.parent / "chapters" / "01_gpu" / "6_tiles.ipynb") == len(SLOW) + 1


@pytest.mark.parametrize("step", ["ruff check", "ruff format", "-m pytest"])
def test_make_test_fails_where_a_step_fails(course, step):
    code, calls = make(course, "test", fail=step)
    assert code != 0
    assert step in calls[-1]  # and nothing ran after it


def test_make_lab_hands_its_arguments_on(course):
    code, calls = make(course, "lab", "ARGS=--no-browser --port=8899")
    assert code == 0
    assert calls[0].startswith("-m labkit lab --no-browser --port=8899 |")


def test_make_clean_never_touches_the_learners_work(course):
    mine = course / "work" / "01_gpu" / "lesson.ipynb"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    code, _ = make(course, "clean")
    assert code == 0 and mine.read_text() == "mine"
    assert not (course / ".venv").exists()


def test_make_alone_lists_every_command(course):
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()
    done = subprocess.run(["make"], cwd=course, capture_output=True, text=True, check=True)
    listed = re.findall(r"^make (\S+)", done.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(set(phony) - {"setup"})


@pytest.mark.parametrize(("asked", "chapter"), [("lab", "gpu"), ("setup", ""), ("lint", "")])
def test_a_chapter_alone_is_set_up_to_study_and_for_nothing_else(course, asked, chapter):
    (course / "tools" / "setup.sh").write_text('#!/bin/sh\necho "set up: $CHAPTER." >>"$CALLS"\n')
    code, calls = make(course, asked, "CHAPTER=gpu")
    assert code == 0 and calls[0] == f"set up: {chapter}."
