"""`labkit verify`: nbval compares with a fresh run; our rules look where it is blind."""

import json

import pytest

from labkit.course import CourseError, verify
from labkit.course.config import config
from labkit.course.notebook import Notebook

NAME = "chapters/01_gpu/1_tiny.ipynb"
SOLUTION = "chapters/01_gpu/solutions/1_tiny.ipynb"


@pytest.fixture
def course(course):
    pytest.importorskip("nbval")
    return course


def change(course, number, seal=True, **fields):
    """Change a code cell's output as if a build had stored it; not sealed, as if by hand."""
    path = course / NAME
    made = json.loads(path.read_text())
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    code[number - 1].update(fields)
    if seal:
        made = Notebook(path, NAME, made).sealed().content
    path.write_text(json.dumps(made))


def test_sound_lessons_are_verified_on_another_machine_too(course, capfd):
    elsewhere = "Runs on: another machine, 64 cores.\n"
    change(course, 1, outputs=[{"name": "stdout", "output_type": "stream", "text": [elsewhere]}])
    assert verify.verify(config(course)) == 0
    printed = capfd.readouterr().out
    assert f" s  {NAME}\n" in printed and f" s  {SOLUTION}\n" in printed
    assert printed.splitlines()[-1].startswith("2 notebooks ran in ")


def test_what_no_run_gives_is_refused_and_so_is_what_nbval_does_not_compare(course, capfd):
    """nbval passes a cell without an execution count, and no outputs; the rules do not."""
    stored = [{"name": "stdout", "output_type": "stream", "text": ["two and one: 7\n"]}]
    change(course, 2, outputs=stored)
    change(course, 4, outputs=[], execution_count=None)
    assert verify.verify(config(course), "01_gpu") == 1
    printed = capfd.readouterr().out
    assert "- two and one: 2" in printed and "+ two and one: 7" in printed  # pytest's own report
    assert "1 failed, 3 passed" in printed and "4 passed" in printed
    assert "cell 8 (`from IPython.display import display`) has no execution count" in printed


@pytest.mark.night(
    instead="tests/course/test_verify.py::"
    "test_what_no_run_gives_is_refused_and_so_is_what_nbval_does_not_compare"
)
def test_a_refusal_alone_is_a_failure_too(course, capfd):
    change(course, 4, execution_count=9)
    assert verify.verify(config(course)) == 1
    printed = capfd.readouterr().out
    assert "the execution counts are [1, 2, 3, 9]" in printed and printed.count("4 passed") == 2


@pytest.mark.night(
    instead="tests/course/test_verify.py::"
    "test_what_no_run_gives_is_refused_and_so_is_what_nbval_does_not_compare"
)
def test_a_timing_edited_by_hand_is_refused_though_nbval_ignores_it(course, capfd):
    faster = {"name": "stdout", "output_type": "stream", "text": ["1 ns (measured on it)\n"]}
    change(course, 3, seal=False, outputs=[faster])
    assert verify.verify(config(course)) == 1
    printed = capfd.readouterr().out
    assert printed.count("4 passed") == 2 and "edited by hand" in printed


@pytest.mark.parametrize(
    ("learner", "solution", "code"),
    [
        ((True, 59), (True, 1), 0),
        ((True, 61), (True, 1), 0),  # over its minute, on this machine
        ((True, 1), (False, 1), 1),  # it failed, or pytest did not start
        ((False, 1), (True, 1), 1),
    ],
)
def test_failed_notebooks_are_refused_and_slow_ones_are_named(
    course, monkeypatch, capsys, learner, solution, code
):
    results = {NAME: learner, SOLUTION: solution}
    monkeypatch.setattr(verify, "run", lambda config, name: results[name])
    assert verify.verify(config(course)) == code
    assert (f"{NAME}  over 60 s" in capsys.readouterr().out) == (learner[1] > 60)


def test_a_missing_notebook_is_refused(course, monkeypatch, capsys):
    (course / SOLUTION).unlink()
    monkeypatch.setattr(verify, "run", lambda config, name: (True, 1))
    assert verify.verify(config(course)) == 1
    assert "is missing" in capsys.readouterr().out


def test_an_unknown_chapter_answers_with_the_near_ones(course):
    with pytest.raises(CourseError, match="Did you mean 01_gpu"):
        verify.verify(config(course), "1_gpu")
