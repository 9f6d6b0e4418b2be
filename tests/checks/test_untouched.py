"""An answer that is what the notebook had at first is no attempt."""

import linecache

import pytest

from labkit.checks import untouched
from labkit.checks.judge import check
from labkit.checks.record import load
from labkit.checks.untouched import digest, is_untouched
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.pages import stubs

STUB = "def linear(x, w, b):\n    y = x @ w  # yours\n    return y"


def from_a_cell(text: str, name: str = "linear"):
    """The function that a cell with this text defines; its text can be asked for, as in IPython."""
    file = f"<cell {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict = {}
    exec(compile(text, file, "exec"), names)
    return names[name]


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setattr(untouched, "_stubs", lambda: {"toy.linear": digest(STUB)})


def test_running_an_unsolved_notebook_writes_no_attempt(home, right, stub, capsys):
    check("toy.linear", from_a_cell(f"import math\n\n\n{STUB}\n\n\nprint(1)\n"))
    assert "Look again" in capsys.readouterr().out and load()["exercises"] == {}
    check("toy.linear", from_a_cell(STUB.replace("x @ w", "x @ w + b + 1")))
    assert load()["exercises"]["toy.linear"] == {"attempts": 1, "solved": False}


def test_a_text_and_what_a_kernel_was_made_of_are_known_too(stub):
    class Kernel:
        py_func = staticmethod(from_a_cell(STUB))

    assert is_untouched("toy.linear", Kernel) and is_untouched("toy.linear", f"\n{STUB}\n")
    assert not is_untouched("toy.linear", STUB.replace("@", "*"))
    assert not is_untouched("toy.other", STUB)
    assert not is_untouched("toy.linear", print) and not is_untouched("toy.linear", 3)


def test_comments_of_ones_own_change_nothing():
    assert digest(STUB) == digest(STUB.replace("    y", "    # let me think\n\n    y"))
    assert digest(STUB) != digest(STUB.replace("# yours", "# mine"))


def test_each_exercise_of_the_course_has_its_first_text():
    course = Course(config())
    found = {id: text for one in course.lessons() for id, text in stubs.stubs_of(one)}
    asked = {id for one in course.lessons() for id in one.named_in("check")}
    assert set(found) == asked
    assert all(is_untouched(id, text) for id, text in found.items())
